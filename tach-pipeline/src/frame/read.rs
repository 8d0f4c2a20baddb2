//! Reading a record's bytes. Whatever the bytes are, nothing panics.

use core::str;
use std::io;

use tach_core::{Instant, UnixTime};
use tach_log::Value;
use tach_log::adapter;

use super::{HEAD, LEVEL_SHIFT, LINE, NUMBER, TAG_BITS, Tag, Time, UNIX, WORD, texts};
use crate::level::Level;

/// Stands for the value of a redacted field.
const REDACTED: &str = "[redacted]";

/// Returns the length of the record with this head, head included.
#[inline]
pub(crate) fn length(head: &[u8; HEAD]) -> usize {
    let [a, b, c, d, ..] = *head;
    usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX)
}

/// Splits `bytes` after the first record. Returns `None` while that record is not whole.
#[inline]
pub(crate) fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let head = bytes.first_chunk()?;
    bytes.split_at_checked(length(head).max(head.len()))
}

/// Returns when the record that begins with `bytes` happened, or `None` if the head is not whole.
pub(crate) fn time(bytes: &[u8]) -> Option<Time> {
    Head::read(&mut Reader(bytes)).map(|head| head.time())
}

/// The head of a record, without its length.
struct Head {
    target: u32,
    time: u64,
    kind: u32,
    message: u32,
}

impl Head {
    #[inline]
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (_length, target) = reader.halves()?;
        let time = u64::from_le_bytes(reader.array()?);
        let (kind, message) = reader.halves()?;
        Some(Self { target, time, kind, message })
    }

    #[inline]
    fn time(&self) -> Time {
        match self.kind & UNIX {
            0 => Time::Ticks(Instant::from_ticks(self.time)),
            _ => Time::Unix(UnixTime::from_nanos(self.time)),
        }
    }

    #[inline]
    fn level(&self) -> Level {
        let [level, ..] = (self.kind >> LEVEL_SHIFT).to_le_bytes();
        Level::from_byte(level)
    }
}

/// A record whose head has been read.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) level: Level,
    pub(crate) target: &'a str,
    pub(crate) message: &'a str,
    /// Whether the message is a line that a writer has formatted.
    pub(crate) is_line: bool,
    pub(crate) fields: Fields<'a>,
    /// How many bytes the record takes.
    pub(crate) length: usize,
}

impl<'a> Frame<'a> {
    /// Reads the record that `bytes` hold. Returns `None` if they hold none.
    #[inline]
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let head = Head::read(&mut reader)?;
        let target = reader.text(head.target)?;
        let message = reader.text(head.message)?;
        let is_line = head.kind & LINE != 0;
        let level = head.level();
        Some(Self {
            level,
            target,
            message,
            is_line,
            fields: Fields { bytes: reader.0, redacted: &[] },
            length: bytes.len(),
        })
    }

    /// Returns the record without the values of the keys `redacted`.
    pub(crate) const fn redacted(mut self, redacted: &'a [String]) -> Self {
        self.fields.redacted = redacted;
        self
    }

    /// Returns whether two records are equal in all but their times.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        // Not the bytes, since padding holds any bytes.
        let head = |record: &Self| (record.level.as_byte(), record.is_line);
        let fields = |record: &Self| Fields { redacted: &[], ..record.fields.clone() };
        head(self) == head(other)
            && (self.target, self.message) == (other.target, other.message)
            && fields(self).eq(fields(other))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    /// The keys whose values are not shown.
    redacted: &'a [String],
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a str, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = Reader(self.bytes);
        let (kind, key) = reader.halves()?;
        let value = match Tag::of(kind)? {
            Tag::Null => Some(Value::Null),
            Tag::False => Some(Value::Bool(false)),
            Tag::True => Some(Value::Bool(true)),
            Tag::I64 => Some(Value::I64(i64::from_le_bytes(reader.array()?))),
            Tag::U64 => Some(Value::U64(u64::from_le_bytes(reader.array()?))),
            Tag::I128 => Some(Value::I128(i128::from_le_bytes(reader.array()?))),
            Tag::U128 => Some(Value::U128(u128::from_le_bytes(reader.array()?))),
            Tag::F64 => Some(Value::F64(f64::from_bits(u64::from_le_bytes(reader.array()?)))),
            Tag::Str => None,
        };
        let key = reader.text(key)?;
        let value = match value {
            Some(value) => value,
            None => Value::Str(reader.copied(kind >> TAG_BITS)?),
        };
        self.bytes = reader.0;
        if self.redacted.iter().any(|redacted| redacted.eq_ignore_ascii_case(key)) {
            return Some((key, Value::Str(REDACTED)));
        }
        Some((key, value))
    }
}

impl adapter::Fields for Fields<'_> {
    #[inline]
    fn visit(&self, each: &mut dyn FnMut(&str, Value<'_>) -> io::Result<()>) -> io::Result<()> {
        self.clone().try_for_each(|(key, value)| each(key, value))
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    /// Takes a word by halves: in the head, the second is a text's code.
    #[inline]
    fn halves(&mut self) -> Option<(u32, u32)> {
        let half = |reader: &mut Self| reader.array().map(u32::from_le_bytes);
        Some((half(self)?, half(self)?))
    }

    /// Takes a text, by number or in full.
    #[inline]
    fn text(&mut self, code: u32) -> Option<&'a str> {
        match code & NUMBER {
            0 => self.copied(code),
            _ => texts::text(code & !NUMBER),
        }
    }

    /// Takes a text of `length` bytes and the padding of its last word.
    #[inline]
    fn copied(&mut self, length: u32) -> Option<&'a str> {
        let length = usize::try_from(length).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length.checked_next_multiple_of(WORD)?)?;
        self.0 = rest;
        str::from_utf8(bytes.get(..length)?).ok()
    }
}
