//! A clock for tests.

use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use crate::clock::Clock;
use crate::instants::Instant;
use crate::sync::{AtomicU64, Ordering};
use crate::unix_time::UnixTime;

/// A clock that stands still until it is moved by hand.
///
/// Threads can share it by `&`, by `Arc`, or as a `static`:
///
/// ```
/// use std::time::Duration;
/// use tach_core::{Budget, ManualClock, UnixTime};
///
/// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
///
/// let budget = Budget::new(Duration::from_secs(30)).with_clock(&CLOCK);
/// CLOCK.advance(Duration::from_secs(29));
/// assert_eq!(budget.remaining(), Duration::from_secs(1));
/// CLOCK.advance(Duration::from_secs(1));
/// assert!(budget.is_exhausted());
/// ```
///
/// [`advance`](Self::advance) moves the monotonic time and the Unix time together.
/// [`set`](Self::set), [`step_forward`](Self::step_forward) and [`step_back`](Self::step_back) step
/// the Unix time alone, as an administrator or an NTP daemon does.
///
/// # Guarantees
///
/// All durations are exact to the nanosecond, on every platform. As with the system's clock, an
/// instant that was read before a step keeps its Unix time. If the clock was not advanced between
/// the read and the step, the instants before and after the step are the same, and have the Unix
/// time after the step.
///
/// Both times stop after 584 years.
///
/// # Cost
///
/// A read is one load. Moving the clock, [`unix_time_at`](Clock::unix_time_at) and
/// [`anchor`](Clock::anchor) take a lock, and each step takes memory. While one thread advances the
/// clock, another may read one of the two times already advanced and the other not yet. An anchor's
/// two times belong together.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_core::{Clock, ManualClock, UnixTime};
///
/// let clock = ManualClock::new(UnixTime::from_nanos(1_000_000_000));
/// let start = clock.now();
/// clock.advance(Duration::from_millis(5));
/// clock.step_back(Duration::from_secs(1));
/// assert_eq!(clock.elapsed(start), Duration::from_millis(5));
/// assert_eq!(clock.unix_time(), UnixTime::from_nanos(5_000_000));
/// ```
#[derive(Debug)]
pub struct ManualClock {
    /// Nanoseconds since the start: the ticks of the clock's instants.
    elapsed: Nanos,
    unix: Nanos,
    /// Locked while either time is moved.
    steps: Mutex<Steps>,
}

/// A time that moves while others read it.
#[derive(Debug)]
struct Nanos(AtomicU64);

impl Nanos {
    fn get(&self) -> u64 {
        // ORDERING: Relaxed, since a time publishes nothing but itself; a read that happens after
        // another is not before it in the modification order.
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, ns: u64) {
        // ORDERING: Relaxed, since a time publishes nothing but itself; all writers hold the lock.
        self.0.store(ns, Ordering::Relaxed);
    }
}

/// The Unix time at the clock's start, and the instant and the new Unix time of each step.
#[derive(Debug)]
struct Steps {
    start: UnixTime,
    later: Vec<(Instant, UnixTime)>,
}

impl Steps {
    fn unix_time_at(&self, instant: Instant) -> UnixTime {
        let step = self.later.iter().rev().find(|(from, _)| *from <= instant);
        let &(from, time) = step.unwrap_or(&(Instant::from_ticks(0), self.start));
        time.saturating_add(Duration::from_nanos(instant.as_ticks() - from.as_ticks()))
    }
}

impl ManualClock {
    /// Creates a clock whose Unix time starts at `start`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Clock, ManualClock, UnixTime};
    ///
    /// let clock = ManualClock::new(UnixTime::EPOCH);
    /// assert_eq!(clock.unix_time(), UnixTime::EPOCH);
    /// ```
    #[must_use]
    pub const fn new(start: UnixTime) -> Self {
        Self {
            elapsed: Nanos(AtomicU64::new(0)),
            unix: Nanos(AtomicU64::new(start.as_nanos())),
            steps: Mutex::new(Steps { start, later: Vec::new() }),
        }
    }

