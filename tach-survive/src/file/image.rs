//! Reads the file of another process. Trusts nothing in it: a file may end anywhere, and contain
//! any bytes.

mod foreign;
mod lanes;
mod left;
mod meaning;
mod recording;

use core::cell::Cell;
use std::io;

use tach_core::UnixTime;
use tach_core::adapter::utf8;

pub(super) use self::foreign::{Foreign, foreign};
pub(super) use self::lanes::{Batch, Lane, Write};
pub(super) use self::left::{Left, Ring};
use super::layout::{FIXED, MAGIC, MOST_BYTES, VERSION, head};
use super::owner::Owner;

const WORD: usize = size_of::<u64>();

/// The most bytes of texts that one reading of a file looks up. Somebody may have forged a file in
/// which many short records all name the longest text.
const MOST_LOOKED_UP: usize = 1 << 30;

/// The longest record that is read, and the longest copy of one. A forged file may have longer
/// ones, and the process may have little memory.
const LONGEST: usize = 1 << 20;

/// The bytes of a file.
pub(super) struct Image<'a> {
    bytes: &'a [u8],
    /// How many bytes of texts may still be looked up. Afterwards, each record that names a text
    /// counts as damaged.
    lookups: Cell<usize>,
}

/// Why a file can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// The process ended before it had written anything.
    Empty,
    /// Another version of tach has written the file, or another machine.
    Foreign,
    Damaged,
}

impl From<Unreadable> for io::Error {
    fn from(why: Unreadable) -> Self {
        let (kind, why) = match why {
            Unreadable::Empty => (io::ErrorKind::UnexpectedEof, "the file is empty"),
            Unreadable::Foreign => (
                io::ErrorKind::Unsupported,
                "another version of tach-pipeline has written the file; without `.aside` in its \
                 name, a program with that version passes the records on",
            ),
            Unreadable::Damaged => (io::ErrorKind::InvalidData, "the file is damaged"),
        };
        Self::new(kind, why)
    }
}

/// Returns the process that uses a file of any version, and the name of its program. The name is
/// empty if it is not known.
pub(super) fn owner(bytes: &[u8]) -> (Owner, &str) {
    let image = Image::at(bytes);
    let owner = Owner(core::array::from_fn(|at| image.word(head::OWNER + WORD * at)));
    // Without the magic word, the name may be written in part, or be anything.
    (owner, if image.word(head::MAGIC) == MAGIC { image.program() } else { "" })
}

impl<'a> Image<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Unreadable> {
        let image = Self::at(bytes);
        match image.word(head::MAGIC) {
            0 => return Err(Unreadable::Empty),
            MAGIC if image.word(head::VERSION) == VERSION => {}
            _ => return Err(Unreadable::Foreign),
        }
        if !(FIXED..=MOST_BYTES).contains(&bytes.len()) {
            return Err(Unreadable::Damaged);
        }
        Ok(image)
    }

    const fn at(bytes: &'a [u8]) -> Self {
        Self { bytes, lookups: Cell::new(MOST_LOOKED_UP) }
    }

    /// Returns the word at a byte, or zero beyond the end.
    fn word(&self, at: usize) -> u64 {
        let word = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        word.map_or(0, |word| u64::from_ne_bytes(*word))
    }

    fn size(&self, at: usize) -> usize {
        usize::try_from(self.word(at)).unwrap_or(usize::MAX)
    }

    pub(super) fn process(&self) -> u64 {
        self.word(head::PROCESS)
    }

    pub(super) fn started(&self) -> UnixTime {
        UnixTime::from_nanos(self.word(head::STARTED))
    }

    /// Returns the name of the program. Empty if it is not known.
    pub(super) fn program(&self) -> &'a str {
        let length = self.size(head::NAME_LENGTH).min(head::MOST_NAME);
        let name = self.bytes.get(head::NAME..head::NAME + length);
        name.and_then(utf8::text).unwrap_or_default()
    }

    /// Returns how many items before the records were passed on by a later process.
    pub(super) fn taken(&self) -> u64 {
        self.word(head::TAKEN)
    }

    /// Returns how many bytes of the file have blocks, if that is known.
    pub(super) fn reserved(&self) -> u64 {
        self.word(head::RESERVED)
    }

    /// Returns how many lost records the log does not mention. If the file is damaged, any number.
    pub(super) fn lost(&self) -> u64 {
        let lost = self.word(head::LOST).wrapping_add(self.word(head::SINKS_LOST));
        // If the process died before it added a loss that the log states, the sum wraps. Nothing is
        // lost then.
        if lost > u64::MAX / 2 { 0 } else { lost }
    }

    /// Returns whether the process had a flight recorder whose items are to be written.
    pub(super) fn has_recorder(&self) -> bool {
        self.word(head::RECORDED_AGE) != 0
    }

    /// Returns how many rings were not in the file.
    pub(super) fn outside(&self) -> u64 {
        self.word(head::OUTSIDE)
    }
}

#[cfg(test)]
pub(super) mod tests;
