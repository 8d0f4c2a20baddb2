//! Where a record is written: bytes that grow when they must, and are used again.

use core::fmt;

/// What is kept when a record is done: a longer buffer is not.
const KEPT: usize = 64 * 1024;
/// What the first record has room for.
const FIRST: usize = 512;

/// Bytes with room behind them.
///
/// Unlike the room of a `Vec`, this is initialized, so that the bytes of a record can be put in their places
/// one by one where there is room for all.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    used: usize,
}

impl Buffer {
    pub(super) const fn new() -> Self {
        Self { bytes: Vec::new(), used: 0 }
    }

    /// What was written.
    #[inline]
    pub(super) fn written(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// Writes over what was written at the place `at`.
    #[inline]
    pub(super) fn put<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        self.bytes[at..at + N].copy_from_slice(&bytes);
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    /// Gives memory back of which there is much.
    #[inline]
    pub(super) fn shrink(&mut self) {
        if self.bytes.len() > KEPT {
            *self = Self::new();
        }
    }

    /// The next `length` bytes, to be written over, if there is room for them.
    #[inline]
    pub(super) fn next(&mut self, length: usize) -> Option<&mut [u8]> {
        let end = self.used + length;
        let next = self.bytes.get_mut(self.used..end)?;
        self.used = end;
        Some(next)
    }

    /// Writes `bytes`.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        match self.next(bytes.len()) {
            Some(next) => next.copy_from_slice(bytes),
            None => self.grow_and_push(bytes),
        }
    }

    #[cold]
    fn grow_and_push(&mut self, bytes: &[u8]) {
        self.bytes.truncate(self.used);
        self.bytes.extend_from_slice(bytes);
        self.used = self.bytes.len();
        self.bytes.resize(self.bytes.capacity().max(FIRST), 0);
    }
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

    proptest! {
        /// Whatever is written, by whichever way, is there.
        #[test]
        fn it_holds_what_was_written(
            records in prop::collection::vec(prop::collection::vec((0_usize..3000, any::<bool>()), 0..20), 1..4),
        ) {
            let mut buffer = Buffer::new();
            for (record, pieces) in (1..).zip(records) {
                buffer.clear();
                let mut expected = Vec::new();
                for (length, in_place) in pieces {
                    let piece = vec![record; length];
                    match in_place.then(|| buffer.next(length)).flatten() {
                        Some(next) => next.copy_from_slice(&piece),
                        None => buffer.push(&piece),
                    }
                    expected.extend(piece);
                    prop_assert_eq!(buffer.written(), &expected[..]);
                }
            }
        }
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
