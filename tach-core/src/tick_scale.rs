//! What ticks mean, written down beside them.

mod parse;

use core::fmt;
use core::time::Duration;

pub use self::parse::TickScaleError;
use crate::clock::{Clock, SystemClock};
use crate::instants::Instant;
use crate::unix_time::UnixTime;

/// Over so many ticks the rate is measured: six minutes of a counter of 3 GHz, so that a nanosecond of
/// rounding is 3 millionths of a ppm.
const SPAN_TICKS: u64 = 1 << 40;

/// What a tick was at one moment: a tick, its Unix time, and how long ticks last.
///
/// A program that logs raw [ticks](Instant::as_ticks), to save the conversion or to be as exact as the
/// counter, logs a scale beside them: once at its start, and now and then. Who reads the log later turns
/// ticks into times by the scales that stand before and after them, see [`until`](Self::until). By the one
/// before alone they are as exact as the rate that was known then: to a hundred ppm or so when the process
/// has just started, and far better after minutes. As text a scale is
/// `tick=91496088077416 time=2026-11-21T09:30:00.123456789Z ns_per_tick=0.3999368106014762`.
///
/// # Guarantees
///
/// The text of a scale parses back to an equal scale.
///
/// The times of two ticks by one scale are in their order. *Not* promised: that they are those which
/// [`Instant::unix_time`] told, when the OS's clock was steered or stepped in between: a scale knows nothing
/// of what came after it.
///
/// # Cost
///
/// To take one is three conversions; use it now and then.
///
/// # Examples
///
/// ```
/// use tach_core::{Instant, TickScale};
///
/// let line = TickScale::now().to_string();
/// let tick = Instant::now().as_ticks();
///
/// // Later, elsewhere:
/// let scale: TickScale = line.parse()?;
/// println!("{}", scale.unix_time(tick));
/// # Ok::<(), tach_core::TickScaleError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TickScale {
    tick: u64,
    time: UnixTime,
    ns_per_tick: f64,
}

impl TickScale {
    /// The scale of this moment.
    ///
    /// # Examples
    ///
    /// ```
    /// println!("{}", tach_core::TickScale::now());
    /// ```
    #[must_use]
    pub fn now() -> Self {
        Self::by(&SystemClock)
    }

    /// The scale of this moment, by `clock`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, TickScale, UnixTime};
    ///
    /// let clock = ManualClock::new(UnixTime::EPOCH);
    /// let scale = TickScale::by(&clock).to_string();
    /// assert_eq!(scale, "tick=0 time=1970-01-01T00:00:00.000000000Z ns_per_tick=1");
    /// ```
    #[must_use]
    pub fn by(clock: &(impl Clock + ?Sized)) -> Self {
        let stamp = clock.stamp();
        let tick = stamp.instant().as_ticks();
        // Near the last tick there are too few ticks ahead: the span ends there and begins before.
        let start = tick.min(u64::MAX - SPAN_TICKS);
        let end = Instant::from_ticks(start + SPAN_TICKS);
        let span = clock.duration_between(Instant::from_ticks(start), end);
        Self { tick, time: stamp.unix_time(), ns_per_tick: ns_per_tick(span, SPAN_TICKS) }
    }

    /// The scale for the ticks from this one's to that of `later`, at which it tells the time of `later`, or
    /// a nanosecond less: so nothing jumps from one scale to the next. If `later` is not later by its tick, or
    /// not by its time since the OS's clock was stepped back in between, it is this scale as it is.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{TickScale, UnixTime};
    ///
    /// let start: TickScale = "tick=1000 time=1970-01-01T00:00:01Z ns_per_tick=0.4".parse()?;
    /// let end: TickScale = "tick=3000 time=1970-01-01T00:00:01.000001Z ns_per_tick=0.5".parse()?;
    /// assert_eq!(start.until(&end).unix_time(2000), UnixTime::from_nanos(1_000_000_500));
    /// # Ok::<(), tach_core::TickScaleError>(())
    /// ```
    #[must_use]
    pub fn until(&self, later: &Self) -> Self {
        if later.tick <= self.tick || later.time <= self.time {
            return *self;
        }
        let apart = later.time.saturating_duration_since(self.time);
        Self { ns_per_tick: ns_per_tick(apart, later.tick - self.tick), ..*self }
    }

