//! A clock whose Unix time never repeats.

use core::time::Duration;

use crossbeam_utils::CachePadded;

use crate::clock::{Clock, SystemClock};
use crate::instants::{Anchor, Instant};
use crate::sync::Floor;
use crate::unix_time::UnixTime;

/// A clock whose Unix time increases with every read, on any thread, so that timestamps can serve
/// as keys.
///
/// The clock reads an inner clock. If the inner clock's time, rounded down to the resolution, is
/// greater than the last result (rounded likewise), the inner clock's time is the result. Otherwise
/// the result is the next multiple of the resolution after the last result. Choose the resolution
/// of the last digit that is printed.
///
/// # Guarantees
///
/// No two results of [`unix_time`](Clock::unix_time) or [`anchor`](Clock::anchor), on any threads,
/// are equal when rounded down to the resolution. If one read happens before another, its result is
/// the earlier. Both hold up to [`UnixTime::MAX`], where the time stands still.
///
/// A clock that is read more often than its resolution allows runs ahead: two million reads a
/// second at a resolution of one microsecond advance it by two seconds each second. It also runs
/// ahead after the wall clock was stepped back, until the wall clock has caught up. Instants, and
/// the Unix time [at](Clock::unix_time_at) an instant, are the inner clock's, unchanged.
///
/// # Cost
///
/// A read of the inner clock, and a write that all threads share: threads that read concurrently
/// wait for each other's cache line.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_core::{Clock, IncreasingClock, SystemClock};
///
/// static CLOCK: IncreasingClock = IncreasingClock::new(SystemClock, Duration::from_micros(1));
///
/// let (first, second) = (CLOCK.unix_time(), CLOCK.unix_time());
/// assert!(first.as_micros() < second.as_micros());
/// ```
#[derive(Debug)]
pub struct IncreasingClock<C = SystemClock> {
    clock: C,
    resolution_ns: u64,
    floor: CachePadded<Floor>,
}

impl<C> IncreasingClock<C> {
    /// Creates a clock that reads `clock`, with times that differ when rounded down to
    /// `resolution`. A resolution of zero counts as one nanosecond.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::{Clock, IncreasingClock, ManualClock, UnixTime};
    ///
    /// let manual = ManualClock::new(UnixTime::from_nanos(1_500));
    /// let clock = IncreasingClock::new(&manual, Duration::from_micros(1));
    /// let times = [(); 3].map(|()| clock.unix_time().as_nanos());
    /// assert_eq!(times, [1_500, 2_000, 3_000]);
    /// ```
    #[must_use]
    pub const fn new(clock: C, resolution: Duration) -> Self {
        let ns = resolution.as_nanos();
        #[expect(clippy::cast_possible_truncation, reason = "not more than the greatest")]
        let resolution_ns = if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 };
        let resolution_ns = if resolution_ns == 0 { 1 } else { resolution_ns };
        Self { clock, resolution_ns, floor: CachePadded::new(Floor::new()) }
    }

    #[inline]
    fn increased(&self, time: UnixTime) -> UnixTime {
        UnixTime::from_nanos(self.floor.rise(time.as_nanos(), self.resolution_ns))
    }
}

impl<C: Clock> Clock for IncreasingClock<C> {
    #[inline]
    fn monotonic_now(&self) -> Instant {
        self.clock.monotonic_now()
    }

    #[inline]
    fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
        self.clock.duration_between(earlier, later)
    }

    #[inline]
    fn unix_time_at(&self, instant: Instant) -> UnixTime {
        self.clock.unix_time_at(instant)
    }

    #[inline]
    fn now(&self) -> Instant {
        self.clock.now()
    }

    #[inline]
    fn unix_time(&self) -> UnixTime {
        self.increased(self.clock.unix_time())
    }

    #[inline]
    fn elapsed(&self, since: Instant) -> Duration {
        self.clock.elapsed(since)
    }

    #[inline]
    fn anchor(&self) -> Anchor {
        let anchor = self.clock.anchor();
        Anchor::new(anchor.instant(), self.increased(anchor.unix_time()))
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::clock::ManualClock;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_step_back_is_not_seen() {
        let manual = ManualClock::new(UnixTime::from_nanos(1_000_000_000));
        let clock = IncreasingClock::new(&manual, MS);
        assert_eq!(clock.unix_time().as_millis(), 1000);
        manual.step_back(MS * 500);
        assert_eq!(clock.unix_time().as_millis(), 1001);
        assert_eq!(clock.unix_time_at(manual.now()).as_millis(), 500);
        manual.step_forward(MS * 600);
        assert_eq!(clock.unix_time().as_millis(), 1100);
    }

    #[test]
    fn anchors_increase_as_well() {
        let clock = IncreasingClock::new(ManualClock::default(), MS);
        let times = [clock.anchor().unix_time(), clock.unix_time(), clock.anchor().unix_time()];
        assert_eq!(times.map(UnixTime::as_millis), [0, 1, 2]);
    }

    #[test]
    fn all_else_is_the_inner_clocks() {
        let manual = ManualClock::default();
        let clock = IncreasingClock::new(&manual, Duration::from_secs(60));
        let anchor = clock.anchor();
        manual.advance(MS);
        let now = clock.now();
        assert_eq!((now, clock.monotonic_now()), (manual.now(), manual.monotonic_now()));
        assert_eq!(clock.duration_between(anchor.instant(), now), MS);
        assert_eq!(clock.elapsed(anchor.instant()), MS);
        assert_eq!(clock.unix_time_at(now).as_millis(), 1);
    }

    #[test]
    fn any_resolution_will_do() {
        for (resolution, second) in [(Duration::ZERO, 1), (Duration::MAX, u64::MAX)] {
            let clock = IncreasingClock::new(ManualClock::default(), resolution);
            assert_eq!([(); 2].map(|()| clock.unix_time().as_nanos()), [0, second]);
        }
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn threads_never_get_the_same_time() {
        const EACH: usize = 10_000;
        let clock = IncreasingClock::new(SystemClock, Duration::from_micros(1));
        let read = || [(); EACH].map(|()| clock.unix_time().as_micros());
        let mut times: Vec<u64> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(read)).collect();
            threads
                .into_iter()
                .flat_map(|thread| {
                    let own = thread.join().unwrap();
                    assert!(own.is_sorted());
                    own
                })
                .collect()
        });
        times.sort_unstable();
        times.dedup();
        assert_eq!(times.len(), 4 * EACH);
    }
}
