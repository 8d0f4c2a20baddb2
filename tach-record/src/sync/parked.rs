//! A nap that another thread can end, made of the standard library's parking.

use core::sync::atomic::{AtomicBool, Ordering, fence};
use core::time::Duration;
use std::thread::{self, Thread};

use super::Lock;

/// Lets one thread sleep.
#[derive(Debug)]
pub struct Nap {
    /// The thread that took the last nap.
    sleeper: Lock<Option<Thread>>,
    is_woken: AtomicBool,
}

impl Nap {
    /// Creates a nap that nobody takes.
    pub const fn new() -> Self {
        Self { sleeper: Lock::new(None), is_woken: AtomicBool::new(false) }
    }

    /// Sleeps until a wake-up, also an earlier one that ended no nap, or for `longest`. May return
    /// early.
    pub fn sleep(&self, longest: Duration) {
        *self.sleeper.lock() = Some(thread::current());
        // ORDERING: SeqCst, with the fence of `wake`: a caller that found the lock taken has set
        // the flag, which is read below.
        fence(Ordering::SeqCst);
        // ORDERING: Acquire, with the Release of `wake`: the sleeper sees what the caller did.
        if !self.is_woken.swap(false, Ordering::Acquire) {
            thread::park_timeout(longest);
            // ORDERING: Acquire, with the Release of `wake`: the sleeper sees what the caller did.
            self.is_woken.swap(false, Ordering::Acquire);
        }
    }

    /// Ends the nap, or else the next one at once. Waits for no lock, so a signal handler may call
    /// it: another caller that holds the lock wakes the thread too, and the sleeper itself looks at
    /// the flag.
    pub fn wake(&self) {
        // ORDERING: Release, with the Acquire of `sleep`.
        self.is_woken.store(true, Ordering::Release);
        // ORDERING: SeqCst, with the fence of `sleep`.
        fence(Ordering::SeqCst);
        if let Some(sleeper) = self.sleeper.try_lock().as_deref().and_then(Option::as_ref) {
            sleeper.unpark();
        }
    }
}
