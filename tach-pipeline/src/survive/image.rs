//! Reads the file of another process. Trusts nothing in it: a file may end anywhere, and contain
//! any bytes.

mod lanes;
mod left;
mod meaning;
mod recording;

use core::cell::Cell;
use std::io;

use tach_core::UnixTime;
use tach_core::adapter::utf8;

pub(super) use self::lanes::{Lane, Write};
pub(super) use self::left::{Left, Ring, Thread};
use super::layout::{FIXED, LANES, MAGIC, MOST_BYTES, RINGS, VERSION, check, head, table};
use super::owner::Owner;

const WORD: usize = size_of::<u64>();

/// The most bytes of texts that one reading of a file looks up. Somebody may have made up a file
/// whose many short records all name the longest text.
const MOST_LOOKED_UP: usize = 1 << 30;

/// The bytes of a file, and the table in it that counts.
pub(super) struct Image<'a> {
    bytes: &'a [u8],
    table: usize,
    /// How many bytes of texts may still be looked up. After that, no number has a meaning, and
    /// records that name one count as damaged.
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
                "another version of tach-pipeline has written the file, and a program with that \
                 version passes the records on; or it is no such file",
            ),
            Unreadable::Damaged => (io::ErrorKind::InvalidData, "the file is damaged"),
        };
        Self::new(kind, why)
    }
}

/// Returns the process that uses a file of any version, and the name of its program. The name is
/// empty if it is not known.
pub(super) fn owner(bytes: &[u8]) -> (Owner, &str) {
    let image = Image::at(bytes, 0);
    let owner = Owner(core::array::from_fn(|at| image.word(head::OWNER + WORD * at)));
    // The name may be written in part, or be anything.
    (owner, if image.word(head::MAGIC) == MAGIC { image.program() } else { "" })
}

impl<'a> Image<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Unreadable> {
        let image = Self::at(bytes, 0);
        match image.word(head::MAGIC) {
            0 => return Err(Unreadable::Empty),
            MAGIC if image.word(head::VERSION) == VERSION => {}
            _ => return Err(Unreadable::Foreign),
        }
        let is_long = (FIXED..=MOST_BYTES).contains(&bytes.len());
        let number = image.word(head::CURRENT);
        let table = table::of(number);
        let image = Self::at(bytes, table);
        if !(is_long && image.has_table(number)) {
            return Err(Unreadable::Damaged);
        }
        Ok(image)
    }

    const fn at(bytes: &'a [u8], table: usize) -> Self {
        Self { bytes, table, lookups: Cell::new(MOST_LOOKED_UP) }
    }

    /// Returns whether the table is whole and has that number.
    fn has_table(&self, number: u64) -> bool {
        let [rings, lanes] = [table::RINGS, table::LANES].map(|at| self.size(self.table + at));
        let is_within = rings <= RINGS && lanes <= LANES;
        // A fuzzer finds few right sums, and would not come to what follows.
        let is_right = |sum| sum == self.of_table(table::CHECK) || cfg!(fuzzing);
        self.of_table(table::NUMBER) == number && is_within && is_right(self.sum(rings, lanes))
    }

    /// Returns the checksum of the table.
    fn sum(&self, rings: usize, lanes: usize) -> u64 {
        let words = (table::NUMBER..table::batch(lanes)).step_by(WORD);
        let positions = (table::POSITIONS..table::POSITIONS + rings * WORD).step_by(WORD);
        words.chain(positions).fold(0, |sum, at| check(sum, self.of_table(at)))
    }

    /// Returns the word at a byte, or zero beyond the end.
    fn word(&self, at: usize) -> u64 {
        let word = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        word.map_or(0, |word| u64::from_ne_bytes(*word))
    }

    fn size(&self, at: usize) -> usize {
        usize::try_from(self.word(at)).unwrap_or(usize::MAX)
    }

    fn of_table(&self, at: usize) -> u64 {
        self.word(self.table + at)
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

    /// Returns how many items before the records a later process has passed on.
    pub(super) fn taken(&self) -> u64 {
        self.word(head::TAKEN)
    }

    /// Returns the number of the table.
    pub(super) fn number(&self) -> u64 {
        self.of_table(table::NUMBER)
    }

    /// Returns how many records the queues dropped of which the log does not know.
    pub(super) fn dropped(&self) -> u64 {
        self.word(head::DROPPED).saturating_sub(self.of_table(table::REPORTED))
    }

    /// Returns how many records were over the rate limit of which the log does not know.
    pub(super) fn refused(&self) -> u64 {
        self.word(head::REFUSED).saturating_sub(self.of_table(table::REFUSED))
    }

    /// Returns how many events sinks have dropped of which the log does not know, or had in memory
    /// alone.
    pub(super) fn sinks_lost(&self) -> u64 {
        self.of_table(table::SINKS_LOST)
    }

    /// Returns whether the process had a flight recorder, and had not said that it ends.
    pub(super) fn has_recorder(&self) -> bool {
        self.word(head::RECORDED_AGE) != 0 && self.word(head::EXITS) == 0
    }

    /// Returns how many records are known to be lost, other than damaged ones, or were repeats of the
    /// last one. A scrambled file has any numbers.
    pub(super) fn all_lost(&self) -> u64 {
        let lost = [self.dropped(), self.refused(), self.sinks_lost(), self.repeats()];
        lost.into_iter().fold(0, u64::saturating_add)
    }

    /// Returns how many rings were not in the file.
    pub(super) fn outside(&self) -> u64 {
        self.word(head::OUTSIDE)
    }

    /// Returns how often the last record was repeated.
    pub(super) fn repeats(&self) -> u64 {
        self.of_table(table::REPEATS)
    }
}

#[cfg(test)]
pub(super) mod tests;
