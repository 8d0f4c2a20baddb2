//! Asking the back end to write all there is, and hearing that it has.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::error::Error;

/// Requests that are numbered, and the number up to which they are done.
#[derive(Default)]
pub(crate) struct Flush {
    requested: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    done: u64,
    /// Why the last flush was in vain, if it was.
    failure: Option<String>,
    /// There is no back end any more.
    ended: bool,
}

impl Flush {
    /// Asks for a flush of all that was logged before; its number.
    pub(crate) fn request(&self) -> u64 {
        // ORDERING: Release, with the Acquire of `requested`: who is asked sees what the caller pushed.
        self.requested.fetch_add(1, Ordering::Release) + 1
    }

    /// Waits until the request of that number is done.
    pub(crate) fn wait(&self, number: u64, timeout: Duration) -> Result<(), Error> {
        let start = Instant::now();
        let mut state = self.lock();
        loop {
            if state.done >= number {
                return state.failure.clone().map_or(Ok(()), |failure| Err(Error::sink(failure)));
            }
            if state.ended {
                // What was in vain at the end was so for all.
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

    /// The number of the last request.
    pub(crate) fn requested(&self) -> u64 {
        // ORDERING: Acquire, with the Release of `request`.
        self.requested.load(Ordering::Acquire)
    }

    /// The requests up to `number` are done; `failure` tells what could not be written.
    pub(crate) fn done(&self, number: u64, failure: Option<String>) {
        let mut state = self.lock();
        state.done = number;
        state.failure = failure;
        drop(state);
        self.changed.notify_all();
    }

    /// Nobody is there to flush any more; `failure` tells what could not be written at the end.
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
        // Nothing panics while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