    /// Advances both times by `duration`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::{Clock, ManualClock, UnixTime};
    ///
    /// let clock = ManualClock::new(UnixTime::EPOCH);
    /// clock.advance(Duration::from_nanos(7));
    /// assert_eq!(clock.unix_time().as_nanos(), 7);
    /// ```
    pub fn advance(&self, duration: Duration) {
        let steps = self.lock();
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.elapsed.set(self.elapsed.get().saturating_add(ns));
        self.unix.set(steps.unix_time_at(self.now()).as_nanos());
    }

    /// Sets the Unix time, forward or back. The monotonic time stays.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::{Clock, ManualClock, UnixTime};
    ///
    /// let clock = ManualClock::new(UnixTime::EPOCH);
    /// let start = clock.now();
    /// clock.set(UnixTime::from_nanos(5));
    /// assert_eq!(clock.unix_time().as_nanos(), 5);
    /// assert_eq!(clock.elapsed(start), Duration::ZERO);
    /// ```
    pub fn set(&self, time: UnixTime) {
        self.step(|_| time);
    }

    /// Steps the Unix time forward by `duration`. The monotonic time stays.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::{Clock, ManualClock, UnixTime};
    ///
    /// let clock = ManualClock::new(UnixTime::EPOCH);
    /// clock.step_forward(Duration::from_secs(3600));
    /// assert_eq!(clock.unix_time().as_secs(), 3600);
    /// ```
    pub fn step_forward(&self, duration: Duration) {
        self.step(|time| time.saturating_add(duration));
    }

    /// Steps the Unix time back by `duration`, at most to 1970. The monotonic time stays.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::{Clock, ManualClock, UnixTime};
    ///
    /// let clock = ManualClock::new(UnixTime::from_nanos(9));
    /// clock.step_back(Duration::from_nanos(5));
    /// assert_eq!(clock.unix_time().as_nanos(), 4);
    /// ```
    pub fn step_back(&self, duration: Duration) {
        self.step(|time| time.saturating_sub(duration));
    }

    fn step(&self, to: impl FnOnce(UnixTime) -> UnixTime) {
        let mut steps = self.lock();
        let time = to(self.unix_time());
        steps.later.push((self.now(), time));
        self.unix.set(time.as_nanos());
    }

    /// Locks the steps, also after a thread panicked while it held the lock: it left each time
    /// either unchanged or moved.
    fn lock(&self) -> MutexGuard<'_, Steps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates a clock that starts at the epoch.
impl Default for ManualClock {
    fn default() -> Self {
        Self::new(UnixTime::EPOCH)
    }
}

impl Clock for ManualClock {
    #[inline]
    fn monotonic_now(&self) -> Instant {
        Instant::from_ticks(self.elapsed.get())
    }

    #[inline]
    fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
        Duration::from_nanos(later.as_ticks().saturating_sub(earlier.as_ticks()))
    }

    fn unix_time_at(&self, instant: Instant) -> UnixTime {
        self.lock().unix_time_at(instant)
    }

    #[inline]
    fn unix_time(&self) -> UnixTime {
        UnixTime::from_nanos(self.unix.get())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn the_monotonic_time_knows_no_steps() {
        let clock = ManualClock::default();
        let start = clock.monotonic_now();
        clock.step_forward(HOUR);
        clock.advance(Duration::from_nanos(1));
        clock.set(UnixTime::MAX);
        clock.step_back(Duration::MAX);
        assert_eq!(clock.elapsed(start), Duration::from_nanos(1));
        assert_eq!(clock.unix_time(), UnixTime::EPOCH);
    }

    #[test]
    fn an_instant_keeps_the_time_it_had_before_a_step() {
        let clock = ManualClock::default();
        let mut kept = Vec::new();
        for step in 0..5_u64 {
            kept.push((clock.now(), clock.unix_time()));
            clock.advance(HOUR);
            if step % 2 == 0 { clock.step_back(HOUR / 2) } else { clock.step_forward(HOUR * 3) }
        }
        for (instant, time) in kept {
            assert_eq!(clock.unix_time_at(instant), time);
        }
    }

    #[test]
    fn an_anchor_is_one_read() {
        /// A clock that advances at every read.
        struct Advancing(ManualClock);

        impl Clock for Advancing {
            fn monotonic_now(&self) -> Instant {
                self.0.advance(HOUR);
                self.0.monotonic_now()
            }

            fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
                self.0.duration_between(earlier, later)
            }

            fn unix_time_at(&self, instant: Instant) -> UnixTime {
                self.0.unix_time_at(instant)
            }
        }

        let clock = Advancing(ManualClock::default());
        let anchor = clock.anchor();
        assert_eq!(anchor.instant(), clock.0.now());
        assert_eq!(anchor.unix_time(), clock.unix_time_at(anchor.instant()));
    }

