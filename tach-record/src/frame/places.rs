//! Places in the source that live as long as the process.

use std::sync::OnceLock;

use super::numbers::{Numbered, Numbers};

/// How many places of the process can have numbers. The table takes 48 KiB. The records of further
/// places contain the numbers of the file and the module.
pub const MOST: usize = 1024;

static PLACES: OnceLock<Numbers<StaticPlace>> = OnceLock::new();

/// A place in the source. Unknown texts are empty, and an unknown line is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StaticPlace {
    /// The path of the file.
    pub file: &'static str,
    /// The path of the module.
    pub module: &'static str,
    /// The number of the line.
    pub line: u32,
}

/// Creates the table of numbers.
pub(super) fn set_up() {
    PLACES.get_or_init(|| Numbers::new(MOST));
}

/// Returns the place with a number.
pub(super) fn place(number: u32) -> Option<StaticPlace> {
    PLACES.get()?.get(number)
}

/// Returns the table of the process, if it has one.
pub fn numbers() -> Option<&'static Numbers<StaticPlace>> {
    PLACES.get()
}

impl Numbered for StaticPlace {
    #[inline]
    fn address(self) -> usize {
        self.file.address().wrapping_add(self.line as usize)
    }

    #[inline]
    fn is(self, other: Self) -> bool {
        self.line == other.line && self.file.is(other.file) && self.module.is(other.module)
    }
}
