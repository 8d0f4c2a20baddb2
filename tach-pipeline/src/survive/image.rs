//! Reads the file of another process. Trusts nothing in it: a file may end anywhere, and contain
//! any bytes.

mod lanes;
mod left;
mod meaning;
mod recording;

use core::cell::Cell;
use core::ops::Range;
use std::borrow::Cow;
use std::io;

use tach_core::UnixTime;
use tach_core::adapter::utf8;

pub(super) use self::lanes::{Batch, Lane, Write};
pub(super) use self::left::{Left, Thread};
use super::layout::{FIXED, LANES, MAGIC, MOST_BYTES, RINGS, VERSION, check, head, table};

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

/// An image with its bytes.
pub(super) struct OwnImage {
    bytes: Vec<u8>,
    table: usize,
}

/// A part of an image that outlives the borrow of its bytes.
pub(super) enum Part {
    Place(Range<usize>),
    /// Bytes that do not lie in one piece in the file.
    Copy(Vec<u8>),
}

impl OwnImage {
    pub(super) fn read(bytes: Vec<u8>) -> Result<Self, Unreadable> {
        let table = Image::read(&bytes)?.table;
        Ok(Self { bytes, table })
    }

    pub(super) fn image(&self) -> Image<'_> {
        Image::at(&self.bytes, self.table)
    }

    pub(super) fn part<'a>(&'a self, part: &'a Part) -> &'a [u8] {
        match part {
            Part::Place(at) => self.bytes.get(at.clone()).unwrap_or_default(),
            Part::Copy(bytes) => bytes,
        }
    }
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

/// Returns the name of the program whose process has written a file of any version. Empty if it is
/// not known.
pub(super) fn program(bytes: &[u8]) -> &str {
    Image::at(bytes, 0).program()
}

impl<'a> Image<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Unreadable> {
        let image = Self::at(bytes, 0);
        match image.word(head::MAGIC) {
            0 => return Err(Unreadable::Empty),
            MAGIC if image.word(head::VERSION) == VERSION => {}
            _ => return Err(Unreadable::Foreign),
        }
        let is_long = (FIXED as u64..=MOST_BYTES).contains(&(bytes.len() as u64));
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

    pub(super) fn id(&self) -> u64 {
        self.word(head::ID)
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

    /// Returns how many of the [records](Self::left) a later process has passed on.
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

    /// Returns whether the process had a flight recorder.
    pub(super) fn has_recorder(&self) -> bool {
        self.word(head::RECORDED_AGE) != 0
    }

    /// Returns whether the process had said that it ends.
    pub(super) fn exits(&self) -> bool {
        self.word(head::EXITS) != 0
    }

    /// Returns how many records are known to be lost, other than damaged ones. A scrambled file has
    /// any numbers.
    pub(super) fn all_lost(&self) -> u64 {
        [self.dropped(), self.refused(), self.sinks_lost()].into_iter().fold(0, u64::saturating_add)
    }

    /// Returns how many rings were not in the file.
    pub(super) fn outside(&self) -> u64 {
        self.word(head::OUTSIDE)
    }

    /// Returns how often the last record was repeated.
    pub(super) fn repeats(&self) -> u64 {
        self.of_table(table::REPEATS)
    }

    /// Returns a part of the bytes as one that needs no borrow.
    pub(super) fn part(&self, part: Cow<'a, [u8]>) -> Part {
        match part {
            Cow::Borrowed(part) => {
                let start = part.as_ptr().addr() - self.bytes.as_ptr().addr();
                Part::Place(start..start + part.len())
            }
            Cow::Owned(bytes) => Part::Copy(bytes),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
