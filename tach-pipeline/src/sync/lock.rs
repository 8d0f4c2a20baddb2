//! A lock that a panic does not close.

use core::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

/// A mutex without poison.
///
/// No code of the user's runs while one is held, so a panic meanwhile is a defect of this crate.
/// The log goes on after it: a value is whole after each statement that changes it.
#[derive(Debug, Default)]
pub(crate) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        #[cfg(test)]
        tests::count();
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `None` if a thread holds the lock.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        #[cfg(test)]
        tests::count();
        match self.0.try_lock() {
            Ok(value) => Some(value),
            Err(TryLockError::Poisoned(value)) => Some(value.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Wakes the threads that wait until the value of a [`Lock`] has changed.
#[derive(Debug, Default)]
pub(crate) struct Changed(Condvar);

impl Changed {
    pub(crate) const fn new() -> Self {
        Self(Condvar::new())
    }

    pub(crate) fn notify(&self) {
        self.0.notify_all();
    }

    /// Waits until a notification, or for the timeout. May return early.
    pub(crate) fn wait<'a, T>(
        &self,
        value: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> MutexGuard<'a, T> {
        self.0.wait_timeout(value, timeout).unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use core::cell::Cell;
    use core::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;

    use super::*;

    thread_local! {
        static TRIES: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn count() {
        TRIES.set(TRIES.get() + 1);
    }

    /// Returns how often this thread has tried to take a lock, for tests of other files.
    #[cfg(feature = "tracing")]
    pub(crate) fn tries() -> u64 {
        TRIES.get()
    }

    impl<T> Lock<T> {
        /// Returns whether no thread holds the lock.
        pub(crate) fn is_free(&self) -> bool {
            self.try_lock().is_some()
        }
    }

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
        assert_eq!((*held, lock.is_free()), (2, false));
        drop(held);
        assert!(lock.is_free());
    }
}
