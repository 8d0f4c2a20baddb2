//! Where things are in the file. All numbers are words of 64 bits in the order of the machine.
//!
//! ```text
//! head | lines of the clock | sinks | 2 tables | rings | texts | places | callsites | heap
//!     | rings, batches of collectors and the items of the flight recorder...
//! ```
//!
//! A [`Table`](table) says up to where each ring was passed on. One word of the head says which of
//! the two tables counts. So all of it changes with one store.

use crate::queue::ring::OVERHEAD;
pub(super) use tach_sinks::adapter::LANES;

/// The first word. A file of a machine with another byte order has another one.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"tachsurv");
/// Changes with every change of this layout, of the records and of their tags. The upper half is
/// the room for the counts of a ring, which differs between processors.
pub(super) const VERSION: u64 = 6 | (OVERHEAD as u64) << u32::BITS;

/// The unit in which parts of the file are reserved.
pub(super) const PAGE: usize = 4096;
/// How many rings a file may have.
pub(super) const RINGS: usize = 1024;
/// How many static texts and places may be in the file: as many as have numbers.
pub(super) const TEXTS: usize = crate::frame::numbers::MOST_TEXTS;
pub(super) const PLACES: usize = crate::frame::places::MOST;
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
    /// The number of the table that counts.
    pub(crate) const CURRENT: usize = 40;
    /// How many entries of rings are valid.
    pub(crate) const RINGS: usize = 48;
    /// How many records the queues have dropped.
    pub(crate) const DROPPED: usize = 56;
    /// How many rings found no room in the file.
    pub(crate) const OUTSIDE: usize = 64;
    /// How many lines of the clock were ever stored.
    pub(crate) const LINES: usize = 72;
    /// How many items before the records a later process has passed on: the report, and each sink's
    /// batch. `u64::MAX` if nothing is left.
    pub(crate) const TAKEN: usize = 88;
    /// How many records were over the rate limit.
    pub(crate) const REFUSED: usize = 248;
    /// Whether the process has said that it ends.
    pub(crate) const EXITS: usize = 256;
    /// How many ns ago an item of the flight recorder may have happened.
    pub(crate) const RECORDED_AGE: usize = 264;
    /// The process that uses the file. The place is the same in each version.
    pub(crate) const OWNER: usize = 272;
    pub(crate) const OWNERS: usize = 4;
    /// The part with the items of the flight recorder: where it is in the file, and how many of its
    /// bytes are used.
    pub(crate) const RECORDED_START: usize = 304;
    pub(crate) const RECORDED_CAPACITY: usize = 312;
    /// How many of all bytes ever written were written before the first item and before the end of
    /// the last one.
    pub(crate) const RECORDED_FIRST: usize = 320;
    pub(crate) const RECORDED_END: usize = 328;
    /// The length of the program's name, and the name.
    pub(crate) const NAME_LENGTH: usize = 120;
    pub(crate) const NAME: usize = 128;
    pub(crate) const MOST_NAME: usize = 120;
}

/// Words of a sink.
pub(super) mod lane {
    pub(crate) const AT: usize = super::PAGE;
    pub(crate) const BYTES: usize = WRITES + 2 * super::write::SIZE;
    pub(crate) const IS_FILE: usize = 0;
    /// A number for the name.
    pub(crate) const HASH: usize = 8;
    /// Where the batch of a collector is in the file, and its capacity. Zero for any other sink.
    pub(crate) const START: usize = 16;
    pub(crate) const CAPACITY: usize = 24;
    /// The number of the last batch that was sent.
    pub(crate) const SENT: usize = 32;
    /// Which of the two notes of writes counts.
    pub(crate) const WRITE: usize = 40;
    /// Two notes.
    pub(crate) const WRITES: usize = 48;

    /// Returns where the words of a sink are.
    pub(crate) const fn of(number: usize) -> usize {
        AT + number * BYTES
    }
}

/// Words of the note of a write to a regular file.
pub(super) mod write {
    pub(crate) const SIZE: usize = 48;
    /// The number of the table that counts if the write has happened, or zero if none does.
    pub(crate) const TABLE: usize = 0;
    /// A number for the bytes, and how many they are.
    pub(crate) const SUM: usize = 8;
    pub(crate) const BYTES: usize = 16;
    /// The file, and a lower bound of its length before the write.
    pub(crate) const DEVICE: usize = 24;
    pub(crate) const FILE: usize = 32;
    pub(crate) const LENGTH: usize = 40;
}

