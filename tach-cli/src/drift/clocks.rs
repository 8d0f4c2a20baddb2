//! The clocks, each compared with the OS clock that it follows.

use core::time::Duration;
use std::time::{Instant as StdInstant, SystemTime, UNIX_EPOCH};

use tach_core::{Instant, MonotonicInstant};

use crate::measure::{Bracket, OsMonotonic, as_f64, nanos, os_realtime_ns, signed_difference};

/// The number of brackets at the start. The error of the narrowest is part of all later errors.
const STARTS: u32 = 2000;
/// The number of brackets for a comparison. The narrowest counts.
const ATTEMPTS: u32 = 12;
/// The time in which the plain clock measures its rate, as other crates do.
const CALIBRATION: Duration = Duration::from_millis(10);

pub(crate) struct Clock {
    pub(super) name: &'static str,
    pub(super) compare: Box<dyn Fn() -> Comparison>,
}

/// The error of a clock at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Comparison {
    /// The clock minus the OS clock.
    pub(super) error_ns: f64,
    /// The width of the bracket. The error is known to half of it.
    pub(super) width_ns: u64,
}

/// Returns tach's clocks: of elapsed time and of Unix time.
pub(crate) fn ours() -> Vec<Clock> {
    let elapsed = elapsing("tach", OsMonotonic::new(), MonotonicInstant::now, |a, b| nanos(b - a));
    [Some(elapsed), unix_time(SystemTime::now())].into_iter().flatten().collect()
}

/// Returns tach's Unix time, unless the OS's clock shows a time before 1970, which tach can't
/// represent.
fn unix_time(os: SystemTime) -> Option<Clock> {
    let compare = || {
        let now = Bracket::narrowest(ATTEMPTS, os_realtime_ns, MonotonicInstant::now);
        let error_ns = signed_difference(now.reading.unix_time().as_nanos(), now.os_ns);
        Comparison { error_ns, width_ns: now.width_ns }
    };
    (os >= UNIX_EPOCH).then(|| Clock { name: "tach Unix time", compare: Box::new(compare) })
}

/// Returns all clocks, and the frequency in Hz that the last one, the plain one, has measured.
pub(super) fn all() -> (Vec<Clock>, f64) {
    let os = OsMonotonic::new();
    let mut clocks = ours();
    clocks.push(elapsing("quanta", os, quanta::Instant::now, |a, b| nanos(b - a)));
    clocks.push(elapsing("minstant", os, minstant::Instant::now, |a, b| nanos(b - a)));
    let (anchored, hz) = anchored(os);
    clocks.push(anchored);
    (clocks, hz)
}

/// A clock that is compared by the time that has elapsed since its first reading.
fn elapsing<T: Copy + 'static>(
    name: &'static str,
    os: OsMonotonic,
    read: fn() -> T,
    elapsed_ns: impl Fn(T, T) -> u64 + 'static,
) -> Clock {
    let start = Bracket::narrowest(STARTS, || os.ns(), read);
    let compare = move || {
        let now = Bracket::narrowest(ATTEMPTS, || os.ns(), read);
        let os_elapsed = now.os_ns.saturating_sub(start.os_ns);
        let error_ns = signed_difference(elapsed_ns(start.reading, now.reading), os_elapsed);
        Comparison { error_ns, width_ns: now.width_ns }
    };
    Clock { name, compare: Box::new(compare) }
}

/// The plain clock: the counter's ticks at a rate that is measured once. Returns the frequency too.
fn anchored(os: OsMonotonic) -> (Clock, f64) {
    let read = || Instant::now().as_ticks();
    let first = Bracket::narrowest(STARTS, || os.ns(), read);
    let begin = StdInstant::now();
    while begin.elapsed() < CALIBRATION {
        core::hint::spin_loop();
    }
    let last = Bracket::narrowest(STARTS, || os.ns(), read);
    let ticks = as_f64(last.reading.saturating_sub(first.reading)).max(1.0);
    let ns_per_tick = as_f64(last.os_ns - first.os_ns) / ticks;
    // A run of an hour has 10^13 ticks, far below 2^53.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and a run is shorter than 584 years"
    )]
    let elapsed_ns = move |start: u64, now: u64| {
        (as_f64(now.saturating_sub(start)) * ns_per_tick).round() as u64
    };
    (elapsing("anchored", os, read, elapsed_ns), 1e9 / ns_per_tick)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that the clock with this rate is ahead, or not.
    fn assert_ahead(elapsed_ns: fn(StdInstant, StdInstant) -> u64, is_ahead: bool) {
        let clock = elapsing("test", OsMonotonic::new(), StdInstant::now, elapsed_ns);
        std::thread::sleep(Duration::from_millis(2));
        let error_ns = (clock.compare)().error_ns;
        // The clock is off by half of the elapsed time, which is two milliseconds or more.
        assert!(if is_ahead { error_ns > 9e5 } else { error_ns < -9e5 }, "{error_ns}");
    }

    #[test]
    fn a_time_before_1970_is_not_compared() {
        let names = |time| unix_time(time).map(|clock| clock.name);
        assert_eq!(names(SystemTime::now()), Some("tach Unix time"));
        assert_eq!(names(UNIX_EPOCH - Duration::from_nanos(1)), None);
    }

    #[test]
    fn an_error_is_positive_if_the_clock_is_ahead() {
        assert_ahead(|start, now| nanos(now - start) * 2, true);
        assert_ahead(|start, now| nanos(now - start) / 2, false);
    }
}
