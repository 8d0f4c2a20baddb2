//! Requests to write everything, and the back end's answers.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::error::Error;

/// Numbered requests, and the number up to which they are done.
#[derive(Default)]
pub(crate) struct Flush {
    requested: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    done: u64,
    /// Why the last flush failed, if it did.
    failure: Option<String>,
    /// Whether the back end has ended.
    ended: bool,
}

impl Flush {
    /// Requests a flush of everything that was logged before, and returns its number.
    pub(crate) fn request(&self) -> u64 {
        // ORDERING: Release, with the Acquire of `requested`: the back end sees the caller's
        // records.
        self.requested.fetch_add(1, Ordering::Release) + 1
    }

    pub(crate) fn wait(&self, number: u64, timeout: Duration) -> Result<(), Error> {
        let start = Instant::now();
        let mut state = self.lock();
        loop {
            if state.done >= number {
                return state.failure.clone().map_or(Ok(()), |failure| Err(Error::sink(failure)));
            }
            if state.ended {
                // A failure of the last flush applies to all requests.
                return Err(state.failure.clone().map_or_else(Error::ended, Error::sink));
            }
            let Some(left) = timeout.checked_sub(start.elapsed()).filter(|left| !left.is_zero())
            else {
                return Err(Error::timed_out(timeout));
            };
            state =
                self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(crate) fn requested(&self) -> u64 {
        // ORDERING: Acquire, with the Release of `request`.
        self.requested.load(Ordering::Acquire)
    }

    /// Marks the requests up to `number` as done, with the reason if writing failed.
    pub(crate) fn done(&self, number: u64, failure: Option<String>) {
        let mut state = self.lock();
        state.done = number;
        state.failure = failure;
        drop(state);
        self.changed.notify_all();
    }

    /// Marks the back end as ended, with the reason if writing failed.
    pub(crate) fn end(&self, failure: Option<String>) {
        let mut state = self.lock();
        state.ended = true;
        state.failure = failure;
        drop(state);
        self.changed.notify_all();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
