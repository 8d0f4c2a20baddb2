//! The memory of a record, which grows and is used again for the next record.

use core::fmt;

use super::WORD;

/// A buffer longer than this is freed after the record.
const KEPT: usize = 64 * 1024;
/// The size of a new buffer.
const FIRST: usize = 128;

/// Written bytes, followed by free room.
///
/// Unlike the spare room of a `Vec`, this room is initialized, so a record's words can be stored in
/// place one by one.
#[derive(Debug, Default)]
pub struct Buffer {
    /// Whole words.
    bytes: Vec<u8>,
    used: usize,
}

impl Buffer {
    pub(super) const fn new() -> Self {
        Self { bytes: Vec::new(), used: 0 }
    }

    /// Returns a buffer with these bytes.
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Self { used: bytes.len(), bytes }
    }

    /// Returns the bytes of the record.
    #[inline]
    pub fn written(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// Sets bits in the word at `at`. The bits must be zero before.
    #[inline]
    pub(super) fn add(&mut self, at: usize, bits: u64) {
        if let Some(word) = self.bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *word = (u64::from_le_bytes(*word) | bits).to_le_bytes();
        }
    }

    /// Returns whether the word at `at` has any of these bits.
    #[inline]
    pub(super) fn has(&self, at: usize, bits: u64) -> bool {
        let word = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        word.is_some_and(|word| u64::from_le_bytes(*word) & bits != 0)
    }

    /// Adds bytes to the length in the first word.
    #[cold]
    pub(super) fn lengthen(&mut self, bytes: usize) {
        if let Some(word) = self.bytes.first_chunk_mut() {
            *word = u64::from_le_bytes(*word).wrapping_add(bytes as u64).to_le_bytes();
        }
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    /// Removes the bytes from `length` on.
    pub(super) fn truncate(&mut self, length: usize) {
        self.used = self.used.min(length);
    }

    /// Frees the memory if it is long.
    #[inline]
    pub(super) fn shrink(&mut self) {
        if self.bytes.capacity() > KEPT {
            *self = Self::new();
        }
    }

    /// Returns the next `length` bytes if there is room.
    #[inline]
    pub(super) fn next(&mut self, length: usize) -> Option<&mut [u8]> {
        let end = self.used + length;
        let next = self.bytes.get_mut(self.used..end)?;
        self.used = end;
        Some(next)
    }

    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        match self.next(bytes.len()) {
            Some(next) => next.copy_from_slice(bytes),
            None => self.grow_and_push(bytes),
        }
    }

    /// Writes `text` and pads its last word with zeros.
    #[inline]
    pub(super) fn push_text(&mut self, text: &[u8]) {
        if let Some(next) = self.next(text.len().div_ceil(WORD) * WORD) {
            return put_text(next, text);
        }
        self.grow_and_push(text);
        self.pad();
    }

    /// Pads the last word with the bytes that the memory contains already.
    #[inline]
    pub(super) fn pad(&mut self) {
        self.used = self.used.next_multiple_of(WORD);
    }

    #[cold]
    fn grow_and_push(&mut self, bytes: &[u8]) {
        let end = self.used + bytes.len();
        let room = end.max(2 * self.bytes.len()).max(FIRST).next_multiple_of(WORD);
        self.bytes.truncate(self.used);
        self.bytes.reserve_exact(room - self.used);
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(room, 0);
        self.used = end;
    }
}

/// Copies a text and pads its last word with zeros. A text of one or two words is copied by words.
#[inline]
fn put_text(to: &mut [u8], text: &[u8]) {
    let Some((to, to_last)) = to.split_last_chunk_mut() else { return };
    let Some(end) = text.last_chunk() else {
        *to_last = short_text(text);
        return;
    };
    let filler = 8 * (to.len() + WORD - text.len());
    *to_last = (u64::from_le_bytes(*end) >> filler).to_le_bytes();
    if let (Some((to, to_rest)), Some((first, rest))) =
        (to.split_first_chunk_mut(), text.split_first_chunk::<WORD>())
    {
        *to = *first;
        if !to_rest.is_empty() {
            to_rest.copy_from_slice(&rest[..to_rest.len()]);
        }
    }
}

#[inline]
fn short_text(text: &[u8]) -> [u8; WORD] {
    let word = match (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            let [first, last] = [first, last].map(|half| u64::from(u32::from_le_bytes(*half)));
            first | last << (8 * (text.len() - 4))
        }
        _ => text.iter().rfold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    word.to_le_bytes()
}

impl fmt::Write for Buffer {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Clone for Buffer {
        fn clone(&self) -> Self {
            Self { bytes: self.bytes.clone(), used: self.used }
        }
    }

    proptest! {
        /// The buffer contains all pieces, whichever method wrote each piece.
        #[test]
        fn it_holds_what_was_written(
            records in prop::collection::vec(prop::collection::vec((0_usize..3000, 0..3), 0..20), 1..4),
        ) {
            let mut buffer = Buffer::new();
            for (record, pieces) in (1..).zip(records) {
                buffer.clear();
                let mut expected = Vec::new();
                for (length, way) in pieces {
                    let piece = vec![record; length];
                    expected.extend(&piece);
                    if way == 0 && expected.len() % WORD == length % WORD {
                        buffer.push_text(&piece);
                        expected.resize(expected.len().next_multiple_of(WORD), 0);
                    } else {
                        match (way == 1).then(|| buffer.next(length)).flatten() {
                            Some(next) => next.copy_from_slice(&piece),
                            None => buffer.push(&piece),
                        }
                    }
                    prop_assert_eq!(buffer.written(), &expected[..]);
                    prop_assert_eq!(buffer.bytes.len() % WORD, 0);
                }
            }
        }
    }

    #[test]
    fn texts_end_with_a_word_and_hide_what_was_there() {
        for length in (0..100).chain([601, 1001, 3001]) {
            let text: Vec<u8> = (1..=u8::MAX).cycle().take(length).collect();
            for room in [0, FIRST] {
                let mut buffer = Buffer::new();
                buffer.push(&vec![0xFF; room]);
                buffer.clear();
                buffer.push_text(&text);
                let padded = length.next_multiple_of(WORD);
                let expected = [&text[..], &vec![0; padded - length]].concat();
                assert_eq!(buffer.written(), expected, "{length} bytes, room for {room}");
            }
        }
    }

    #[test]
    fn bits_are_added_to_a_word_alone() {
        let mut buffer = Buffer::new();
        buffer.push_text(&[1; 3 * WORD]);
        buffer.add(WORD, 1 << 63 | 2);
        let mut expected = [1; 3 * WORD];
        (expected[WORD], expected[2 * WORD - 1]) = (3, 0x81);
        assert_eq!(buffer.written(), expected);
    }

    #[test]
    fn much_memory_is_given_back() {
        let mut buffer = Buffer::new();
        buffer.push(&[1; 10]);
        buffer.shrink();
        assert_eq!(buffer.written(), [1; 10]);
        buffer.push(&vec![1; KEPT]);
        buffer.shrink();
        assert_eq!((buffer.written().len(), buffer.bytes.capacity()), (0, 0));
    }
}
