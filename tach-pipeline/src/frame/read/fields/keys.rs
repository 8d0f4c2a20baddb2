//! Whether a record has a key twice. Every record is checked, so this reads as little as it can.

use super::Reader;
use crate::frame::{NUMBER, TAG_BITS, Tag, WORD};

/// A record with more fields than this is searched pair by pair.
const MOST: usize = 32;

/// How many values a tag's bits have.
const TAGS: usize = 1 << TAG_BITS;

/// The lengths of the values before a key, by tag.
const BYTES: [u8; TAGS] = bytes();

/// Returns `false` if each key stands once, and `true` if one may stand twice.
///
/// A static text has one number, so keys with different numbers differ.
#[inline]
pub(super) fn may_repeat(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    // Two bits for each number: if one of them is free, the number is new.
    let mut seen = 0_u64;
    while let Some((word, after)) = rest.split_first_chunk() {
        let part = Part(u64::from_le_bytes(*word));
        let code = part.code();
        let bits = 1 << (code & 63) | 1 << (code >> 6 & 63);
        if seen & bits == bits || code & NUMBER == 0 {
            return repeats(bytes);
        }
        seen |= bits;
        let Some(next) = after.get(part.value() + part.text()..) else { return false };
        rest = next;
    }
    false
}

/// Like [`may_repeat`], also for copied keys, by their hashes.
#[cold]
fn repeats(bytes: &[u8]) -> bool {
    let (mut codes, mut count) = ([0; MOST], 0);
    let mut reader = Reader(bytes);
    while let Some((part, code)) = reader.skip() {
        if part.is_span() {
            continue;
        }
        if count == MOST || codes[..count].contains(&code) {
            return true;
        }
        codes[count] = code;
        count += 1;
    }
    // A static text that found no number is copied, and may equal a text with a number.
    codes[..count].iter().any(|code| (code ^ codes[0]) & NUMBER != 0)
}

/// The first word of a part.
#[derive(Clone, Copy)]
pub(in crate::frame) struct Part(u64);

impl Part {
    #[inline]
    const fn tag(self) -> u64 {
        self.0 & !(u64::MAX << TAG_BITS)
    }

    pub(super) fn is_span(self) -> bool {
        self.tag() == Tag::Span as u64
    }

    pub(super) const fn is_json(self) -> bool {
        self.tag() == Tag::Json as u64
    }

    /// Returns the number of the key, or its length.
    #[inline]
    const fn code(self) -> u32 {
        (self.0 >> u32::BITS) as u32
    }

    /// Returns the room that a value before the key takes.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a tag has five bits")]
    const fn value(self) -> usize {
        BYTES[self.tag() as usize] as usize
    }

    /// Returns the room that a text after the key takes.
    #[inline]
    const fn text(self) -> usize {
        padded(((self.0 & u32::MAX as u64) >> TAG_BITS) as usize)
    }
}

impl Reader<'_> {
    /// Skips a field or a span's name, and returns it with the room of a key that is copied.
    #[inline]
    pub(super) fn skip_room(&mut self) -> Option<(Part, usize)> {
        let part = Part(u64::from_le_bytes(*self.0.first_chunk()?));
        if part.tag() > Tag::Span as u64 {
            return None;
        }
        let code = part.code();
        let room = if code & NUMBER == 0 { padded(usize::try_from(code).ok()?) } else { 0 };
        self.0 = self.0.get(WORD + part.value() + room + part.text()..)?;
        Some((part, room))
    }

    /// Skips a field or a span's name, and returns it with the number of its key or a hash.
    pub(in crate::frame) fn skip(&mut self) -> Option<(Part, u32)> {
        let part = Part(u64::from_le_bytes(*self.0.first_chunk()?));
        if part.tag() > Tag::Span as u64 {
            return None;
        }
        let _word: [u8; WORD] = self.array()?;
        let key = self.0.get(part.value()..)?;
        let (code, room) = match part.code() {
            number if number & NUMBER != 0 => (number, 0),
            length => {
                let length = usize::try_from(length).ok()?;
                (hash(key.get(..length)?), padded(length))
            }
        };
        self.0 = key.get(room..)?.get(part.text()..)?;
        Some((part, code))
    }
}

/// Returns the room that a text takes, which is shorter than 2^31.
#[inline]
const fn padded(length: usize) -> usize {
    length.next_multiple_of(WORD)
}

/// Returns a hash (FNV-1a) that is no number.
fn hash(text: &[u8]) -> u32 {
    let hash = text
        .iter()
        .fold(0x811c_9dc5_u32, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash & !NUMBER
}

const fn bytes() -> [u8; TAGS] {
    let mut bytes = [0; TAGS];
    bytes[Tag::I64 as usize] = 8;
    bytes[Tag::U64 as usize] = 8;
    bytes[Tag::F64 as usize] = 8;
    bytes[Tag::I128 as usize] = 16;
    bytes[Tag::U128 as usize] = 16;
    bytes[Tag::Context as usize] = 24;
    bytes
}
