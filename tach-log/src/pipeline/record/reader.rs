//! Taking bytes apart from the front. Whatever they hold, nothing panics.

use super::NUMBER;
use crate::encode::Utf8;
use crate::pipeline::interned;

pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    pub(super) fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        self.bytes().map(u8::from_le_bytes)
    }

    #[inline]
    pub(super) fn blob(&mut self) -> Option<&'a [u8]> {
        let length = self.bytes()?;
        self.split(length)
    }

    /// A text, by number or in full.
    #[inline]
    pub(super) fn text(&mut self) -> Option<Utf8<'a>> {
        let code = self.bytes()?;
        match u32::from_le_bytes(code) {
            number if number & NUMBER != 0 => interned::text(number & !NUMBER).map(Utf8::from),
            _ => self.split(code).map(Utf8::of_whole),
        }
    }

    #[inline]
    pub(super) fn split(&mut self, length: [u8; 4]) -> Option<&'a [u8]> {
        let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}
