//! What ticks mean, written down beside them.

mod parse;

use core::fmt;
use core::time::Duration;

pub use self::parse::TickScaleError;
use crate::{Clock, Instant, SystemClock, UnixTime};

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
/// `tick=91496088077416 time=2026-11-21T09:30:00.123456789Z ns_per_tick=0.399936810601`.
///
/// # Guarantees
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
    /// assert_eq!(scale, "tick=0 time=1970-01-01T00:00:00.000000000Z ns_per_tick=1.000000000000");
    /// ```
    #[must_use]
    pub fn by(clock: &(impl Clock + ?Sized)) -> Self {
        let stamp = clock.stamp();
        let tick = stamp.instant().as_ticks();
        let later = tick.saturating_add(SPAN_TICKS);
        let span = clock.duration_between(stamp.instant(), Instant::from_ticks(later));
        Self { tick, time: stamp.unix_time(), ns_per_tick: ns_per_tick(span, later - tick) }
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

#[expect(clippy::cast_precision_loss, reason = "exact for a hundred days")]
fn ns_per_tick(duration: Duration, ticks: u64) -> f64 {
    duration.as_nanos() as f64 / ticks.max(1) as f64
}

impl fmt::Display for TickScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tick, time, ns_per_tick } = self;
        write!(f, "tick={tick} time={time} ns_per_tick={ns_per_tick:.12}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ManualClock;

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
    fn the_text_of_the_systems_scale_is_as_good_as_the_scale() {
        let scale = TickScale::now();
        let read: TickScale = scale.to_string().parse().unwrap();
        assert_eq!((read.tick, read.time), (scale.tick, scale.time));
        assert!((read.ns_per_tick / scale.ns_per_tick - 1.0).abs() < 1e-10);
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
}