    /// The Unix time of `tick`, if ticks lasted as long as they did at this scale's; not before the epoch,
    /// nor after [`UnixTime::MAX`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{TickScale, UnixTime};
    ///
    /// let scale = "tick=1000 time=1970-01-01T00:00:01Z ns_per_tick=0.5";
    /// let scale: TickScale = scale.parse()?;
    /// assert_eq!(scale.unix_time(1200), UnixTime::from_nanos(1_000_000_100));
    /// # Ok::<(), tach_core::TickScaleError>(())
    /// ```
    #[must_use]
    pub fn unix_time(&self, tick: u64) -> UnixTime {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "exact for weeks, saturates, and is not negative"
        )]
        let apart =
            Duration::from_nanos((tick.abs_diff(self.tick) as f64 * self.ns_per_tick) as u64);
        if tick >= self.tick {
            self.time.saturating_add(apart)
        } else {
            self.time.saturating_sub(apart)
        }
    }
}

/// Returns the rate at which `ticks`, at least one, last `duration`.
///
/// A duration of 0 counts as a nanosecond, the least that is measured: the rate in a scale's text
/// must be above 0.
#[expect(clippy::cast_precision_loss, reason = "exact for a hundred days")]
fn ns_per_tick(duration: Duration, ticks: u64) -> f64 {
    duration.as_nanos().max(1) as f64 / ticks as f64
}

