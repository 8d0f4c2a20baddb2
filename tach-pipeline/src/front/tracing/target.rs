//! An open span to which a call adds something.

use crate::ids::SpanContext;
use crate::trace::Slot;
use crate::trace::key::Key;

/// An open span to which a call adds something.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(super) key: Key,
    pub(super) slot: &'a Slot,
    pub(super) context: SpanContext,
}

impl<'a> Target<'a> {
    #[inline]
    pub(super) fn new(key: Key, slot: &'a Slot) -> Self {
        Self { key, slot, context: slot.context() }
    }

    /// Returns whether what is added is kept, since the span waits.
    #[inline]
    pub(super) fn waits(&self) -> bool {
        // Another thread may have set its parent since its ids were read.
        !self.context.is_sampled && (self.slot.waits() || self.slot.may_be_sampled())
    }
}
