//! In place of the contexts of `opentelemetry`, without its feature.
#![expect(clippy::unused_self, reason = "the calls are those of the room in whose place it is")]

use tach_record::ids::Around;

/// The contexts of open spans: none.
pub struct Kept;

impl Kept {
    pub(super) fn new() -> Self {
        Self
    }

    #[inline]
    pub const fn is_empty(&self) -> bool {
        true
    }

    #[inline]
    pub const fn keeps_active(&self) -> bool {
        false
    }

    #[inline]
    pub fn remove(&self, _: u64, _: bool) {}

    #[inline]
    pub fn around(&self, _: Option<u64>, _: bool) -> Option<Around> {
        None
    }
}

/// The context in a slot: none.
#[derive(Default)]
pub(super) struct Stored(());

impl Stored {
    #[inline]
    pub(super) fn clear(&self) -> bool {
        true
    }
}

/// Whether slots have contexts.
pub(super) const HAS_CONTEXTS: bool = false;

pub mod active {
    /// How a thread entered a span: nothing else changes then.
    pub struct Active;

    impl Active {
        #[inline]
        pub const fn unrecorded() -> Self {
            Self
        }

        #[inline]
        pub fn leave() -> Self {
            Self
        }
    }
}
