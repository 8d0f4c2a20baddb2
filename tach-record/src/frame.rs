//! The format of records: sequences of words that a call writes and the back end reads.
//!
//! Numbers and booleans are stored in binary, texts are copied, and static texts and places in the
//! source are stored as [numbers], so that a call rarely formats. A reader must not panic, whatever
//! the bytes are.
//!
//! ```text
//! length u32, target u32 | ticks or Unix time in ns u64
//!     | flags u8, level u8, kind u8, flags u8, message u32
//!     | target's bytes | message's bytes | ids of spans | field*
//! field: tag 5 bits, length of text 27 bits, key u32 | value of 0, 8 or 16 bytes
//!     | key's bytes | text's bytes
//! target, message, key: number, or length of bytes
//! ```
//!
//! A queue holds a long record by reference: a copy of its head with the length 0.
//!
//! In a queue, an event of `tracing` or a span may have the number of its callsite in place of the
//! target, and no name, place and thread. The back end adds these. The thread is that of the queue,
//! unless the record has one. A span has the number of the thread on which it started, and its
//! level is that of the callsite.
//!
//! The event's own fields come first. The spans follow, from the outermost to the innermost. Each
//! span begins with a field without a value, whose key is the span's name. The place in the source
//! (one number, or file, line and module), the thread, the ids of the span and the event's name
//! come last, if a format asks for them.
//!
//! A record is an event or a [part of a span](RecordKind). Only parts of spans have ids before
//! their fields.
//!
//! Each part between bars is padded to words of eight bytes. A processor forwards a store to a load
//! only if the load lies within the store, so records are written and [queued](crate::queue) by
//! words (printed values excepted).

mod linked;
pub mod numbers;
pub mod places;
mod read;
mod shortened;
mod this_thread;
mod write;

use std::sync::OnceLock;

use tach_core::{Instant, UnixTime};
use tach_log::Format;

pub use self::linked::{Linked, Origin};
pub use self::numbers::{AT_BOUNDARY, Code, MaybeStatic};
pub(crate) use self::read::event_level;
pub(crate) use self::read::remains::LOST_BYTES;
pub use self::read::remains::{Lost, Remains, add_lost, remains};
pub use self::read::span::{SpanPart, Start, What, is_error, may_set_status, replace, set_time};
pub use self::read::{
    Fields, Frame, Head, RECORD_SHIFT, Reader, RecordKind, events, has_callsite, is_of_span,
    is_redacted, is_reference, kind, length, references, split, split_all, starter, time,
};
pub use self::shortened::shortened;
pub use self::this_thread::ThisThread;
pub use self::write::site::Place;
pub use self::write::span::SpanRecord;
pub use self::write::{Buffer, Scratch, Writer, reference};

/// Whether the process has no tables of [numbers]. Decided by its first pipeline.
static ARE_COPIED: OnceLock<bool> = OnceLock::new();

/// Makes all records contain their texts instead of numbers. For a program with plugins: a static
/// text is gone when its library is unloaded, so its address must not be kept. Returns `false` if
/// records have numbers already.
pub fn copy_texts() -> bool {
    *ARE_COPIED.get_or_init(|| true)
}

/// Creates the tables of [numbers] before any record is written, so that no call waits for another
/// thread to create them. (A process that is forked at this very moment can't create a table.)
/// Returns `false` if all records contain their texts.
pub fn set_up() -> bool {
    let are_numbered = !*ARE_COPIED.get_or_init(|| false);
    if are_numbered {
        numbers::set_up_texts();
        places::set_up();
    }
    are_numbered
}

/// The bytes of a word, the unit of records and [queues](crate::queue).
pub const WORD: usize = size_of::<u64>();
/// The bytes of a record's head. Its words are: length and target; time; flags, level, kind and
/// message.
pub const HEAD: usize = 3 * WORD;
/// The byte at which flags, level and message begin.
pub const KIND_AT: usize = 2 * WORD;

/// The time is Unix time, not ticks.
pub const UNIX: u32 = 1;
/// The message is a line that a writer has formatted.
const LINE: u32 = 2;
/// If a key occurs several times, the first value counts. Without this flag, the last value
/// counts.
pub const FIRST_COUNTS: u32 = 4;
/// Spans follow the event's own fields.
const SPANS: u32 = 8;
/// The place in the program follows the fields.
pub const SITE: u32 = 16;
/// The ids that follow belong to a span of `opentelemetry`, not to a span of the pipeline.
const FOREIGN: u32 = 32;
/// The span is not sampled. Only its duration is collected.
pub const UNSAMPLED: u32 = 64;
/// Fields of spans without a name are among those that follow. To a reader they are the event's
/// own.
const NAMELESS: u32 = 1 << 25;
/// The target's number is that of a callsite.
pub const CALLSITE: u32 = 1 << 24;

/// The lowest bit of a text's number or length, which is in the upper half of a word.
pub const TEXT_SHIFT: u32 = u32::BITS;
/// The lowest bit of the level in the head's last word.
pub const LEVEL_SHIFT: u32 = 8;
/// Marks the number of a text, in place of the text's length. No bytes of the text follow.
pub const NUMBER: u32 = 1 << 31;
/// Marks a part with the tag of a module as the name of the event.
pub const EVENT_NAME: u32 = 1;
/// Stands in place of a key in parts without a key. It is not the number of any text.
const NO_KEY: u32 = u32::MAX;

