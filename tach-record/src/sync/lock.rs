//! A lock that a panic does not close.

use core::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

/// A mutex without poison.
///
/// No code of the user runs while a lock is held, so only a defect of this crate panics there. We
/// continue to log after it: each statement leaves the value whole.
#[derive(Debug, Default)]
pub struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    /// Creates a lock that nobody holds.
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Waits until nobody else holds the lock.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `None` if a thread holds the lock.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(value) => Some(value),
            Err(TryLockError::Poisoned(value)) => Some(value.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Wakes the threads that wait until the value of a [`Lock`] has changed.
#[derive(Debug, Default)]
pub struct Changed(Condvar);

impl Changed {
    /// Creates a change that nobody waits for.
    pub const fn new() -> Self {
        Self(Condvar::new())
    }

    /// Wakes all that wait.
    pub fn notify(&self) {
        self.0.notify_all();
    }

    /// Waits until a notification, or for the timeout. May return early.
    pub fn wait<'a, T>(&self, value: MutexGuard<'a, T>, timeout: Duration) -> MutexGuard<'a, T> {
        self.0.wait_timeout(value, timeout).unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use core::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_panic_closes_no_lock() {
        let lock = Lock::new(1);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut held = lock.lock();
            *held = 2;
            panic!("a defect");
        }));
        assert!(panicked.is_err());
        let held = lock.lock();
        assert_eq!((*held, lock.try_lock().is_some()), (2, false));
        drop(held);
        assert!(lock.try_lock().is_some());
    }
}
