//! The contexts of `opentelemetry` in which active spans are current.

use opentelemetry::Context;

use super::Contexts;
use crate::trace::otel::Busy;
use crate::trace::slot::{ACTIVE, ANY_LEFT, MOVING, Slot, TAKES};
use crate::trace::slots::Open;

impl Contexts {
    /// Returns the context in which an active span is current, if it is kept. `own` is the span if
    /// it is one of the pipeline's own subscriber.
    ///
    /// # Errors
    ///
    /// Returns [`Busy`] if another thread is just changing the context.
    #[inline]
    pub fn active(&self, own: Option<Open>, span: u64) -> Result<Option<Context>, Busy> {
        match (self.otel.active.get(span), own) {
            (None, Some(own)) if self.otel.process.is_current() => own.otel(),
            (kept, _) => Ok(kept),
        }
    }

    /// Sets the context in which an active span is current. `own` is the span if it is one of the
    /// pipeline's own subscriber.
    #[inline]
    pub fn set_active(&self, own: Option<Open>, span: u64, context: Context) {
        let kept = match own {
            Some(own) => own.set_otel(context).err(),
            None => Some(context),
        };
        // A context that was kept here before is older.
        self.otel.active.set(span, kept);
    }
}

impl Slot {
    /// Returns whether the span becomes the current one of `opentelemetry` when it is entered.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.has_flag(ACTIVE)
    }

    /// Returns whether the span [takes](Self::take_parents) a parent now: it was neither moved nor left.
    #[inline]
    pub fn takes_parent(&self) -> bool {
        self.has_flag(TAKES) && !self.has_flag(MOVING | ANY_LEFT) && self.left().is_none()
    }
}
