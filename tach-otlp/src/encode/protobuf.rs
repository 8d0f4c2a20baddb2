//! Protobuf's wire format (<https://protobuf.dev/programming-guides/encoding/>).

use tach_log::Value;

/// The wire types that OTLP's messages use.
const VARINT: u32 = 0;
const FIXED_64: u32 = 1;
const LENGTH_DELIMITED: u32 = 2;
const FIXED_32: u32 = 5;

/// The most bytes of a varint.
const LONGEST_VARINT: usize = 10;
/// The most bytes before a message.
pub(super) const HEAD: usize = 2 * LONGEST_VARINT;

/// The fields below this number have a tag of one byte.
const LONG_TAGS: u32 = 16;

#[inline]
fn tag(to: &mut Vec<u8>, field: u32, wire_type: u32) {
    varint(to, u64::from(field << 3 | wire_type));
}

/// Returns the tag of a field of bytes, a text or a message, if it is one byte.
#[inline]
pub(super) const fn short_tag(field: u32) -> Option<u8> {
    let [tag, ..] = (field << 3 | LENGTH_DELIMITED).to_le_bytes();
    if field < LONG_TAGS { Some(tag) } else { None }
}

/// Appends a number in groups of seven bits.
#[inline]
pub fn varint(to: &mut Vec<u8>, value: u64) {
    match u8::try_from(value) {
        // Most numbers are shorter than eight bits.
        Ok(byte @ ..0x80) => to.push(byte),
        _ => long_varint(to, value),
    }
}

fn long_varint(to: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; LONGEST_VARINT];
    let mut length = 0;
    for (byte, group) in bytes.iter_mut().zip(groups(value)) {
        *byte = group;
        length += 1;
    }
    to.extend_from_slice(&bytes[..length]);
}

