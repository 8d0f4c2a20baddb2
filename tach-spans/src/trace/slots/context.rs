//! The context of `opentelemetry` of an open span.

use core::sync::atomic::Ordering;

use opentelemetry::Context;

use super::Open;
use crate::trace::otel::Busy;

impl Open {
    /// Returns the context of the span, unless the span is closed or has none.
    ///
    /// # Errors
    ///
    /// Returns [`Busy`] if a thread is just changing the context.
    #[inline]
    pub(in crate::trace) fn otel(self) -> Result<Option<Context>, Busy> {
        let context = self.slot.context.get()?;
        // A caller that does not hold the span may have got the next span's.
        Ok(context.filter(|_| self.is_open()))
    }

    /// Makes the context [`Busy`] until the guard is dropped.
    pub fn hold_otel(self) -> impl Sized {
        self.slot.context.hold()
    }

    /// Sets the context of the span, which the caller holds.
    ///
    /// # Errors
    ///
    /// Returns `context` if the place is in use.
    #[inline]
    pub(in crate::trace) fn set_otel(self, context: Context) -> Result<(), Context> {
        let _before = self.slot.context.replace(context)?;
        // ORDERING: Relaxed: the removal of the last reference comes later.
        self.slot.has_context.store(true, Ordering::Relaxed);
        Ok(())
    }
}
