//! Reading a record's bytes.

use tach_core::{Instant, UnixTime};

use super::reader::Reader;
use super::{HEAD, LINE, Tag, Time, UNIX};
use crate::encode::{Utf8, Value};
use crate::pipeline::level::Level;

/// The length of the record with this head, itself included.
#[inline]
pub(in crate::pipeline) fn length(head: &[u8; HEAD]) -> usize {
    let [a, b, c, d, ..] = *head;
    usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX)
}

/// The first record in `bytes` and what follows it; `None` as long as it is not whole.
#[inline]
pub(in crate::pipeline) fn frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let head = bytes.first_chunk()?;
    bytes.split_at_checked(length(head).max(head.len()))
}

/// When the record that begins with `bytes` happened; `None` if they are not its whole head.
pub(in crate::pipeline) fn time(bytes: &[u8]) -> Option<Time> {
    let mut reader = Reader(bytes.get(4..)?);
    let flags = reader.byte()?;
    let _level = reader.byte()?;
    read_time(flags, &mut reader)
}

fn read_time(flags: u8, reader: &mut Reader<'_>) -> Option<Time> {
    let time = u64::from_le_bytes(reader.bytes()?);
    Some(match flags & UNIX {
        0 => Time::Ticks(Instant::from_ticks(time)),
        _ => Time::Unix(UnixTime::from_nanos(time)),
    })
}

/// A record, taken apart as far as its fields.
#[derive(Debug)]
pub(in crate::pipeline) struct Record<'a> {
    pub(in crate::pipeline) time: Time,
    pub(in crate::pipeline) level: Level,
    pub(in crate::pipeline) target: Utf8<'a>,
    pub(in crate::pipeline) body: Body<'a>,
}

/// What a record says.
#[derive(Debug, Clone)]
pub(in crate::pipeline) enum Body<'a> {
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
    pub(in crate::pipeline) fn decode(frame: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(frame);
        reader.bytes::<4>()?;
        let flags = reader.byte()?;
        let level = Level::from_byte(reader.byte()?);
        let time = read_time(flags, &mut reader)?;
        let target = reader.text()?;
        let body = if flags & LINE == 0 {
            Body::Event { message: reader.text()?, fields: Fields(reader.0) }
        } else {
            Body::Line(reader.blob()?)
        };
        Some(Self { time, level, target, body })
    }
}

/// The fields of a record, in order.
#[derive(Debug, Clone)]
pub(in crate::pipeline) struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = (Utf8<'a>, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = Reader(self.0);
        let tag = Tag::from_byte(reader.byte()?)?;
        let (value, text) = match tag {
            Tag::Null => (Value::Null, None),
            Tag::False => (Value::Bool(false), None),
            Tag::True => (Value::Bool(true), None),
            Tag::I64 => (Value::I64(i64::from_le_bytes(reader.bytes()?)), None),
            Tag::U64 => (Value::U64(u64::from_le_bytes(reader.bytes()?)), None),
            Tag::I128 => (Value::I128(i128::from_le_bytes(reader.bytes()?)), None),
            Tag::U128 => (Value::U128(u128::from_le_bytes(reader.bytes()?)), None),
            Tag::F64 => (Value::F64(f64::from_bits(u64::from_le_bytes(reader.bytes()?))), None),
            Tag::Str => (Value::Null, Some(reader.bytes()?)),
        };
        let key = reader.text()?;
        let value = match text {
            Some(length) => Value::Str(reader.split(length).map(Utf8::of_whole)?),
            None => value,
        };
        self.0 = reader.0;
        Some((key, value))
    }
}
