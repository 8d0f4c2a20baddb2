//! The meaning of logged ticks.

mod parse;

use core::fmt;
use core::time::Duration;

use tach_core::{Clock, Instant, UnixTime};

/// The ticks over which the rate is measured: six minutes at 3 GHz, so that rounding to a
/// nanosecond is 3 millionths of a ppm.
const SPAN_TICKS: u64 = 1 << 40;

/// The Unix time of one tick, and the duration of a tick at that moment.
///
/// A program with the timer [`Ticks`](crate::Ticks) saves the conversion and keeps the counter's
/// precision. It logs a [scale](crate::Ticks::scale) at its start and now and then. A reader of the
/// log converts each tick with the scales before and after it, see [`until`](Self::until). With
/// only the scale before it, the conversion is as exact as the rate was known then: to about a
/// hundred ppm when the process has just started, and far better after minutes. The text of a scale
/// is `tick=91496088077416 time=2026-11-21T09:30:00.123456789Z ns_per_tick=0.3999368106014762`.
///
/// # Guarantees
///
/// The text of a scale parses back to an equal scale.
///
/// A scale keeps the order of ticks. *Not* promised: that it converts a tick as
/// [`Instant::unix_time`] did, since it does not know later corrections of the OS clock.
///
/// # Examples
///
/// ```
/// use tach_core::Instant;
/// use tach_tracing::{TickScale, Ticks};
///
/// let line = Ticks.scale().to_string();
/// let tick = Instant::now().as_ticks();
///
/// // Later, elsewhere:
/// let scale: TickScale = line.parse()?;
/// println!("{}", scale.unix_time(tick));
/// # Ok::<(), tach_tracing::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TickScale {
    tick: u64,
    time: UnixTime,
    ns_per_tick: f64,
}

impl TickScale {
    /// Takes the scale of `clock` at this moment.
    pub(crate) fn now(clock: &impl Clock) -> Self {
        let stamp = clock.anchor();
        let tick = stamp.instant().as_ticks();
        // Near the last tick too few ticks lie ahead: the span ends at the last one.
        let start = tick.min(u64::MAX - SPAN_TICKS);
        let end = Instant::from_ticks(start + SPAN_TICKS);
        let span = clock.duration_between(Instant::from_ticks(start), end);
        Self { tick, time: stamp.unix_time(), ns_per_tick: ns_per_tick(span, SPAN_TICKS) }
    }

    /// Returns the scale for the ticks between `self` and `later`, so that times don't jump from
    /// one scale to the next.
    ///
    /// It converts the tick of `later` to the time of `later`, or to a nanosecond less. If `later`
    /// has no later tick, or no later time since the OS clock was stepped back, returns `self`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::UnixTime;
    /// use tach_tracing::TickScale;
    ///
    /// let start: TickScale = "tick=1000 time=1970-01-01T00:00:01Z ns_per_tick=0.4".parse()?;
    /// let end: TickScale = "tick=3000 time=1970-01-01T00:00:01.000001Z ns_per_tick=0.5".parse()?;
    /// assert_eq!(start.until(&end).unix_time(2000), UnixTime::from_nanos(1_000_000_500));
    /// # Ok::<(), tach_tracing::Error>(())
    /// ```
    #[must_use]
    pub fn until(&self, later: &Self) -> Self {
        if later.tick <= self.tick || later.time <= self.time {
            return *self;
        }
        let apart = later.time - self.time;
        Self { ns_per_tick: ns_per_tick(apart, later.tick - self.tick), ..*self }
    }

    /// Converts `tick` to Unix time at this scale's rate, clamped to the range of [`UnixTime`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::UnixTime;
    /// use tach_tracing::TickScale;
    ///
    /// let scale = "tick=1000 time=1970-01-01T00:00:01Z ns_per_tick=0.5";
    /// let scale: TickScale = scale.parse()?;
    /// assert_eq!(scale.unix_time(1200), UnixTime::from_nanos(1_000_000_100));
    /// # Ok::<(), tach_tracing::Error>(())
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
/// A duration of 0 counts as a nanosecond: the rate in the text must be above 0.
#[expect(clippy::cast_precision_loss, reason = "exact for a hundred days")]
fn ns_per_tick(duration: Duration, ticks: u64) -> f64 {
    duration.as_nanos().max(1) as f64 / ticks as f64
}

impl fmt::Display for TickScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tick, time, ns_per_tick } = self;
        // Without a precision a float prints as many digits as parsing needs, and no exponent.
        write!(f, "tick={tick} time={time} ns_per_tick={ns_per_tick}")
    }
}

