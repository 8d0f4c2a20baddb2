//! Taking bytes apart from the front. Whatever they hold, nothing panics.

use super::{NUMBER, WORD};
use crate::frame::texts;
use tach_log::adapter::Utf8;

pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    /// The halves of a word that tells a text in the second.
    #[inline]
    pub(super) fn halves(&mut self) -> Option<(u32, u32)> {
        let half = |reader: &mut Self| reader.array().map(u32::from_le_bytes);
        Some((half(self)?, half(self)?))
    }

    /// A text, by number or in full.
    #[inline]
    pub(super) fn text(&mut self, code: u32) -> Option<Utf8<'a>> {
        match code & NUMBER {
            0 => self.bytes(code).map(Utf8::of_whole),
            _ => texts::text(code & !NUMBER).map(Utf8::from),
        }
    }

    /// So many bytes, without what fills their last word up.
    #[inline]
    pub(super) fn bytes(&mut self, length: u32) -> Option<&'a [u8]> {
        let length = usize::try_from(length).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length.checked_next_multiple_of(WORD)?)?;
        self.0 = rest;
        bytes.get(..length)
    }
}
