//! The layout of the file. All numbers are words of 64 bits in the byte order of the machine.
//!
//! ```text
//! head | lines of the clock | sinks | rings | static values | heap
//!     | rings, batches of collectors and the items of the flight recorder...
//! ```
//!
//! Each ring says how many of its words were passed on.

use tach_record::queue::ring::OVERHEAD;
pub(super) use tach_sinks::adapter::LANES;

/// The first word. On a machine with another byte order it reads as another number, so that machine
/// sets the file aside.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"tachsurv");
/// Must change with every change of this layout, of the records and of their tags. The upper half
/// is the size of a ring's counts, which differs between processors.
pub(super) const VERSION: u64 = 0xC | (OVERHEAD as u64) << u32::BITS;

/// The unit in which parts of the file are reserved.
pub(super) const PAGE: usize = 4096;
/// How many rings a file may have.
pub(super) const RINGS: usize = 1024;
/// How many static texts and places may be in the file: as many as have numbers.
pub(super) const TEXTS: usize = tach_record::frame::numbers::MOST_TEXTS;
pub(super) const PLACES: usize = tach_record::frame::places::MOST;
/// The bytes of these texts. Further texts get no number and stand in the records, at more bytes a
/// record.
pub(super) const HEAP: usize = 192 * 1024;
/// How many callsites may be in the file: as many as have numbers.
pub(super) const CALLSITES: usize = 4096;
/// The longest file. The rings of further threads are not in the file.
pub(super) const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Bytes of the head.
pub(super) mod head {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 8;
    pub(crate) const PROCESS: usize = 24;
    /// The Unix time in ns at which the pipeline was built.
    pub(crate) const STARTED: usize = 32;
    /// How many entries of rings are valid.
    pub(crate) const RINGS: usize = 48;
    /// How many records calls have dropped.
    pub(crate) const LOST: usize = 56;
    /// How many events sinks have lost, or have in memory alone, minus all lost records that the
    /// log mentions. The number may wrap around.
    pub(crate) const SINKS_LOST: usize = 80;
    /// How many rings found no room in the file.
    pub(crate) const OUTSIDE: usize = 64;
    /// How many sinks there are.
    pub(crate) const LANES: usize = 96;
    /// How many lines of the clock were ever stored.
    pub(crate) const LINES: usize = 72;
    /// How many items before the records a later process has passed on: the report, and each sink's
    /// batch. `u64::MAX` if nothing is left.
    pub(crate) const TAKEN: usize = 88;
    /// The longest age of a flight recorder's items in ns. Zero if there is no recorder, if the
    /// process ended as it should, or if the items were written.
    pub(crate) const RECORDED_AGE: usize = 264;
    /// The process that uses the file. At the same place in each version, so that no version takes
    /// the file of a living process.
    pub(crate) const OWNER: usize = 272;
    pub(crate) const OWNERS: usize = 5;
    /// The part with the items of the flight recorder: where it is in the file, and how many of its
    /// bytes are used.
    pub(crate) const RECORDED_START: usize = 312;
    pub(crate) const RECORDED_CAPACITY: usize = 320;
    /// Positions of the first item and of the end of the last one, counted in all bytes ever
    /// written.
    pub(crate) const RECORDED_FIRST: usize = 328;
    pub(crate) const RECORDED_END: usize = 336;
    /// How many bytes of the file have blocks. Zero if the file system does not show that, or if a
    /// later process has given some back.
    pub(crate) const RESERVED: usize = 104;
    /// The length of the program's name, and the name.
    pub(crate) const NAME_LENGTH: usize = 120;
    pub(crate) const NAME: usize = 128;
    pub(crate) const MOST_NAME: usize = 120;
}

