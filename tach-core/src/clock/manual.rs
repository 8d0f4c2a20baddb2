//! A clock for tests.

use core::cell::Cell;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread_local;
use std::vec::Vec;

use crate::clock::Clock;
use crate::instants::{Anchor, Instant};
use crate::system;
use crate::system::manual::{self, InPlace};
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
/// CLOCK.during(|| {
///     let budget = Budget::new(Duration::from_secs(30));
///     CLOCK.advance(Duration::from_secs(29));
///     assert_eq!(budget.remaining(), Duration::from_secs(1));
///     CLOCK.advance(Duration::from_secs(1));
///     assert!(budget.is_exhausted());
/// });
/// ```
///
/// [`advance`](Self::advance) moves the monotonic time and the Unix time together.
/// [`set`](Self::set), [`step_forward`](Self::step_forward) and [`step_back`](Self::step_back) step
/// only the Unix time, as an administrator or an NTP daemon does.
///
/// # Guarantees
///
/// All durations are exact to the nanosecond, on every platform. As with the system's clock, an
/// instant that was read before a step keeps its Unix time. If the clock was not advanced between
/// the read and the step, the instants before and after the step are the same, and have the Unix
/// time after the step.
///
/// The clock's instants can't be mistaken for another clock's:
///
/// - `a - b`, `a + duration` and `a - duration` are exact, as with this clock's own methods. So a
///   deadline is `clock.now() + timeout`. Sums reach from 36 years before the clock's start to its
///   end.
/// - `a.elapsed()`, `a.unix_time()`, `anchor.unix_time_at(b)` and `a - b` with one instant of the
///   system's clock would need the other clock. They panic, in every build. (Within
///   [`during`](Self::during), this clock answers the first two.)
/// - This clock's own methods panic if given an instant of the system's clock.
///
/// *Not* detected: an instant of another `ManualClock`, and comparisons such as `a < b`.
///
/// Both times stop after 109 years. Their ticks are in a range of their own. In a process that has
/// read a `ManualClock`, instants of the system's clock from more than 48 years before the
/// machine's start (at 3 GHz) are in that range, and can't be converted.
///
/// # Cost
///
/// Reading and moving the clock take a lock. Moving it takes the same time however many steps came
/// before, and an older instant's Unix time is found by binary search. The steps at one instant
/// take 16 bytes together, for as long as the clock exists.
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
pub struct ManualClock(Mutex<State>);

#[derive(Debug)]
struct State {
    now: Instant,
    start: Anchor,
    /// The later instants at which the clock was stepped, in order, each with the time after its
    /// last step.
    later: Vec<Anchor>,
}

