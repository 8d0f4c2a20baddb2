//! Checks whether a record contains a key twice. Every record is checked, so the check reads as few
//! bytes as possible.

use super::Reader;
use crate::frame::{NUMBER, TAG_BITS, Tag, WORD};

/// The most fields whose keys are compared here. A record with more fields counts as one that may
/// contain a key twice.
const MOST: usize = 32;

/// The number of values that the bits of a tag can represent.
const TAGS: usize = 1 << TAG_BITS;

/// For each tag, the length of the value before the key.
const BYTES: [u8; TAGS] = bytes();

/// Returns `false` if each key occurs once, and `true` if a key may occur twice.
///
/// The same static text always has the same number, so keys with different numbers are different.
#[inline]
pub(super) fn may_repeat(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    // A filter: each number sets two bits. If one of them is clear, the number did not occur
    // before. Otherwise `repeats` compares the keys themselves.
    let mut seen = 0_u64;
    while let Some((word, after)) = rest.split_first_chunk() {
        let part = Part(u64::from_le_bytes(*word));
        // The last field was read: the place and the thread follow the fields.
        if part.tag() > Tag::Span as u64 {
            return false;
        }
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

/// Like [`may_repeat`], but compares each pair of keys, and copied keys by their hashes.
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
    // A copied key may be a static text that found no number, and may equal a key with a number. So
    // `false` is certain only if all keys are copied or all have numbers.
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

    /// Returns the number of bytes of the value before the key.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a tag has five bits")]
    const fn value(self) -> usize {
        BYTES[self.tag() as usize] as usize
    }

    /// Returns the number of bytes of the text after the key, with padding.
    #[inline]
    const fn text(self) -> usize {
        padded(((self.0 & u32::MAX as u64) >> TAG_BITS) as usize)
    }
}

impl Reader<'_> {
    /// Skips a field or a span's name. Returns its first word, and the number of bytes of a copied
    /// key.
    #[inline]
    pub(in crate::frame) fn skip_room(&mut self) -> Option<(Part, usize)> {
        let part = Part(u64::from_le_bytes(*self.0.first_chunk()?));
        if part.tag() > Tag::Span as u64 {
            return None;
        }
        let code = part.code();
        let room = if code & NUMBER == 0 { padded(usize::try_from(code).ok()?) } else { 0 };
        self.0 = self.0.get(WORD + part.value() + room + part.text()..)?;
        Some((part, room))
    }

    /// Skips all fields and span names.
    #[inline]
    pub(in crate::frame) fn skip_fields(&mut self) {
        while self.skip_room().is_some() {}
    }

    /// Skips a field or a span's name. Returns its first word, and the number of the key or the
    /// hash of a copied key.
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

/// Returns the number of bytes that a text takes with padding. The text is shorter than 2^31.
#[inline]
const fn padded(length: usize) -> usize {
    length.next_multiple_of(WORD)
}

/// Returns a hash (FNV-1a) of a text. It differs from the numbers of all texts.
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
