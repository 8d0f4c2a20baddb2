//! The number of a callsite, which a record has in place of its texts.

use core::num::NonZeroU32;

use super::NUMBER;
use super::scratch::code;

/// The number of a callsite, and whether spans of the callsite are [at a boundary](AT_BOUNDARY).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(NonZeroU32);

/// Marks the code of a callsite whose spans are at the boundary of a service. A head sets the same bit for each number.
pub const AT_BOUNDARY: u32 = NUMBER;

impl Code {
    /// Returns the code of a callsite with that number and [mark](super::numbers::Numbered::mark).
    #[inline]
    pub const fn of(number: u32) -> Option<Self> {
        match NonZeroU32::new(number.wrapping_add(1)) {
            Some(code) => Some(Self(code)),
            None => None,
        }
    }

    /// Returns the number and the mark.
    #[inline]
    const fn marked(self) -> u32 {
        self.0.get() - 1
    }

    /// Returns the number of the callsite, without the mark.
    #[inline]
    pub const fn number(self) -> u32 {
        self.marked() & !AT_BOUNDARY
    }

    /// Returns a code as the slot of a span has it: zero for none.
    #[inline]
    pub fn for_slot(code: Option<Self>) -> u32 {
        code.map_or(0, |Self(code)| code.get())
    }

    /// Returns the code that the slot of a span has.
    #[inline]
    pub fn of_slot(code: u32) -> Option<Self> {
        NonZeroU32::new(code).map(Self)
    }

    /// Returns the number as a head has it in place of a target.
    #[inline]
    pub(super) const fn word(self) -> u64 {
        code(self.marked())
    }

    /// Returns whether the callsite has the field by which a span is at the boundary of a service.
    #[inline]
    pub const fn is_at_boundary(self) -> bool {
        self.marked() & AT_BOUNDARY != 0
    }
}