    #[test]
    fn both_times_end_and_never_wrap() {
        let clock = ManualClock::new(UnixTime::from_nanos(5));
        let start = clock.now();
        clock.advance(Duration::MAX);
        clock.advance(HOUR);
        assert_eq!(clock.elapsed(start), Duration::from_nanos(u64::MAX));
        assert_eq!(clock.unix_time(), UnixTime::MAX);
        assert_eq!(clock.unix_time_at(clock.now()), UnixTime::MAX);
    }

    #[test]
    fn the_future_is_no_negative_duration() {
        let clock = ManualClock::default();
        clock.advance(HOUR);
        let later = clock.now();
        assert_eq!(clock.duration_between(later, Instant::from_ticks(0)), Duration::ZERO);
        assert_eq!(clock.elapsed(Instant::from_ticks(later.as_ticks() + 1)), Duration::ZERO);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn threads_that_advance_it_lose_no_time() {
        let clock = Arc::new(ManualClock::default());
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        let before = clock.monotonic_now();
                        clock.advance(Duration::from_nanos(3));
                        assert!(clock.monotonic_now() > before);
                    }
                });
            }
        });
        assert_eq!(clock.unix_time().as_nanos(), 4 * 1000 * 3);
    }

    #[cfg(not(tach_same_arithmetic))]
    mod properties {
        use proptest::prelude::*;

        use super::*;

        /// One way to move the clock.
        #[derive(Debug, Clone)]
        enum Act {
            Advance(u32),
            Set(u64),
            Forward(u32),
            Back(u32),
        }

        fn acts() -> impl Strategy<Value = Vec<Act>> {
            let act = prop_oneof![
                any::<u32>().prop_map(Act::Advance),
                (1_u64 << 40..1 << 60).prop_map(Act::Set),
                any::<u32>().prop_map(Act::Forward),
                any::<u32>().prop_map(Act::Back),
            ];
            proptest::collection::vec(act, 0..40)
        }

        proptest! {
            #[test]
            fn it_is_two_numbers(acts in acts()) {
                let start = 1_u64 << 50;
                let clock = ManualClock::new(UnixTime::from_nanos(start));
                let (mut elapsed, mut unix) = (0_u64, start);
                let first = clock.now();
                for act in acts {
                    let ns = |by: u32| Duration::from_nanos(by.into());
                    match act {
                        Act::Advance(by) => {
                            clock.advance(ns(by));
                            elapsed += u64::from(by);
                            unix += u64::from(by);
                        }
                        Act::Set(to) => {
                            clock.set(UnixTime::from_nanos(to));
                            unix = to;
                        }
                        Act::Forward(by) => {
                            clock.step_forward(ns(by));
                            unix += u64::from(by);
                        }
                        Act::Back(by) => {
                            clock.step_back(ns(by));
                            unix -= u64::from(by);
                        }
                    }
                    prop_assert_eq!(clock.elapsed(first), Duration::from_nanos(elapsed));
                    prop_assert_eq!(clock.unix_time().as_nanos(), unix);
                    prop_assert_eq!(clock.unix_time_at(clock.now()), clock.unix_time());
                }
            }
        }
    }
}