/// Returns how many bytes [`varint`] appends.
#[inline]
pub(super) const fn length_of_varint(value: u64) -> usize {
    let bits = u64::BITS - (value | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

/// Returns the bytes of a number: groups of seven bits, the lowest first, all but the last with the
/// highest bit set.
fn groups(value: u64) -> impl Iterator<Item = u8> {
    let mut left = Some(value);
    core::iter::from_fn(move || {
        let value = left?;
        left = (value >= 0x80).then_some(value >> 7);
        let more = if left.is_some() { 0x80 } else { 0 };
        Some(value.to_le_bytes()[0] & 0x7f | more)
    })
}

/// Splits a number off the front of `from`. Returns `None` if `from` does not begin with one.
#[must_use]
pub fn split_varint(from: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (index, &byte) in from.iter().enumerate().take(LONGEST_VARINT) {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some((value, &from[index + 1..]));
        }
    }
    None
}

/// Splits the next field off the front of `from`: its number and its value. Returns `None` at the
/// end, and if `from` is not well formed.
#[must_use]
pub fn split_field(from: &[u8]) -> Option<(u64, Field<'_>, &[u8])> {
    let (tag, rest) = split_varint(from)?;
    let (value, rest) = match tag & 7 {
        0 => {
            let (value, rest) = split_varint(rest)?;
            (Field::Number(value), rest)
        }
        1 => (Field::Bytes(rest.get(..8)?), &rest[8..]),
        2 => {
            let (length, rest) = split_varint(rest)?;
            let (value, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            (Field::Bytes(value), rest)
        }
        5 => (Field::Bytes(rest.get(..4)?), &rest[4..]),
        _ => return None,
    };
    Some((tag >> 3, value, rest))
}

/// A field's value as it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Appends a field of an integer, a boolean or an enumeration.
#[inline]
pub fn number(to: &mut Vec<u8>, field: u32, value: u64) {
    tag(to, field, VARINT);
    varint(to, value);
}

/// Returns an integer's varint, if the integer fits in an `i64`.
#[must_use]
pub(crate) fn integer(value: Value<'_>) -> Option<u64> {
    let value = match value {
        Value::I64(value) => Some(value),
        Value::U64(value) => i64::try_from(value).ok(),
        Value::I128(value) => i64::try_from(value).ok(),
        Value::U128(value) => i64::try_from(value).ok(),
        _ => None,
    };
    value.map(|value| u64::from_ne_bytes(value.to_ne_bytes()))
}

/// Appends a field of 64 bits.
#[inline]
pub fn fixed_64(to: &mut Vec<u8>, field: u32, value: u64) {
    tag(to, field, FIXED_64);
    to.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field of 32 bits.
#[inline]
pub fn fixed_32(to: &mut Vec<u8>, field: u32, value: u32) {
    tag(to, field, FIXED_32);
    to.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field of bytes or text.
#[inline]
pub fn bytes(to: &mut Vec<u8>, field: u32, value: &[u8]) {
    if let (Some(tag), Ok(length @ ..0x80)) = (short_tag(field), u8::try_from(value.len())) {
        to.extend_from_slice(&[tag, length]);
        to.extend_from_slice(value);
    } else {
        long_bytes(to, field, value);
    }
}

#[cold]
fn long_bytes(to: &mut Vec<u8>, field: u32, value: &[u8]) {
    tag(to, field, LENGTH_DELIMITED);
    varint(to, value.len() as u64);
    to.extend_from_slice(value);
}

/// Appends a field whose message `write` appends. If the message has 128 bytes or more, they are
/// moved.
#[inline]
pub fn message<R>(to: &mut Vec<u8>, field: u32, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    tag(to, field, LENGTH_DELIMITED);
    let start = to.len();
    to.push(0);
    let result = write(to);
    let length = to.len() - start - 1;
    match u8::try_from(length) {
        Ok(byte @ ..0x80) => to[start] = byte,
        _ => insert_length(to, start, 1, length as u64),
    }
    result
}

/// Like [`message`], for a message that most often has 128 to 16,383 bytes. Others are moved.
#[inline]
pub fn long_message<R>(to: &mut Vec<u8>, field: u32, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    tag(to, field, LENGTH_DELIMITED);
    let start = to.len();
    to.extend_from_slice(&[0; 2]);
    let result = write(to);
    let length = to.len() - start - 2;
    match (length, to[start..].first_chunk_mut()) {
        (0x80..0x4000, Some(room)) => {
            let [low, ..] = length.to_le_bytes();
            let [high, ..] = (length >> 7).to_le_bytes();
            *room = [low | 0x80, high];
        }
        _ => insert_length(to, start, 2, length as u64),
    }
    result
}

/// Like [`message`], for a message of about `most` bytes: if its length takes as many bytes as
/// `most`, the message need not be moved.
pub(super) fn message_of(
    to: &mut Vec<u8>,
    field: u32,
    most: usize,
    write: impl FnOnce(&mut Vec<u8>),
) {
    tag(to, field, LENGTH_DELIMITED);
    let start = to.len();
    let room = length_of_varint(most as u64);
    to.resize(start + room, 0);
    write(to);
    let length = to.len() - start - room;
    insert_length(to, start, room, length as u64);
}

/// Writes the length of the message at the end of `to`. `room` bytes are reserved for it.
#[cold]
fn insert_length(to: &mut Vec<u8>, start: usize, room: usize, length: u64) {
    let needed = length_of_varint(length);
    if needed != room {
        let end = to.len();
        to.resize(end + needed.saturating_sub(room), 0);
        to.copy_within(start + room..end, start + needed);
        to.truncate(end + needed - room);
    }
    to[start..].iter_mut().zip(groups(length)).for_each(|(byte, group)| *byte = group);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_the_specification_has_them() {
        for (value, expected) in [
            (0, &[0][..]),
            (1, &[1]),
            (127, &[0x7f]),
            (128, &[0x80, 1]),
            (150, &[0x96, 1]),
            (0x3fff, &[0xff, 0x7f]),
            (0x4000, &[0x80, 0x80, 1]),
            (u64::MAX, &[255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
        ] {
            let mut to = Vec::new();
            varint(&mut to, value);
            assert_eq!(to, expected);
            assert_eq!(length_of_varint(value), to.len());
            assert_eq!(split_varint(&to), Some((value, &[][..])));
            assert_eq!(split_varint(&to[..to.len() - 1]), None);
        }
    }

    #[test]
    fn fields_come_back() {
        let mut to = Vec::new();
        number(&mut to, 1, 300);
        fixed_64(&mut to, 2, 7);
        bytes(&mut to, 3, b"text");
        message(&mut to, 4, |to| bytes(to, 1, &[b'x'; 200]));
        let (field, value, rest) = split_field(&to).unwrap();
        assert_eq!((field, value), (1, Field::Number(300)));
        let (field, value, rest) = split_field(rest).unwrap();
        assert_eq!((field, value), (2, Field::Bytes(&[7, 0, 0, 0, 0, 0, 0, 0])));
        let (field, value, rest) = split_field(rest).unwrap();
        assert_eq!((field, value), (3, Field::Bytes(b"text")));
        let (field, value, rest) = split_field(rest).unwrap();
        let Field::Bytes(inner) = value else { panic!("{value:?}") };
        assert_eq!((field, rest), (4, &[][..]));
        assert_eq!(split_field(inner), Some((1, Field::Bytes(&[b'x'; 200]), &[][..])));
        for length in [0, 1, 0x7d, 0x7e, 0x7f, 0x80, 0x3ffd, 0x3ffe, 0x3fff, 0x4000, 0x20_0000] {
            let text = vec![b'x'; length];
            let (mut long, mut short) = (Vec::new(), Vec::new());
            long_message(&mut long, 4, |to| to.extend_from_slice(&text));
            message(&mut short, 4, |to| to.extend_from_slice(&text));
            assert_eq!(long, short, "{length}");
            let (field, value, rest) = split_field(&long).unwrap();
            assert_eq!((field, value, rest), (4, Field::Bytes(&text), &[][..]));
        }
        // The length may need more or fewer bytes than were reserved for it.
        for most in [0, 200, 20_000] {
            let mut about = Vec::new();
            message_of(&mut about, 4, most, |to| bytes(to, 1, &[b'x'; 200]));
            let mut exact = Vec::new();
            message(&mut exact, 4, |to| bytes(to, 1, &[b'x'; 200]));
            assert_eq!(about, exact, "{most}");
        }
        for end in 0..to.len() {
            // The reader does not panic, wherever the message is cut off.
            let mut rest = &to[..end];
            while let Some((_, _, after)) = split_field(rest) {
                rest = after;
            }
        }
    }
}
