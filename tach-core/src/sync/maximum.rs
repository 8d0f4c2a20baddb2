//! A tick that only rises: the last one that an enforced read returned, or the last look.

use crate::sync::{AtomicU64, Ordering, const_fn};

/// The highest tick so far.
#[derive(Debug)]
pub(crate) struct Maximum(AtomicU64);

impl Maximum {
    const_fn! {
        pub(crate) const fn new() -> Self {
            Self(AtomicU64::new(0))
        }
    }

    /// Returns the highest tick that [`raise`](Self::raise) has returned, or 0 before its first
    /// call.
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        // ORDERING: Relaxed. The tick publishes nothing but itself.
        self.0.load(Ordering::Relaxed)
    }

    /// Returns `tick`, or the highest tick returned before if that is higher.
    #[inline]
    pub(crate) fn raise(&self, tick: u64) -> u64 {
        // ORDERING: Relaxed. If one call happens before another, so do their exchanges in the
        // modification order, and the later call gets a maximum that includes the earlier tick.
        self.0.fetch_max(tick, Ordering::Relaxed).max(tick)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn no_tick_is_lower_than_one_before() {
        let maximum = Maximum::new();
        assert_eq!(maximum.get(), 0);
        let given = [5, 3, 9, 9, 1, u64::MAX, 2].map(|tick| maximum.raise(tick));
        assert_eq!(given, [5, 5, 9, 9, 9, u64::MAX, u64::MAX]);
        assert_eq!(maximum.get(), u64::MAX);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64 as Flag;
    use loom::thread;

    use super::*;

    /// A tick that is read after a hand-off is not below the tick that was handed over, though its
    /// counter is behind, and whichever threads raise the maximum meanwhile.
    #[test]
    fn loom_a_hand_off_is_in_order() {
        loom::model(|| {
            let shared = Arc::new((Maximum::new(), Flag::new(0)));
            let receiver = thread::spawn({
                let shared = shared.clone();
                move || {
                    let theirs = shared.1.load(Ordering::Acquire);
                    let mine = shared.0.raise(2);
                    assert!(mine >= theirs, "{mine} comes after {theirs}");
                }
            });
            let bystander = thread::spawn({
                let shared = shared.clone();
                move || assert!(shared.0.raise(3) >= 3)
            });
            let mine = shared.0.raise(4);
            shared.1.store(mine, Ordering::Release);
            receiver.join().unwrap();
            bystander.join().unwrap();
            assert!(shared.0.get() >= 4);
        });
    }

    /// Each thread's ticks are in order, even if the threads synchronize nowhere else.
    #[test]
    fn loom_a_thread_is_in_order_with_itself() {
        loom::model(|| {
            let maximum = Arc::new(Maximum::new());
            let other = thread::spawn({
                let maximum = maximum.clone();
                move || {
                    let first = maximum.raise(5);
                    assert!(maximum.raise(1) >= first);
                }
            });
            let first = maximum.raise(4);
            assert!(maximum.raise(2) >= first);
            other.join().unwrap();
        });
    }
}
