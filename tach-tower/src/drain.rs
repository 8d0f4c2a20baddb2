//! The end of all bodies of a layer, when a service stops.

use core::pin::Pin;
use core::task::Context;
use core::time::Duration;
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use tokio::time::Instant;

/// When the bodies of a layer end.
#[derive(Debug, Default)]
pub(crate) struct Drain {
    end: OnceLock<Instant>,
    begun: Arc<Notify>,
}

impl Drain {
    /// Ends all bodies after `grace`. The first call counts.
    pub(crate) fn begin(&self, grace: Duration) {
        if let Some(end) = Instant::now().checked_add(grace) {
            let _ = self.end.set(end);
            self.begun.notify_waiters();
        }
    }

    /// Returns the end, if it is known. Otherwise `waiting` wakes the task once it is.
    pub(crate) fn poll_end(
        &self,
        waiting: &mut Option<Pin<Box<OwnedNotified>>>,
        cx: &mut Context<'_>,
    ) -> Option<Instant> {
        let begun = waiting.get_or_insert_with(|| Box::pin(self.begun.clone().notified_owned()));
        let _ = begun.as_mut().poll(cx);
        self.end.get().copied()
    }

    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.end.get().is_some_and(|end| *end <= Instant::now())
    }
}
