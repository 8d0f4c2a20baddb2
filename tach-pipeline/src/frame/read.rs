//! Reading a record's bytes.

use tach_core::{Instant, UnixTime};

use super::reader::Reader;
use super::{HEAD, LEVEL_SHIFT, LINE, TAG_BITS, Tag, Time, UNIX};
use crate::level::Level;
use tach_log::adapter::{Utf8, Value};

/// The length of the record with this head, itself included.
#[inline]
pub(crate) fn length(head: &[u8; HEAD]) -> usize {
    let [a, b, c, d, ..] = *head;
    usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX)
}

/// The first record in `bytes` and what follows it; `None` as long as it is not whole.
#[inline]
pub(crate) fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let head = bytes.first_chunk()?;
    bytes.split_at_checked(length(head).max(head.len()))
}

/// When the record that begins with `bytes` happened; `None` if they are not its whole head.
pub(crate) fn time(bytes: &[u8]) -> Option<Time> {
    Head::read(&mut Reader(bytes)).map(|head| head.time())
}

/// What comes first in a record, but for its length.
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

/// A record, taken apart as far as its fields.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) time: Time,
    pub(crate) level: Level,
    pub(crate) target: Utf8<'a>,
    pub(crate) body: Body<'a>,
}

/// What a record says.
#[derive(Debug, Clone)]
pub(crate) enum Body<'a> {
    Event {
        message: Utf8<'a>,
        fields: Fields<'a>,
    },
    /// A line that is formatted already.
    Line(&'a [u8]),
}

impl<'a> Record<'a> {
    /// The record in a frame; `None` if the bytes are not one.
    #[inline]
    pub(crate) fn decode(frame: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(frame);
        let head = Head::read(&mut reader)?;
        let target = reader.text(head.target)?;
        let body = if head.kind & LINE == 0 {
            Body::Event { message: reader.text(head.message)?, fields: Fields(reader.0) }
        } else {
            Body::Line(reader.bytes(head.message)?)
        };
        Some(Self { time: head.time(), level: head.level(), target, body })
    }
}

/// The fields of a record, in order.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = (Utf8<'a>, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = Reader(self.0);
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
            None => Value::Str(reader.bytes(kind >> TAG_BITS).map(Utf8::of_whole)?),
        };
        self.0 = reader.0;
        Some((key, value))
    }
}