impl State {
    fn unix_time_at(&self, instant: Instant) -> UnixTime {
        let later = self.later.partition_point(|step| step.instant() <= instant);
        let step = later.checked_sub(1).map_or(self.start, |last| self.later[last]);
        step.unix_time_at(instant)
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
        let now = Instant::from_ticks(manual::START);
        Self(Mutex::new(State { now, start: Anchor::at(now, start), later: Vec::new() }))
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
        let mut state = self.lock();
        state.now = state.now.checked_add(duration).unwrap_or(Instant::from_ticks(manual::END));
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

    /// Calls `f` with this clock in place of the system's, on this thread: `Instant::now`,
    /// `elapsed`, `UnixTime::now`, `uptime` and [`SystemClock`](crate::SystemClock) read this
    /// clock, and so do the other instants and anchors. Use this for code that takes no clock.
    ///
    /// Calls nest: when `f` returns or panics, the clock before is in place again. Other threads,
    /// and tasks that `f` spawns, read the system's clock. So do `coarse`, `BootInstant` and
    /// `ThreadCpuInstant`.
    ///
    /// An instant that was read in `f` stays an instant of this clock after `f` has returned, and
    /// the system's clock can't convert it: see [the guarantees](Self#guarantees). A thread that
    /// converts such instants, for example a logger's, must read this clock too.
    ///
    /// # Cost
    ///
    /// The first call makes later reads of the time slower, on all threads of the process.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::{Instant, ManualClock, UnixTime};
    ///
    /// fn is_stale(fetched: Instant) -> bool {
    ///     fetched.elapsed() > Duration::from_secs(60)
    /// }
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// CLOCK.during(|| {
    ///     let fetched = Instant::now();
    ///     CLOCK.advance(Duration::from_secs(60));
    ///     assert!(!is_stale(fetched));
    ///     CLOCK.advance(Duration::from_nanos(1));
    ///     assert!(is_stale(fetched));
    ///     assert_eq!(UnixTime::now().as_secs(), 60);
    /// });
    /// ```
    pub fn during<R>(&'static self, f: impl FnOnce() -> R) -> R {
        manual::reserve(&IN_PLACE);
        // Begin the timelines, so that uptime has an origin.
        let _ = Instant::now();
        system::choice().read_in_place();
        let _outer = Outer(CURRENT.replace(Some(self)));
        f()
    }

    fn step(&self, to: impl FnOnce(UnixTime) -> UnixTime) {
        let mut state = self.lock();
        let step = Anchor::at(state.now, to(state.unix_time_at(state.now)));
        match state.later.last_mut() {
            Some(newest) if newest.instant() == step.instant() => *newest = step,
            _ => state.later.push(step),
        }
    }

    /// Locks the state. A poisoned lock is used as well: a thread that panicked while it held the
    /// lock left each time either unchanged or moved.
    fn lock(&self) -> MutexGuard<'_, State> {
        manual::reserve(&IN_PLACE);
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates a clock that starts at the epoch.
impl Default for ManualClock {
    fn default() -> Self {
        Self::new(UnixTime::EPOCH)
    }
}

thread_local! {
    /// The clock that this thread reads in place of the system's.
    static CURRENT: Cell<Option<&'static ManualClock>> = const { Cell::new(None) };
}

static IN_PLACE: InPlace = InPlace {
    tick: || CURRENT.get().map(|clock| clock.now().as_ticks()),
    unix_ns_at: |tick| {
        CURRENT.get().map(|clock| clock.unix_time_at(Instant::from_ticks(tick)).as_nanos())
    },
};

/// The clock that the thread read before. Dropping it restores that clock, also after a panic.
struct Outer(Option<&'static ManualClock>);

impl Drop for Outer {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

impl Clock for ManualClock {
    fn monotonic_now(&self) -> Instant {
        self.lock().now
    }

    fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
        own(later) - own(earlier)
    }

    fn unix_time_at(&self, instant: Instant) -> UnixTime {
        self.lock().unix_time_at(own(instant))
    }

    fn unix_time(&self) -> UnixTime {
        let state = self.lock();
        state.unix_time_at(state.now)
    }
}

/// Returns `instant`; panics if it is not a manual clock's.
fn own(instant: Instant) -> Instant {
    let is_own = manual::contains(instant.as_ticks());
    assert!(is_own, "a `ManualClock` can't convert an instant of another clock");
    manual::reserve(&IN_PLACE);
    instant
}

#[cfg(test)]
mod tests {
    use core::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;
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
        let lifetime = Duration::from_nanos(manual::END - manual::START);
        assert!(lifetime > 109 * 365 * 24 * HOUR);
        assert_eq!(clock.elapsed(start), lifetime);
        assert_eq!(clock.unix_time(), UnixTime::from_nanos(5) + lifetime);
        assert_eq!(clock.unix_time_at(clock.now()), clock.unix_time());
        clock.set(UnixTime::MAX);
        clock.advance(HOUR);
        assert_eq!((clock.unix_time(), clock.now() - start), (UnixTime::MAX, lifetime));
    }

    #[test]
    fn the_future_is_no_negative_duration() {
        let clock = ManualClock::default();
        clock.advance(HOUR);
        let later = clock.now();
        assert_eq!(clock.duration_between(later, later - HOUR), Duration::ZERO);
        assert_eq!(clock.elapsed(Instant::from_ticks(later.as_ticks() + 1)), Duration::ZERO);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "a panic ends the program")]
    fn no_other_clock_answers_for_its_instants_unnoticed() {
        use crate::clock::SystemClock;
        use crate::instants::{Anchor, uptime_at};

        let clock = ManualClock::default();
        let start = clock.now();
        clock.advance(Duration::from_secs(5));
        let later = clock.now();
        let system = Instant::now();
        let anchor = Anchor::now();
        let mixed: [&(dyn Fn() + Sync); 12] = [
            &|| _ = start.elapsed(),
            &|| _ = std::time::Instant::from(start),
            &|| _ = SystemClock.elapsed(start),
            &|| _ = later - system,
            &|| _ = system - later,
            &|| _ = SystemClock.duration_between(system, start),
            &|| _ = start.unix_time(),
            &|| _ = anchor.unix_time_at(start),
            &|| _ = uptime_at(start),
            &|| _ = clock.elapsed(system),
            &|| _ = clock.duration_between(start, system),
            &|| _ = clock.unix_time_at(system),
        ];
        for (i, act) in mixed.iter().enumerate() {
            assert!(catch_unwind(AssertUnwindSafe(act)).is_err(), "case {i}");
        }
        // The clock still works after each panic.
        assert_eq!(clock.unix_time_at(later).as_secs(), 5);
    }

    #[test]
    fn sums_and_differences_of_its_instants_are_exact() {
        let clock = ManualClock::default();
        let start = clock.now();
        let deadline = start + Duration::from_nanos(7);
        clock.advance(Duration::from_nanos(6));
        assert!(clock.now() < deadline);
        clock.advance(Duration::from_nanos(1));
        assert_eq!(clock.now(), deadline);
        assert_eq!((deadline - start, start - deadline), (Duration::from_nanos(7), Duration::ZERO));
        assert_eq!(deadline.checked_duration_since(start), Some(Duration::from_nanos(7)));
        assert_eq!(deadline - Duration::from_nanos(7), start);
        assert_eq!(start.checked_add(Duration::MAX), None);
        assert_eq!(start.checked_add(Duration::from_nanos(u64::MAX / 2)), None);
        assert_eq!(start.checked_sub(Duration::from_nanos(u64::MAX / 2)), None);
    }

    #[test]
    fn before_its_start_the_time_is_earlier() {
        let clock = ManualClock::new(UnixTime::from_nanos(9));
        let start = clock.now();
        clock.step_forward(HOUR);
        clock.advance(HOUR);
        for (before, unix_ns) in [(4, 5), (9, 0), (10, 0)] {
            let instant = start - Duration::from_nanos(before);
            assert_eq!(clock.unix_time_at(instant).as_nanos(), unix_ns);
            assert_eq!(clock.elapsed(instant), HOUR + Duration::from_nanos(before));
        }
    }

    #[test]
    fn steps_at_one_instant_are_kept_as_one() {
        let clock = ManualClock::default();
        for _ in 0..3 {
            for _ in 0..100 {
                clock.step_forward(HOUR);
                clock.step_back(HOUR / 2);
            }
            clock.advance(HOUR);
        }
        assert_eq!(clock.lock().later.len(), 3);
        assert_eq!(clock.unix_time(), UnixTime::EPOCH + 153 * HOUR);
    }

    #[test]
    fn a_conversion_does_not_visit_each_step() {
        const STEPS: u64 = 100_000;
        let clock = ManualClock::default();
        let start = clock.now();
        for _ in 0..STEPS {
            clock.advance(Duration::from_nanos(1));
            clock.step_forward(Duration::from_nanos(1));
        }
        // A search that visited each step would take 10^10 comparisons here: minutes.
        for ns in 0..STEPS {
            let time = clock.unix_time_at(start + Duration::from_nanos(ns));
            assert_eq!(time.as_nanos(), 2 * ns);
        }
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
