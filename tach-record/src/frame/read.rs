//! Reads the bytes of a record. Never panics, whatever the bytes are.

mod fields;
pub(super) mod remains;
pub(super) mod span;

use core::iter;

use tach_core::adapter::utf8;
use tach_core::{Instant, UnixTime};
use tach_log::adapter::{DEPTH, Parts, Site};

pub use self::fields::{Fields, is_redacted};
use super::{
    CALLSITE, EVENT_NAME, FOREIGN, HEAD, KIND_AT, LEVEL_SHIFT, LINE, NUMBER, TAG_BITS, Tag, Time,
    UNIX, WORD, numbers, places,
};
use crate::ids::{SAMPLED, SpanContext};
use crate::level::Level;

/// Returns the length of a record, including the head, from the record's head.
#[inline]
pub fn length(head: &[u8; HEAD]) -> usize {
    let [a, b, c, d, ..] = *head;
    usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX)
}

/// Splits `bytes` after the first record. If that record is incomplete, returns `None`.
#[inline]
pub fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let head = bytes.first_chunk()?;
    bytes.split_at_checked(length(head).max(head.len()))
}

/// Returns whether the record that begins with `bytes` has the number of a callsite.
#[inline]
pub fn has_callsite(bytes: &[u8]) -> bool {
    let kind = bytes.get(KIND_AT..).and_then(<[u8]>::first_chunk);
    kind.is_some_and(|kind| u32::from_le_bytes(*kind) & CALLSITE != 0)
}

/// Returns whether `bytes` begin with a reference to a record.
#[inline]
pub fn is_reference(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|head| length(head) == 0)
}

/// Returns how many of the records in `bytes` are references.
#[cold]
pub fn references(bytes: &[u8]) -> usize {
    split_all(bytes).filter(|record| is_reference(record)).count()
}

/// Returns how many of the records in `bytes` are events, and not parts of spans.
pub fn events(bytes: &[u8]) -> usize {
    split_all(bytes).filter(|record| event_level(record).is_some()).count()
}

/// Returns the records in `bytes`, up to one that is incomplete.
pub fn split_all(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    iter::from_fn(move || {
        let (record, after) = split(rest)?;
        rest = after;
        Some(record)
    })
}

/// Returns the time of the record that begins with `bytes`, or `None` if the record's head is
/// incomplete.
#[inline]
pub fn time(bytes: &[u8]) -> Option<Time> {
    Head::read(&mut Reader(bytes)).map(|head| head.time())
}

impl Time {
    /// Returns the Unix time. Converts ticks.
    #[inline]
    pub fn unix_time(self) -> UnixTime {
        match self {
            Self::Ticks(instant) => instant.unix_time(),
            Self::Unix(time) => time,
        }
    }
}

/// Returns the kind of the record that begins with `bytes`. Returns `None` if it is not known.
#[inline]
pub fn kind(bytes: &[u8]) -> Option<RecordKind> {
    Head::read(&mut Reader(bytes))?.record()
}

/// Returns the number of the thread on which a span started, if the record that begins with `bytes`
/// is of a span with the number of its callsite.
#[inline]
pub fn starter(bytes: &[u8]) -> Option<u32> {
    const AT: usize = HEAD + (RecordKind::Span.words() - 1) * WORD;
    if kind(bytes) != Some(RecordKind::Span) {
        return None;
    }
    bytes.get(AT..).and_then(<[u8]>::first_chunk).map(|number| u32::from_le_bytes(*number))
}

/// Returns whether the record that begins with `bytes` is a part of a span, not an event.
#[inline]
pub fn is_of_span(bytes: &[u8]) -> bool {
    Head::read(&mut Reader(bytes)).is_some_and(|head| head.record() != Some(RecordKind::Event))
}

/// Returns the level of an event, or `None` for a part of a span.
#[inline]
pub(crate) fn event_level(bytes: &[u8]) -> Option<Level> {
    let head = Head::read(&mut Reader(bytes))?;
    (head.record() == Some(RecordKind::Event)).then(|| head.level())
}

/// The kind of a record: an event, or a part of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordKind {
    /// A record of a logger, or an event of `tracing`.
    Event,
    /// Values of a span's fields.
    Values,
    /// A link from a span to another one.
    Link,
    /// A new parent of a span.
    Parent,
    /// The decision that a span is not sampled, made after its start.
    Discard,
    /// An event that is only added to its span. Sinks of events don't take it.
    Added,
    /// The [counts](remains::Lost) of what a full queue dropped of the span.
    Lost,
    /// The span itself, from its start to its end.
    Span,
}

