//! The keys of open spans: the numbers of several subscribers' registries are the same.

use super::random::{self, Ids};

/// The key of an open span, among the spans of all subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key(pub(crate) u64);

/// Makes keys of the numbers that the registry of one subscriber has for its spans.
///
/// A mask is random, so the keys of two open spans are equal as seldom as their ids.
#[derive(Clone, Copy, Default)]
pub(crate) struct Keys {
    /// Zero for a handle that is no layer.
    mask: u64,
}

impl Keys {
    /// Returns the keys of a new layer.
    pub(crate) fn of_layer(pipeline: u64) -> Self {
        Self { mask: random::with(pipeline, Ids::span) }
    }

    #[inline]
    pub(crate) const fn key(self, number: u64) -> Key {
        Key(number ^ self.mask)
    }
}