#[cfg(test)]
mod tests {
    use tach_core::{ManualClock, MonotonicInstant, SystemClock};

    use super::*;

    /// A clock that stands at `tick`, and whose every `ticks` ticks last `ns`.
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
            let scale = TickScale::now(&clock);
            assert_eq!((scale.tick, scale.ns_per_tick), (last, 1.0));
            assert_is_read_back(scale);
            assert_eq!(scale.unix_time(last - 7), UnixTime::from_nanos(last - 7));
            clock.advance(Duration::from_nanos(1));
        }
        // At 2.5 GHz the last tick alone lasts less than a nanosecond.
        for tick in [u64::MAX - SPAN_TICKS, u64::MAX - 2, u64::MAX - 1, u64::MAX] {
            let scale = TickScale::now(&Steady { tick, ns: 2, ticks: 5 });
            assert!((scale.ns_per_tick - 0.4).abs() < 1e-12, "{scale}");
            assert_is_read_back(scale);
        }
    }

    #[test]
    fn clocks_that_stand_still_crawl_or_fly_have_scales_that_are_read_back() {
        let clock = |ns, ticks| Steady { tick: 0, ns, ticks };
        let least = TickScale::now(&clock(0, 1));
        assert_is_read_back(least);
        assert_eq!(least.unix_time(SPAN_TICKS - 1), least.time);
        for clock in [clock(1, u64::MAX), clock(1, SPAN_TICKS), clock(3, 1 << 41), clock(1, 3)] {
            assert_is_read_back(TickScale::now(&clock));
        }
        for clock in [clock(125, 3), clock(9_007_199_254_740_993, 1), clock(u64::MAX, 1)] {
            assert_is_read_back(TickScale::now(&clock));
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
    fn a_scale_converts_ticks_as_the_clock_does() {
        let clock = ManualClock::new(UnixTime::from_nanos(1_700_000_000_000_000_000));
        clock.advance(Duration::from_secs(60));
        let scale: TickScale = TickScale::now(&clock).to_string().parse().unwrap();
        assert_eq!(scale, TickScale::now(&clock));
        for tick in [0, 1, 59_999_999_999, 60_000_000_000, 3_600_000_000_000] {
            assert_eq!(scale.unix_time(tick), clock.unix_time_at(Instant::from_ticks(tick)));
        }
    }

    #[test]
    fn the_systems_scale_is_read_back() {
        assert_is_read_back(TickScale::now(&SystemClock));
    }

    /// Both predict from one line, and one rounds 10^11 ticks later.
    #[test]
    fn a_scale_converts_the_systems_ticks_as_the_system_does() {
        let (scale, instant) = (TickScale::now(&SystemClock), Instant::now());
        let (scaled, converted) = (scale.unix_time(instant.as_ticks()), instant.unix_time());
        let apart = scaled.as_nanos().abs_diff(converted.as_nanos());
        assert!(apart < 1_000_000, "{scaled} and {converted}");
    }

    #[test]
    fn between_two_scales_times_lead_from_one_to_the_other() {
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

    mod properties {
        use proptest::num::f64::{NORMAL, POSITIVE, SUBNORMAL};
        use proptest::prelude::*;

        use super::*;

        /// Any tick, one whose span would pass the last tick, or one of the last three.
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
                let scale = TickScale::now(&Steady { tick, ns, ticks });
                let first = TickScale::now(&Steady { tick: 0, ns, ticks });
                prop_assert_eq!(scale, TickScale { tick, ..first });
                prop_assert_eq!(scale.to_string().parse(), Ok(scale));
            }

            #[test]
            fn a_moved_clocks_scale_is_read_back(start: u64, tick in ticks(), set: u64) {
                let clock = ManualClock::new(UnixTime::from_nanos(start));
                clock.advance(Duration::from_nanos(tick));
                clock.set(UnixTime::from_nanos(set));
                let scale = TickScale::now(&clock);
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
