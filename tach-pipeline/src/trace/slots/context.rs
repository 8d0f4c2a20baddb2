//! The context of `opentelemetry` of an open span.

use core::num::NonZeroU64;
use core::sync::atomic::Ordering;

use opentelemetry::Context;

use super::{Number, Open};
use crate::trace::key::Key;
use crate::trace::otel::Busy;

impl Open {
    /// Returns the span with that key, if it is an open one of the pipeline's own subscriber.
    #[inline]
    pub(crate) fn of(key: Key) -> Option<Self> {
        if key.is_of_layer() {
            return None;
        }
        Number(NonZeroU64::new(key.number)?).open(key.subscriber)
    }

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
    #[cfg(test)]
    pub(crate) fn hold_otel(self) -> impl Sized {
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