/// Words of a sink.
pub(super) mod lane {
    pub(crate) const AT: usize = super::PAGE;
    pub(crate) const SIZE: usize = 64;
    /// A number for the name.
    pub(crate) const HASH: usize = 0;
    /// Where the batch of a collector is in the file, and its capacity. Zero for any other sink.
    pub(crate) const START: usize = 8;
    pub(crate) const CAPACITY: usize = 16;
    /// How many [bytes and events](batch) the batch has.
    pub(crate) const BATCH: usize = 24;
    /// The last write to a regular file that was begun: how many bytes, or zero if there is none.
    pub(crate) const BYTES: usize = 32;
    /// The file, and a lower bound of its length before the write.
    pub(crate) const DEVICE: usize = 40;
    pub(crate) const FILE: usize = 48;
    pub(crate) const LENGTH: usize = 56;

    /// Returns where the words of a sink are.
    pub(crate) const fn of(number: usize) -> usize {
        AT + number * SIZE
    }

    /// Returns the word for so many bytes and events.
    pub(crate) const fn batch(bytes: usize, events: usize) -> u64 {
        bytes as u64 | (events as u64) << u32::BITS
    }
}

/// A line of the clock: two instants in ticks with their Unix times in ns.
pub(super) mod line {
    pub(crate) const AT: usize = 512;
    pub(crate) const COUNT: usize = 64;
    pub(crate) const BYTES: usize = 32;
}

/// Words of a ring's entry.
pub(super) mod ring {
    pub(crate) const AT: usize = super::lane::AT + super::PAGE;
    pub(crate) const BYTES: usize = NAME + MOST_NAME;
    pub(crate) const START: usize = 0;
    pub(crate) const LENGTH: usize = 8;
    /// The queue that the ring belongs to, and the ring's place among the queue's rings.
    pub(crate) const QUEUE: usize = 16;
    pub(crate) const PLACE: usize = 24;
    /// The queue's thread: its number, the length of its name, and the name.
    pub(crate) const THREAD: usize = 32;
    pub(crate) const NAME_LENGTH: usize = 40;
    pub(crate) const NAME: usize = 48;
    pub(crate) const MOST_NAME: usize = 48;
}

/// A kind of values that live as long as the process.
///
/// The entry of a value says where it begins in the heap in the lower half, and its length plus one
/// in the upper half. It is zero if the value is not in the file. A value is one text; or a line
/// and the lengths of all texts but the last, all with 32 bits, and then the texts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Text,
    /// The file and the module.
    Place,
    /// The target, the name, the file and the module.
    Callsite,
}

impl Kind {
    const AT: usize = ring::AT + RINGS * ring::BYTES;

    /// Returns where the entry of a value is.
    pub(super) fn entry(self, number: u32) -> Option<usize> {
        let (before, most) = match self {
            Self::Text => (0, TEXTS),
            Self::Place => (TEXTS, PLACES),
            Self::Callsite => (TEXTS + PLACES, CALLSITES),
        };
        let number = usize::try_from(number).ok().filter(|number| *number < most)?;
        Some(Self::AT + 8 * (before + number))
    }
}

pub(super) const HEAP_AT: usize = Kind::AT + 8 * (TEXTS + PLACES + CALLSITES);
/// Where the parts begin that are reserved while the process runs.
pub(super) const FIXED: usize = (HEAP_AT + HEAP).next_multiple_of(PAGE);

const _: () = assert!(line::AT + line::COUNT * line::BYTES <= lane::AT);
const _: () = assert!(lane::of(LANES) <= ring::AT);
const _: () = assert!(head::NAME + head::MOST_NAME <= head::RECORDED_AGE);
const _: () = assert!(head::RECORDED_END + 8 <= line::AT);

/// Returns a checksum. It finds damage, not malice.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_ne_bytes(word)
    };
    let mixed =
        |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    bytes.chunks(8).map(word).fold(bytes.len() as u64, mixed)
}

/// Returns the entry of a value.
pub(super) const fn entry(at: usize, length: usize) -> u64 {
    (length as u64 + 1) << u32::BITS | at as u64
}