/// A line of the clock: two instants in ticks with their Unix times in ns.
pub(super) mod line {
    pub(crate) const AT: usize = 512;
    pub(crate) const COUNT: usize = 64;
    pub(crate) const BYTES: usize = 32;
}

/// Words of a table.
pub(super) mod table {
    pub(crate) const AT: usize = super::lane::AT + super::PAGE;
    pub(crate) const BYTES: usize = (POSITIONS + 8 * super::RINGS).next_multiple_of(64);
    pub(crate) const CHECK: usize = 0;
    /// Each table has the next number.
    pub(crate) const NUMBER: usize = 8;
    /// How many positions follow, and how many sinks.
    pub(crate) const RINGS: usize = 16;
    pub(crate) const LANES: usize = 24;
    /// How many dropped records the log says by itself.
    pub(crate) const REPORTED: usize = 32;
    /// How often the last record was repeated.
    pub(crate) const REPEATS: usize = 40;
    /// How many records over the rate limit the log says by itself.
    pub(crate) const REFUSED: usize = 48;
    /// How many events sinks have dropped of which the log does not know, or have in memory alone.
    pub(crate) const SINKS_LOST: usize = 56;
    /// The end of the words before those of the batches.
    pub(crate) const WORDS_END: usize = 64;
    /// The positions of the rings: how many of their words were passed on.
    pub(crate) const POSITIONS: usize = batch(super::LANES);

    /// Returns where the table with a number is.
    pub(crate) const fn of(number: u64) -> usize {
        AT + if number % 2 == 0 { 0 } else { BYTES }
    }

    /// Returns where the words of a collector's batch are: its number, its bytes and its events.
    pub(crate) const fn batch(lane: usize) -> usize {
        WORDS_END + lane * 24
    }
}

/// An entry of the flight recorder: its length in the lower half of a word and its kind in the
/// upper one. It is followed by the record of an event, or by the words of a span and its
/// records, or by unused bytes up to the end of the part.
pub(super) mod recording {
    pub(crate) const UNUSED: u64 = 0;
    pub(crate) const EVENT: u64 = 1;
    pub(crate) const SPAN: u64 = 2;
}

/// Words of a ring's entry.
pub(super) mod ring {
    pub(crate) const AT: usize = super::table::AT + 2 * super::table::BYTES;
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

/// The entry of a text: where it begins in the heap in the lower half, and its length plus one in
/// the upper half. Zero if the text is not in the file.
pub(super) mod text {
    pub(crate) const AT: usize = super::ring::AT + super::RINGS * super::ring::BYTES;
    pub(crate) const BYTES: usize = 8;
}

/// The entry of a place: entries of the file and the module, and the line plus one.
pub(super) mod place {
    pub(crate) const AT: usize = super::text::AT + super::TEXTS * super::text::BYTES;
    pub(crate) const BYTES: usize = 24;
    pub(crate) const MODULE: usize = 8;
    pub(crate) const LINE: usize = 16;
}

/// The entry of a callsite: like that of a text, whose bytes are the lengths of the target, the
/// name, the file and the module, and the line, all with 32 bits, and then these texts.
pub(super) mod callsite {
    pub(crate) const AT: usize = super::place::AT + super::PLACES * super::place::BYTES;
    pub(crate) const BYTES: usize = 8;
}

pub(super) const HEAP_AT: usize = callsite::AT + CALLSITES * callsite::BYTES;
/// Where the parts begin that are reserved while the process runs.
pub(super) const FIXED: usize = (HEAP_AT + HEAP).next_multiple_of(PAGE);

const _: () = assert!(line::AT + line::COUNT * line::BYTES <= lane::AT);
const _: () = assert!(lane::of(LANES) <= table::AT);
const _: () = assert!(head::NAME + head::MOST_NAME <= head::REFUSED);
const _: () = assert!(head::RECORDED_END + 8 <= line::AT);

/// Continues a checksum with one more word. Finds damage, not malice.
pub(super) const fn check(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

/// Returns a number for bytes. Finds damage, not malice.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_ne_bytes(word)
    };
    bytes.chunks(8).map(word).fold(bytes.len() as u64, check)
}

/// Returns the entry of a text.
pub(super) const fn entry(at: usize, length: usize) -> u64 {
    (length as u64 + 1) << u32::BITS | at as u64
}
