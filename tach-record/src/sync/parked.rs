//! A nap that another thread can end, by the standard library.

use core::time::Duration;
use std::thread::{self, Thread};

use super::Lock;

/// Lets one thread sleep.
#[derive(Debug)]
pub struct Nap(Lock<Option<Thread>>);

impl Nap {
    /// Creates a nap that nobody takes.
    pub const fn new() -> Self {
        Self(Lock::new(None))
    }

    /// Sleeps until a wake-up, also an earlier one that ended no nap, or for `longest`. May return
    /// early.
    pub fn sleep(&self, longest: Duration) {
        let this = thread::current();
        // A wake-up before the first nap had no thread to wake.
        if self.0.lock().replace(this.clone()).is_some_and(|before| before.id() == this.id()) {
            thread::park_timeout(longest);
        }
    }

    /// Ends the nap, or else the next one at once. Waits for no lock, so a signal handler may call
    /// it: another caller that holds the lock wakes the thread too.
    pub fn wake(&self) {
        if let Some(sleeper) = self.0.try_lock().as_deref().and_then(Option::as_ref) {
            sleeper.unpark();
        }
    }
}
