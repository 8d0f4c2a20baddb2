//! The lower limit that keeps an increasing clock from returning one time twice.

use crate::sync::{AtomicU64, Ordering, const_fn};

/// The lowest time that may be returned next, in ns.
#[derive(Debug)]
pub(crate) struct Floor(AtomicU64);

impl Floor {
    const_fn! {
        pub(crate) const fn new() -> Self {
            Self(AtomicU64::new(0))
        }
    }

    /// Returns `ns` or, if that is below the floor, the floor. Raises the floor to the first
    /// multiple of `unit_ns` above the returned time.
    #[inline]
    pub(crate) fn rise(&self, ns: u64, unit_ns: u64) -> u64 {
        let above = |ns: u64| (ns / unit_ns).saturating_add(1).saturating_mul(unit_ns);
        let raise = |floor: u64| Some(above(floor.max(ns)));
        // ORDERING: Relaxed for both. If one call happens before another, so do their exchanges in
        // the modification order, and nothing but the time is published.
        let floor = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, raise);
        floor.unwrap_or_else(|floor| floor).max(ns)
    }
}

#[cfg(all(test, not(any(loom, tach_same_arithmetic))))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_floor_saturates() {
        let floor = Floor::new();
        assert_eq!(
            [(); 3].map(|()| floor.rise(u64::MAX - 1, 1)),
            [u64::MAX - 1, u64::MAX, u64::MAX]
        );
    }

    proptest! {
        #[test]
        fn times_rise_by_whole_units_and_no_more_than_they_must(
            unit_ns in 1..1000_u64,
            times in prop::collection::vec(0..10_000_u64, 1..50),
        ) {
            let floor = Floor::new();
            let mut last = None;
            for ns in times {
                let found = floor.rise(ns, unit_ns);
                let least = last.map_or(0, |last: u64| (last / unit_ns + 1) * unit_ns);
                prop_assert_eq!(found, least.max(ns));
                last = Some(found);
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Two threads that read the same time get different ones, and each thread's own times rise.
    #[test]
    fn loom_no_time_is_returned_twice() {
        loom::model(|| {
            let floor = Arc::new(Floor::new());
            let other = thread::spawn({
                let floor = floor.clone();
                move || [floor.rise(15, 10), floor.rise(12, 10)]
            });
            let mine = floor.rise(14, 10);
            let theirs = other.join().unwrap();
            let mut units = [mine / 10, theirs[0] / 10, theirs[1] / 10];
            assert!(units[1] < units[2]);
            units.sort_unstable();
            assert_eq!(units, [1, 2, 3]);
        });
    }
}