impl RecordKind {
    /// Returns the kind with a number.
    #[inline]
    fn of(number: u8) -> Option<Self> {
        // Use a match, not a table: the compiler removes the match altogether.
        Some(match number {
            0 => Self::Event,
            1 => Self::Values,
            2 => Self::Link,
            3 => Self::Parent,
            4 => Self::Discard,
            5 => Self::Added,
            6 => Self::Lost,
            7 => Self::Span,
            _ => return None,
        })
    }

    /// Returns how many words of ids and counts precede the fields.
    #[must_use]
    pub const fn words(self) -> usize {
        match self {
            Self::Event | Self::Added => 0,
            Self::Values | Self::Discard => 3,
            Self::Lost => 5,
            Self::Span => 6,
            Self::Link | Self::Parent => 7,
        }
    }
}

/// The lowest bit of the kind in the head's last word.
pub const RECORD_SHIFT: u32 = 16;

/// The head of a record, without its length.
pub struct Head {
    /// The code of the target, or the number of the callsite.
    pub target: u32,
    /// The ticks, or the Unix time in nanoseconds.
    pub time: u64,
    /// The flags, the level and the kind.
    pub kind: u32,
    /// The code of the message.
    pub message: u32,
}

impl Head {
    /// Takes a head from the front of the bytes.
    #[inline]
    pub fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (_length, target) = reader.halves()?;
        let time = u64::from_le_bytes(reader.array()?);
        let (kind, message) = reader.halves()?;
        Some(Self { target, time, kind, message })
    }

    #[inline]
    pub(super) fn time(&self) -> Time {
        time_of(self.time, self.kind)
    }

    /// Returns the record's kind, unless it is unknown.
    #[inline]
    pub fn record(&self) -> Option<RecordKind> {
        let [number, ..] = (self.kind >> RECORD_SHIFT).to_le_bytes();
        RecordKind::of(number)
    }

    #[inline]
    fn level(&self) -> Level {
        let [level, ..] = (self.kind >> LEVEL_SHIFT).to_le_bytes();
        Level::from_byte(level)
    }
}

/// Returns the time with a number, in a record with these flags.
#[inline]
const fn time_of(number: u64, flags: u32) -> Time {
    match flags & UNIX {
        0 => Time::Ticks(Instant::from_ticks(number)),
        _ => Time::Unix(UnixTime::from_nanos(number)),
    }
}

/// A record whose head has been read.
#[derive(Debug)]
pub struct Frame<'a> {
    /// The level.
    pub level: Level,
    /// The target.
    pub target: &'a str,
    /// The message, or a line.
    pub message: &'a str,
    /// Whether the message is a line that a writer has formatted.
    pub is_line: bool,
    /// The fields of the event and of the spans around it.
    pub fields: Fields<'a>,
    /// The place in the source, the thread and the ids of the span around the event.
    pub site: Site<'a>,
    /// The whole record.
    pub bytes: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Reads a record. Returns `None` if `bytes` do not contain a valid record.
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let head = Head::read(&mut reader)?;
        // A record in a queue may have a callsite's number in place of the target.
        let has_target = head.kind & CALLSITE == 0;
        let target = if has_target { reader.text(head.target)? } else { "" };
        let message = reader.text(head.message)?;
        let is_line = head.kind & LINE != 0;
        let fields = Fields::new(reader.0, head.kind);
        let site = fields.site();
        Some(Self { level: head.level(), target, message, is_line, fields, site, bytes })
    }

    /// Returns the record with the values of the keys `redacted` hidden.
    pub const fn redacted(mut self, redacted: &'a [String]) -> Self {
        self.fields.redacted = redacted;
        self
    }

    /// Returns the ids of the span around the event, if the pipeline records the span.
    pub fn context(&self) -> Option<SpanContext> {
        let (trace, span, flags) = self.site.trace_context?;
        let is_sampled = flags & SAMPLED != 0;
        let is_own = is_sampled && self.fields.flags & FOREIGN == 0;
        is_own.then_some(SpanContext { trace, span, is_sampled })
    }

    /// Returns whether the record has more fields, longer keys or deeper values than a format
    /// receives.
    #[inline]
    pub fn exceeds_bounds(&self) -> bool {
        /// The length of the shortest record that may exceed a bound: a value of nested lists, with
        /// two brackets for each level.
        const SHORTEST: usize = 2 * DEPTH;
        self.bytes.len() > SHORTEST && self.fields.exceed_bounds()
    }

    /// Returns whether two records are equal in all but their times.
    pub fn repeats(&self, other: &Self) -> bool {
        // Compare the parts, not the bytes: the bytes of the padding are arbitrary.
        let head = |record: &Self| (record.level.as_byte(), record.is_line);
        head(self) == head(other)
            && (self.target, self.message) == (other.target, other.message)
            && self.site.event_name == other.site.event_name
            && self.fields.parts().eq(other.fields.parts())
    }

    /// Returns the parts of the event, which happened at `time`.
    #[inline]
    pub fn parts(&self, time: UnixTime, shows_colors: bool) -> Parts<'_> {
        Parts {
            time,
            level: self.level.of_log(),
            level_name: self.level.name(),
            target: self.target,
            message: self.message,
            fields: &self.fields,
            has_spans: self.fields.has_spans(),
            site: self.site,
            is_line: self.is_line,
            shows_colors,
        }
    }
}