/// The number of bits of a field's tag, which is below the length of the field's text.
pub const TAG_BITS: u32 = 5;

/// Ages of traces are stored in 32 bits, so in units of this power of two of ticks or nanoseconds:
/// a microsecond at most with most counters, and a quarter of an hour or more in all.
pub const AGE_SHIFT: u32 = 10;

/// The key of a span's `tracestate`.
pub const TRACE_STATE: &str = "otel.trace_state";
/// The key of W3C's flag of random trace ids.
pub const TRACE_IS_RANDOM: &str = "otel.trace_is_random";

/// The longest record: lengths are stored in 28 bits.
pub const LONGEST: usize = (u32::MAX >> TAG_BITS) as usize;

/// A time as a call reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// An instant of the system's clock. Converted to Unix time when the back end reads the record.
    Ticks(Instant),
    /// A time that the caller set, or the time of another clock.
    Unix(UnixTime),
}

impl Time {
    /// Returns the ticks, or the nanoseconds since 1970.
    #[inline]
    pub fn number(self) -> u64 {
        match self {
            Self::Ticks(instant) => instant.as_ticks(),
            Self::Unix(time) => time.as_nanos(),
        }
    }

    /// Returns the time with that number, on the same clock.
    #[inline]
    #[must_use]
    pub const fn with_number(self, number: u64) -> Self {
        match self {
            Self::Ticks(_) => Self::Ticks(Instant::from_ticks(number)),
            Self::Unix(_) => Self::Unix(UnixTime::from_nanos(number)),
        }
    }
}

/// The kinds and the parts of records that the sinks of a pipeline need.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for alone")]
pub struct Wanted {
    /// Whether any sink writes file, line and module.
    pub place: bool,
    /// Whether any sink writes the thread.
    pub thread: bool,
    /// Whether any sink takes events, with the names and the fields of the spans around them.
    pub events: bool,
    /// Whether any sink takes spans.
    pub spans: bool,
    /// Whether the durations of all spans are collected.
    pub durations: bool,
    /// Whether a flight recorder takes spans, and events even if no sink takes them.
    pub recorder: bool,
    /// Whether the environment has switched off the sinks that take spans. Spans still have ids.
    pub ids: bool,
}

impl Wanted {
    /// Adds the parts that a format of events needs.
    pub fn add(&mut self, format: &(impl Format + ?Sized)) {
        self.events = true;
        self.place |= format.wants_site();
        self.thread |= format.wants_thread();
    }

    /// Adds the parts that the flight recorder needs.
    pub fn add_flight(&mut self) {
        (self.recorder, self.place, self.thread) = (true, true, true);
    }

    /// Returns whether the place or the thread is wanted.
    #[inline]
    pub const fn is_any(self) -> bool {
        self.place | self.thread
    }

    /// Returns whether the ids of open spans are needed.
    pub const fn are_spans(self) -> bool {
        self.has_own_ids() || self.durations
    }

    /// Returns whether records contain the ids of the pipeline's spans. If only durations are
    /// collected, they don't: no span would be found by its id.
    #[inline]
    pub const fn has_own_ids(self) -> bool {
        self.spans || self.recorder || self.ids
    }
}

/// The kind of a field's value, or of another part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Tag {
    /// No value.
    Null,
    /// `false`.
    False,
    /// `true`.
    True,
    /// A signed number of one word.
    I64,
    /// An unsigned number of one word.
    U64,
    /// A signed number of two words.
    I128,
    /// An unsigned number of two words.
    U128,
    /// A floating-point number.
    F64,
    /// A text.
    Str,
    /// A text that is JSON.
    Json,
    /// The messages of an error and its sources, with NULs between them.
    Error,
    /// A text that a value printed by its own `Display` or `Debug`.
    Printed,
    /// The name of a span. Its fields follow.
    Span,
    /// The file and the line of the place in the source.
    File,
    /// The module of that place, or the [name](EVENT_NAME) of the event.
    Module,
    /// The number and the name of the thread.
    Thread,
    /// The ids of the span around the event.
    Context,
    /// The file, the line and the module as one number.
    Place,
}

impl Tag {
    /// Returns the tag in the first half of a field's first word.
    #[inline]
    pub fn of(kind: u32) -> Option<Self> {
        // Use a match, not a table: the compiler removes the match altogether.
        Some(match kind & !(u32::MAX << TAG_BITS) {
            0 => Self::Null,
            1 => Self::False,
            2 => Self::True,
            3 => Self::I64,
            4 => Self::U64,
            5 => Self::I128,
            6 => Self::U128,
            7 => Self::F64,
            8 => Self::Str,
            9 => Self::Json,
            10 => Self::Error,
            11 => Self::Printed,
            12 => Self::Span,
            13 => Self::File,
            14 => Self::Module,
            15 => Self::Thread,
            16 => Self::Context,
            17 => Self::Place,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
