//! Taking bytes apart from the front. Whatever they hold, nothing panics.

use core::str;

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
        let length = usize::try_from(u32::from_le_bytes(self.bytes()?)).ok()?;
        let (blob, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(blob)
    }

    #[inline]
    pub(super) fn text(&mut self) -> Option<&'a str> {
        str::from_utf8(self.blob()?).ok()
    }
}