/// The rest of the bytes of a record.
#[derive(Debug, Clone)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    /// Takes a word, and returns its lower and upper half. The upper half is the code of a text.
    #[inline]
    pub fn halves(&mut self) -> Option<(u32, u32)> {
        let word: [u8; WORD] = self.array()?;
        let (first, second) = (word.first_chunk()?, word.last_chunk()?);
        Some((u32::from_le_bytes(*first), u32::from_le_bytes(*second)))
    }

    /// Takes the fields, and the parts of the place in the program that follow them.
    fn site(&mut self) -> Site<'a> {
        let mut site = Site::default();
        self.skip_fields();
        while self.site_part(&mut site).is_some() {}
        site
    }

    #[inline]
    fn site_part(&mut self, site: &mut Site<'a>) -> Option<()> {
        let (kind, code) = self.halves()?;
        let known = |text: &'a str| (!text.is_empty()).then_some(text);
        match Tag::of(kind)? {
            Tag::Place => {
                let place = places::place(code & !NUMBER)?;
                site.file = known(place.file);
                site.module = known(place.module);
                site.line = Some(place.line).filter(|&line| line != 0);
            }
            Tag::File => {
                site.file = known(self.text(code)?);
                site.line = Some(kind >> TAG_BITS).filter(|&line| line != 0);
            }
            Tag::Module if kind >> TAG_BITS == EVENT_NAME => {
                site.event_name = known(self.text(code)?);
            }
            Tag::Module => site.module = known(self.text(code)?),
            Tag::Thread => {
                let id = u64::from_le_bytes(self.array()?);
                site.thread_id = (id != 0).then_some(id);
                site.os_thread_id = Some(kind >> TAG_BITS).filter(|&id| id != 0);
                site.thread_name = known(self.text(code)?);
            }
            Tag::Context => {
                let SpanContext { trace, span, .. } = self.context()?;
                let [flags, ..] = (kind >> TAG_BITS).to_le_bytes();
                site.trace_context = Some((trace, span, flags));
            }
            _ => return None,
        }
        Some(())
    }

    /// Takes the ids of a span that is recorded.
    fn context(&mut self) -> Option<SpanContext> {
        let trace = u128::from_le_bytes(self.array()?);
        Some(SpanContext { trace, span: u64::from_le_bytes(self.array()?), is_sampled: true })
    }

    /// Takes a text that is stored as a number or copied.
    #[inline]
    pub(super) fn text(&mut self, code: u32) -> Option<&'a str> {
        match code & NUMBER {
            0 => self.copied(code),
            _ => numbers::text(code & !NUMBER),
        }
    }

    /// Takes a text of `length` bytes and the padding of its last word.
    #[inline]
    pub fn copied(&mut self, length: u32) -> Option<&'a str> {
        let length = usize::try_from(length).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length.checked_next_multiple_of(WORD)?)?;
        self.0 = rest;
        utf8::text(bytes.get(..length)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_that_of_its_kind() {
        let known: Vec<_> = (0..=u8::MAX).map_while(RecordKind::of).collect();
        assert_eq!(known.last(), Some(&RecordKind::Span));
        assert!((0..).zip(known).all(|(number, kind)| kind as u8 == number));
    }
}
