//! The reading that refreshers publish, and the number of refreshers.

use core::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_utils::CachePadded;

use crate::sync::{Reading, Words};

/// The published reading. It exists if and only if a refresher is registered.
///
/// A refresh takes no lock. So it may run in a signal handler, and in the child of a `fork` that
/// interrupted another thread's refresh.
#[derive(Debug)]
pub(super) struct Published {
    words: CachePadded<Words>,
    /// The number of registered refreshers. A thread that adds or removes the reading holds this
    /// lock.
    refreshers: Mutex<usize>,
}

impl Published {
    pub(super) const fn new() -> Self {
        Self { words: CachePadded::new(Words::none()), refreshers: Mutex::new(0) }
    }

    /// Adds a refresher, and publishes a reading.
    pub(super) fn register(&self, read: impl Fn() -> Reading) -> Registration<'_> {
        let mut refreshers = self.refreshers();
        if *refreshers == 0 {
            self.set(read());
        } else {
            self.refresh(read);
        }
        *refreshers += 1;
        Registration(self)
    }

    /// Forgets all refreshers, whose threads a forked child does not have. Async-signal-safe.
    pub(super) fn forget_refreshers(&self) {
        self.clear();
        // If another thread held the lock during the fork, no thread of the child can unlock it:
        // don't wait.
        if let Ok(mut refreshers) = self.refreshers.try_lock() {
            *refreshers = 0;
        }
    }

    /// Locks the number. A thread that panicked left it unchanged, so poison means nothing.
    fn refreshers(&self) -> MutexGuard<'_, usize> {
        self.refreshers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for Published {
    type Target = Words;

    #[inline]
    fn deref(&self) -> &Words {
        &self.words
    }
}

/// A registered refresher. Dropping the last one removes the reading.
#[derive(Debug)]
pub(super) struct Registration<'a>(&'a Published);

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        let mut refreshers = self.0.refreshers();
        *refreshers -= 1;
        if *refreshers == 0 {
            self.0.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use core::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;
    use std::thread;

    use super::*;
    use crate::sync::{AtomicU64, Ordering};

    /// Returns the reading with the tick `n` and a different number as its Unix time.
    fn at(n: u64) -> Reading {
        Reading::new(n, 1_000_000 + n)
    }

    fn never() -> Reading {
        panic!("the clock is read although no refresher is registered")
    }

    /// Reads a clock that returns 1, 2, 3 and so on.
    fn counting(count: &AtomicU64) -> Reading {
        at(count.fetch_add(1, Ordering::Relaxed) + 1)
    }

    #[test]
    fn without_a_refresher_a_refresh_does_nothing() {
        let published = Published::new();
        published.refresh(never);
        assert_eq!((published.ticks(), published.unix_ns()), (None, None));
        drop(published.register(|| at(5)));
        published.refresh(never);
        assert_eq!((published.ticks(), published.unix_ns()), (None, None));
        assert_eq!(published.reading(), None);
    }

    #[test]
    fn each_refresh_is_seen() {
        let published = Published::new();
        let _registered = published.register(|| at(5));
        assert_eq!(published.reading(), Some(at(5)));
        published.refresh(|| at(7));
        assert_eq!(published.reading(), Some(at(7)));
        assert_eq!(published.ticks(), Some(at(7).ticks));
        assert_eq!(published.unix_ns(), Some(at(7).unix_ns));
    }

    #[test]
    fn the_reading_goes_with_the_last_refresher() {
        let published = Published::new();
        let first = published.register(|| at(5));
        let second = published.register(|| at(6));
        assert_eq!(published.reading(), Some(at(6)));
        drop(first);
        assert_eq!(published.reading(), Some(at(6)));
        published.refresh(|| at(7));
        assert_eq!(published.reading(), Some(at(7)));
        drop(second);
        assert_eq!(published.reading(), None);
        let _third = published.register(|| at(8));
        assert_eq!(published.reading(), Some(at(8)));
    }

    #[test]
    fn ticks_never_go_back_but_unix_time_may() {
        let published = Published::new();
        let _registered = published.register(|| Reading::new(50, 500));
        published.refresh(|| Reading::new(40, 400));
        assert_eq!(published.reading(), Some(Reading::new(50, 400)));
        let _second = published.register(|| Reading::new(30, 300));
        assert_eq!(published.reading(), Some(Reading::new(50, 300)));
    }

    #[test]
    fn a_refresh_overtaken_by_the_last_drop_publishes_nothing() {
        let published = Published::new();
        let registered = Cell::new(Some(published.register(|| at(5))));
        published.refresh(|| {
            drop(registered.take());
            at(6)
        });
        assert_eq!((published.ticks(), published.unix_ns()), (None, None));
    }

    #[test]
    fn a_refresh_overtaken_by_another_reads_the_clock_again() {
        let published = Published::new();
        let _registered = published.register(|| at(5));
        let reads = Cell::new(0);
        published.refresh(|| {
            reads.set(reads.get() + 1);
            if reads.get() > 1 {
                return at(9);
            }
            published.refresh(|| at(8));
            at(6)
        });
        assert_eq!(reads.get(), 2);
        assert_eq!(published.reading(), Some(at(9)));
    }

    #[test]
    fn a_refresh_overtaken_by_a_drop_and_the_next_refresher_reads_the_clock_again() {
        let published = Published::new();
        let registered = Cell::new(Some(published.register(|| at(5))));
        let reads = Cell::new(0);
        published.refresh(|| {
            reads.set(reads.get() + 1);
            if reads.get() > 1 {
                return at(9);
            }
            drop(registered.take());
            registered.set(Some(published.register(|| at(8))));
            at(6)
        });
        assert_eq!(reads.get(), 2);
        assert_eq!(published.reading(), Some(at(9)));
        drop(registered);
        assert_eq!(published.reading(), None);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "a panic ends the program")]
    fn a_panic_while_registering_registers_nothing() {
        let published = Published::new();
        let registering = AssertUnwindSafe(|| drop(published.register(never)));
        catch_unwind(registering).expect_err("the panic");
        assert_eq!(published.reading(), None);
        let registered = published.register(|| at(5));
        assert_eq!(published.reading(), Some(at(5)));
        drop(registered);
        assert_eq!(published.reading(), None);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn values_never_go_back_while_threads_refresh() {
        let count = AtomicU64::new(0);
        let published = Published::new();
        let registered = published.register(|| counting(&count));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let before = published.reading().expect("a refresher is registered");
                        published.refresh(|| counting(&count));
                        drop(published.register(|| counting(&count)));
                        let after = published.reading().expect("a refresher is registered");
                        assert!(after.ticks > before.ticks, "{after:?} after {before:?}");
                        assert!(after.unix_ns > before.unix_ns, "{after:?} after {before:?}");
                        let unix_ns_of_tick = at(after.ticks.get()).unix_ns;
                        assert!(after.unix_ns >= unix_ns_of_tick, "{after:?} is torn");
                    }
                });
            }
        });
        drop(registered);
        assert_eq!(published.reading(), None);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn nothing_is_left_by_threads_that_refresh_during_the_last_drop() {
        let count = AtomicU64::new(0);
        let published = Published::new();
        for _ in 0..200 {
            thread::scope(|scope| {
                let registered = published.register(|| counting(&count));
                for _ in 0..2 {
                    scope.spawn(|| (0..50).for_each(|_| published.refresh(|| counting(&count))));
                }
                drop(registered);
            });
            assert_eq!((published.ticks(), published.unix_ns()), (None, None));
        }
    }
}
