//! The place for the context of an active span, in the span's slot.

use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use opentelemetry::Context;

/// The context of one open span.
///
/// No call waits: in a forked process, the thread that holds the lock may not exist, and a signal
/// handler may start a span while the thread holds the lock. Threads that enter a span share the
/// lock. Only a span that starts, ends, or gets another parent or other baggage needs it alone.
#[derive(Default)]
pub(in crate::trace) struct Stored(RwLock<Option<Context>>);

/// A thread is just changing the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

impl Stored {
    /// Returns the context, if there is one.
    ///
    /// # Errors
    ///
    /// Returns [`Busy`] if a thread is just changing the context.
    #[inline]
    pub(in crate::trace) fn get(&self) -> Result<Option<Context>, Busy> {
        self.read().map(|stored| stored.clone()).ok_or(Busy)
    }

    /// Makes the context [`Busy`] until the guard is dropped.
    pub(in crate::trace) fn hold(&self) -> RwLockWriteGuard<'_, Option<Context>> {
        self.write().unwrap()
    }

    /// Replaces the context, and returns the one before.
    ///
    /// # Errors
    ///
    /// Returns `context` if a thread is just reading or changing the one before.
    #[inline]
    pub(in crate::trace) fn replace(&self, context: Context) -> Result<Option<Context>, Context> {
        match self.write() {
            Some(mut stored) => Ok(stored.replace(context)),
            None => Err(context),
        }
    }

    /// Removes the context. Returns `false` if a thread is just reading it.
    #[inline]
    pub(in crate::trace) fn clear(&self) -> bool {
        // Dropped after the lock is released, since its destructors may be the user's code.
        let taken = self.write().map(|mut stored| stored.take());
        taken.is_some()
    }

    #[inline]
    fn read(&self) -> Option<RwLockReadGuard<'_, Option<Context>>> {
        match self.0.try_read() {
            Ok(stored) => Some(stored),
            Err(TryLockError::Poisoned(stored)) => Some(stored.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    #[inline]
    fn write(&self) -> Option<RwLockWriteGuard<'_, Option<Context>>> {
        match self.0.try_write() {
            Ok(stored) => Some(stored),
            Err(TryLockError::Poisoned(stored)) => Some(stored.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::{
        SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
    };

    use super::*;
    use crate::trace::otel::current_id;

    fn take(stored: &Stored) -> Option<Context> {
        stored.write()?.take()
    }

    fn context(span: u64) -> Context {
        let ids = (TraceId::from(7), SpanId::from(span), TraceFlags::SAMPLED);
        let span = SpanContext::new(ids.0, ids.1, ids.2, false, TraceState::default());
        Context::new().with_remote_span_context(span)
    }

    #[test]
    fn it_is_replaced_and_removed() {
        let stored = Stored::default();
        let id = |context: Option<Context>| context.as_ref().map(current_id);
        let stored_id = || stored.get().map(id);
        assert_eq!((stored_id(), id(take(&stored))), (Ok(None), None));
        assert_eq!(stored.replace(context(1)).ok().map(id), Some(None));
        assert_eq!(stored.replace(context(2)).ok().map(id), Some(Some(1)));
        assert_eq!((stored_id(), id(take(&stored)), stored_id()), (Ok(Some(2)), Some(2), Ok(None)));
    }

    /// A forked process may have the lock in any state, for ever.
    #[test]
    fn no_call_waits() {
        let stored = Stored::default();
        drop(stored.replace(context(1)));
        let held = stored.write();
        assert!(stored.get().is_err() && take(&stored).is_none());
        assert_eq!(stored.replace(context(2)).err().as_ref().map(current_id), Some(2));
        drop(held);
        let held = stored.read();
        assert!(stored.get().is_ok_and(|it| it.is_some()), "readers share the lock");
        assert!(take(&stored).is_none() && stored.replace(context(2)).is_err());
        drop(held);
        assert_eq!(take(&stored).as_ref().map(current_id), Some(1));
    }
}
