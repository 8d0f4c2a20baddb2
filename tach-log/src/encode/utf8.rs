//! Text that is not proven again to be text.

use core::fmt;
use std::borrow::Cow;

/// The bytes of a text: whole characters in UTF-8.
///
/// The type does not prove it, so that a text which went through a queue of bytes need not be looked at again:
/// that takes longer than writing it. Whoever makes one of bytes has them from a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utf8<'a>(&'a [u8]);

impl<'a> Utf8<'a> {
    /// Those bytes, which were whole characters of a text.
    pub const fn of_whole(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// The text, for who goes through it by characters.
    #[cold]
    pub fn to_text(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }
}

impl<'a> From<&'a str> for Utf8<'a> {
    #[inline]
    fn from(text: &'a str) -> Self {
        Self(text.as_bytes())
    }
}

/// Where text goes.
pub trait Sink: fmt::Write {
    /// Writes whole characters.
    ///
    /// # Errors
    ///
    /// As `write_str`.
    fn write_utf8(&mut self, text: Utf8<'_>) -> fmt::Result;
}

/// A formatter takes only what is proven.
impl Sink for fmt::Formatter<'_> {
    fn write_utf8(&mut self, text: Utf8<'_>) -> fmt::Result {
        self.write_str(&text.to_text())
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    #[inline]
    fn write_utf8(&mut self, text: Utf8<'_>) -> fmt::Result {
        (**self).write_utf8(text)
    }
}
