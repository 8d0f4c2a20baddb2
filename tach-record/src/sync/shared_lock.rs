//! A lock with shared reads, which never waits for its own thread.

use core::cell::Cell;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, TryLockError};

thread_local! {
    /// Whether this thread holds a [`SharedLock`].
    static IS_HELD: Cell<bool> = const { Cell::new(false) };
}

/// A lock that does not wait while its thread holds any [`SharedLock`], but fails instead. A signal
/// handler or an allocator may log while its thread holds the lock, and would wait for ever.
#[derive(Debug, Default)]
pub struct SharedLock<T>(RwLock<T>);

impl<T> SharedLock<T> {
    /// Calls `f` with the value. Returns `None` if the thread would have to wait for itself.
    #[inline]
    pub fn read<R>(&self, f: impl FnOnce(&T) -> R) -> Option<R> {
        let held = Held::new();
        let value = match self.read_now() {
            Some(value) => value,
            None if held.was => return None,
            None => self.0.read().unwrap_or_else(PoisonError::into_inner),
        };
        Some(f(&value))
    }

    /// Like [`read`](Self::read), but returns `None` too if another thread changes the value.
    pub fn try_read<R>(&self, f: impl FnOnce(&T) -> R) -> Option<R> {
        let _held = Held::new();
        Some(f(&*self.read_now()?))
    }

    #[inline]
    fn read_now(&self) -> Option<RwLockReadGuard<'_, T>> {
        match self.0.try_read() {
            Ok(value) => Some(value),
            Err(TryLockError::Poisoned(value)) => Some(value.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Like [`read`](Self::read), to change the value.
    #[inline]
    pub fn write<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        let held = Held::new();
        let mut value = match self.0.try_write() {
            Ok(value) => value,
            Err(TryLockError::Poisoned(value)) => value.into_inner(),
            Err(TryLockError::WouldBlock) if held.was => return None,
            Err(TryLockError::WouldBlock) => self.0.write().unwrap_or_else(PoisonError::into_inner),
        };
        Some(f(&mut value))
    }
}

/// Marks the thread, from before it takes the lock until it has released the lock.
struct Held {
    /// Whether the thread already held a [`SharedLock`].
    was: bool,
}

impl Held {
    #[inline]
    fn new() -> Self {
        Self { was: IS_HELD.replace(true) }
    }
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        IS_HELD.set(self.was);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_never_waits_for_itself() {
        let lock = SharedLock::default();
        assert_eq!(lock.write(|value| *value = 1), Some(()));
        let nested = lock.write(|_| (lock.read(|_| ()), lock.write(|_| ())));
        assert_eq!(nested, Some((None, None)));
        let nested = lock.read(|_| (lock.read(|value| *value), lock.write(|_| ())));
        assert_eq!(nested, Some((Some(1), None)));
        assert_eq!(lock.write(|value| *value), Some(1), "all are released");
    }

    #[test]
    fn a_thread_waits_for_others() {
        let lock = SharedLock::default();
        let (entered, is_entered) = mpsc::channel();
        let (may_go_on, go_on) = mpsc::channel();
        let lock = &lock;
        thread::scope(|scope| {
            scope.spawn(move || {
                lock.write(|value| {
                    entered.send(()).unwrap();
                    go_on.recv().unwrap();
                    *value = 2;
                })
            });
            is_entered.recv().unwrap();
            assert_eq!(lock.try_read(|value| *value), None, "this one does not");
            may_go_on.send(()).unwrap();
            assert_eq!(lock.read(|value| *value), Some(2));
            assert_eq!(lock.try_read(|value| *value), Some(2));
        });
    }

    #[test]
    fn a_panic_closes_no_lock() {
        let lock = SharedLock::<u8>::default();
        let panics = || lock.write(|_| panic!("on purpose"));
        let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(panics));
        assert!(panicked.is_err());
        assert_eq!(lock.read(|value| *value), Some(0));
    }
}