impl fmt::Display for TickScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tick, time, ns_per_tick } = self;
        // Without a precision a float prints as many digits as parsing it back needs, no exponent.
        write!(f, "tick={tick} time={time} ns_per_tick={ns_per_tick}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::instants::MonotonicInstant;

    /// A clock that is read at `tick`, and by which every `ticks` ticks last `ns`.
    struct Steady {
        tick: u64,
        ns: u64,
        ticks: u64,
    }

    impl Clock for Steady {
        fn monotonic_now(&self) -> MonotonicInstant {
            MonotonicInstant::from_ticks(self.tick)
        }

        fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
            const NS_PER_S: u128 = 1_000_000_000;
            let apart = later.as_ticks().saturating_sub(earlier.as_ticks());
            let ns = u128::from(apart) * u128::from(self.ns) / u128::from(self.ticks);
            let secs = u64::try_from(ns / NS_PER_S).unwrap_or(u64::MAX);
            Duration::new(secs, u32::try_from(ns % NS_PER_S).unwrap())
        }

        fn unix_time_at(&self, _: Instant) -> UnixTime {
            UnixTime::EPOCH
        }
    }

    #[track_caller]
    fn assert_is_read_back(scale: TickScale) {
        let text = scale.to_string();
        assert_eq!(text.parse(), Ok(scale), "{text}");
    }

    #[test]
    fn the_last_ticks_last_as_long_as_those_before() {
        let clock = ManualClock::new(UnixTime::EPOCH);
        clock.advance(Duration::from_nanos(u64::MAX - 1));
        for last in [u64::MAX - 1, u64::MAX] {
            let scale = TickScale::by(&clock);
            assert_eq!((scale.tick, scale.ns_per_tick), (last, 1.0));
            assert_is_read_back(scale);
            assert_eq!(scale.unix_time(last - 7), UnixTime::from_nanos(last - 7));
            clock.advance(Duration::from_nanos(1));
        }
        // Of 2.5 GHz: the last tick alone lasts no nanosecond.
        for tick in [u64::MAX - SPAN_TICKS, u64::MAX - 2, u64::MAX - 1, u64::MAX] {
            let scale = TickScale::by(&Steady { tick, ns: 2, ticks: 5 });
            assert!((scale.ns_per_tick - 0.4).abs() < 1e-12, "{scale}");
            assert_is_read_back(scale);
        }
    }

    #[test]
    fn clocks_that_stand_still_crawl_or_fly_have_scales_that_are_read_back() {
        let clock = |ns, ticks| Steady { tick: 0, ns, ticks };
        let least = TickScale::by(&clock(0, 1));
        assert_is_read_back(least);
        assert_eq!(least.unix_time(SPAN_TICKS - 1), least.time);
        for clock in [clock(1, u64::MAX), clock(1, SPAN_TICKS), clock(3, 1 << 41), clock(1, 3)] {
            assert_is_read_back(TickScale::by(&clock));
        }
        for clock in [clock(125, 3), clock(9_007_199_254_740_993, 1), clock(u64::MAX, 1)] {
            assert_is_read_back(TickScale::by(&clock));
        }
    }

    #[test]
    fn between_any_two_scales_is_one_that_is_read_back() {
        let scale = |tick, ns| TickScale { tick, time: UnixTime::from_nanos(ns), ns_per_tick: 1.0 };
        for (ticks, ns) in [(u64::MAX, 1), (1 << 62, 1), (3_000_000_001, 7), (1, u64::MAX)] {
            let between = scale(0, 0).until(&scale(ticks, ns));
            assert_is_read_back(between);
            let read: TickScale = between.to_string().parse().unwrap();
            assert!(ns - read.unix_time(ticks).as_nanos() <= 1, "{read}");
        }
    }

    #[test]
    fn ticks_are_told_as_the_clock_tells_them() {
        let clock = ManualClock::new(UnixTime::from_nanos(1_700_000_000_000_000_000));
        clock.advance(Duration::from_secs(60));
        let scale: TickScale = TickScale::by(&clock).to_string().parse().unwrap();
        assert_eq!(scale, TickScale::by(&clock));
        for tick in [0, 1, 59_999_999_999, 60_000_000_000, 3_600_000_000_000] {
            assert_eq!(scale.unix_time(tick), clock.unix_time_at(Instant::from_ticks(tick)));
        }
    }

    #[test]
    fn the_systems_scale_is_read_back() {
        assert_is_read_back(TickScale::now());
    }

    /// Both are predictions of one line, and one is rounded 10^11 ticks later.
    #[test]
    fn the_systems_ticks_are_told_as_they_are_converted() {
        let (scale, instant) = (TickScale::now(), Instant::now());
        let (told, converted) = (scale.unix_time(instant.as_ticks()), instant.unix_time());
        let apart = told.as_nanos().abs_diff(converted.as_nanos());
        assert!(apart < 1_000_000, "{told} and {converted}");
    }

    #[test]
    fn between_two_scales_ticks_lead_from_one_to_the_other() {
        let scale = |tick, secs| TickScale {
            tick,
            time: UnixTime::from_secs(secs).unwrap(),
            ns_per_tick: 0.3,
        };
        let (start, end) = (scale(1_000_000, 100), scale(150_000_000_000, 160));
        let between = start.until(&end);
        assert_eq!(between.unix_time(start.tick), start.time);
        assert!(end.time.as_nanos() - between.unix_time(end.tick).as_nanos() <= 1);
        for not_later in [start, scale(999_999, 101), scale(1_000_001, 99)] {
            assert_eq!(start.until(&not_later), start);
        }
    }

    #[test]
    fn times_end_and_never_wrap() {
        let scale = TickScale { tick: 1 << 63, time: UnixTime::from_nanos(9), ns_per_tick: 1e6 };
        assert_eq!(scale.unix_time(0), UnixTime::EPOCH);
        assert_eq!(scale.unix_time(u64::MAX), UnixTime::MAX);
    }

    #[cfg(not(tach_same_arithmetic))]
    mod properties {
        use proptest::num::f64::{NORMAL, POSITIVE, SUBNORMAL};
        use proptest::prelude::*;

        use super::*;

        /// Any tick, one of those whose span would pass the last, and one of the last three.
        fn ticks() -> impl Strategy<Value = u64> {
            let last = (0..2 * SPAN_TICKS).prop_map(|before| u64::MAX - before);
            prop_oneof![any::<u64>(), last, (0..3_u64).prop_map(|before| u64::MAX - before)]
        }

        /// Numbers of all magnitudes.
        fn magnitudes() -> impl Strategy<Value = u64> {
            (any::<u64>(), 0..64_u32).prop_map(|(number, shift)| number >> shift)
        }

        fn scales() -> impl Strategy<Value = TickScale> {
            let rates = POSITIVE | NORMAL | SUBNORMAL;
            (ticks(), magnitudes(), rates).prop_map(|(tick, ns, ns_per_tick)| TickScale {
                tick,
                time: UnixTime::from_nanos(ns),
                ns_per_tick,
            })
        }

        proptest! {
            #[test]
            fn a_steady_clocks_rate_is_one_at_every_tick_and_is_read_back(
                tick in ticks(),
                ns in magnitudes(),
                ticks in magnitudes().prop_map(|ticks| ticks.max(1)),
            ) {
                let scale = TickScale::by(&Steady { tick, ns, ticks });
                let first = TickScale::by(&Steady { tick: 0, ns, ticks });
                prop_assert_eq!(scale, TickScale { tick, ..first });
                prop_assert_eq!(scale.to_string().parse(), Ok(scale));
            }

            #[test]
            fn a_moved_clocks_scale_is_read_back(start: u64, tick in ticks(), set: u64) {
                let clock = ManualClock::new(UnixTime::from_nanos(start));
                clock.advance(Duration::from_nanos(tick));
                clock.set(UnixTime::from_nanos(set));
                let scale = TickScale::by(&clock);
                let time = UnixTime::from_nanos(set);
                prop_assert_eq!(scale, TickScale { tick, time, ns_per_tick: 1.0 });
                prop_assert_eq!(scale.to_string().parse(), Ok(scale));
            }

            #[test]
            fn a_scale_and_one_until_another_are_read_back(a in scales(), b in scales()) {
                for scale in [a, a.until(&b), b.until(&a)] {
                    prop_assert_eq!(scale.to_string().parse(), Ok(scale));
                }
            }
        }
    }
}
