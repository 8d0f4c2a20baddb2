//! Static texts of records: targets, keys, and messages without arguments.

use std::sync::OnceLock;

use super::numbers::{Numbered, Numbers};

/// How many texts of the process can have numbers. The table takes 96 KiB. Further texts are
/// copied.
pub const MOST: usize = 4096;

static TEXTS: OnceLock<Numbers<&'static str>> = OnceLock::new();

/// A text that a call passes.
#[derive(Debug, Clone, Copy)]
pub enum MaybeStatic<'a> {
    /// A text that lives as long as the process.
    Static(&'static str),
    /// A text that may be freed after the call.
    Borrowed(&'a str),
}

/// Creates the table of numbers.
pub(super) fn set_up() {
    TEXTS.get_or_init(|| Numbers::new(MOST));
}

/// Returns the text with a number.
#[inline]
pub(crate) fn text(number: u32) -> Option<&'static str> {
    TEXTS.get()?.get(number)
}

/// Returns the table of the process, if it has one.
pub fn numbers() -> Option<&'static Numbers<&'static str>> {
    TEXTS.get()
}

impl Numbered for &'static str {
    #[inline]
    fn address(self) -> usize {
        self.as_ptr().addr()
    }

    #[inline]
    fn is(self, other: Self) -> bool {
        self.as_ptr() == other.as_ptr() && self.len() == other.len()
    }
}
