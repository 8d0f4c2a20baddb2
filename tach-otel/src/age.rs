//! How old a time is that a caller gives, and what becomes of it by that.

use core::cell::Cell;
use core::time::Duration;
use std::thread_local;
use std::time::{SystemTime, UNIX_EPOCH};

use tach_core::{Clock, Instant};

use crate::clock_id::ClockId;
use crate::{Incoming, wall_clock};

thread_local! {
    /// What the calling thread read last.
    static LAST: Cell<Option<Reading>> = const { Cell::new(None) };
}

/// The OS's clock, and then tach's.
#[derive(Debug, Clone, Copy)]
struct Reading {
    os: SystemTime,
    instant: Instant,
    /// The one before shows that neither clock is being slewed by much.
    is_steady: bool,
}

/// How long a reading serves.
const SERVES_NS: u64 = 20_000;

/// How long after another a reading shows what the clocks gain on each other now.
const COMPARED_NS: u64 = 100_000;

/// As a shift: what one clock may gain on the other, almost 2000 ppm. Most of the time both are slewed by less than
/// 500; what makes up for a step goes faster.
const GAIN: u32 = 9;

/// In what steps the OS's clock goes.
const GRAIN_NS: u64 = if cfg!(windows) {
    100
} else if cfg!(target_vendor = "apple") {
    1_000
} else {
    1
};

/// What the thread may be held up between two reads without looking like a slew.
const HELD_UP_NS: u64 = 50;

/// So near to the OS clock's now, a time shows that it was not set since the reading. Nobody sets a clock by so
/// little, and what has just been read is no older.
const NEAR_NS: u64 = 2_000;

impl Incoming {
    /// Now by `clock`, and how old `given` is then, as it is treated. What is that much before now is not before any
    /// reading that happened before the time was read.
    #[inline]
    pub(crate) fn age(
        self,
        clock: &impl Clock,
        id: ClockId,
        given: SystemTime,
    ) -> (Instant, Duration) {
        match self {
            Self::Keep | Self::Restamp => (clock.monotonic_now().as_unordered(), Duration::ZERO),
            Self::Rebase => age(clock, id, given),
        }
    }
}

/// Now by `clock`, and the age of what the OS's clock told, which is not too great if that was read just now.
///
/// The OS's clock is read before tach's is. Were the thread held up between the two, a time would come out later
/// than it was, but neither after now nor before the one of an earlier call. So it is with the gain that
/// is allowed for if both were read a moment ago. (Now may be early there: as much is missing from the age.)
///
/// Only of the system's clock is it known that it goes as the OS's does.
#[inline]
fn age(clock: &impl Clock, id: ClockId, given: SystemTime) -> (Instant, Duration) {
    if id != ClockId::SYSTEM {
        let (os, now) = read(clock);
        return (now, os.duration_since(given).unwrap_or_default());
    }
    if let Some(last) = LAST.get().filter(|last| last.is_steady) {
        let now = clock.early_now();
        let elapsed = clock.duration_between(last.instant, now);
        let since = given.duration_since(last.os).ok();
        if let Some(age) = since.and_then(|since| young_age(elapsed, since)) {
            return (now, age);
        }
    }
    age_by_reading(clock, given)
}

#[inline(never)]
fn age_by_reading(clock: &impl Clock, given: SystemTime) -> (Instant, Duration) {
    let (os, instant) = read(clock);
    let is_steady = LAST.get().is_some_and(|last| {
        let elapsed = clock.duration_between(last.instant, instant);
        os.duration_since(last.os).is_ok_and(|since| is_steady(elapsed, since))
    });
    LAST.set(Some(Reading { os, instant, is_steady }));
    (instant, os.duration_since(given).unwrap_or_default())
}

fn read(clock: &impl Clock) -> (SystemTime, Instant) {
    let os = wall_clock::now();
    (os, clock.monotonic_now().as_unordered())
}

/// Whether what has elapsed by tach's clock and `since` by the OS's are as good as the same.
fn is_steady(elapsed: Duration, since: Duration) -> bool {
    let allowed = Duration::from_nanos((COMPARED_NS >> GAIN) + HELD_UP_NS + GRAIN_NS);
    elapsed <= Duration::from_nanos(COMPARED_NS) && elapsed.abs_diff(since) <= allowed
}

/// The age, or a little less, of a time that is `since` a reading of the OS's clock, `elapsed` after that by
/// another; `None` if that is too long ago, the time is not near to now, or it is as young as what one clock may
/// have gained.
#[inline]
fn young_age(elapsed: Duration, since: Duration) -> Option<Duration> {
    let [elapsed_ns, since_ns] = [elapsed, since].map(|it| u64::try_from(it.as_nanos()).ok());
    let (elapsed_ns, since_ns) = (elapsed_ns.filter(|ns| *ns <= SERVES_NS)?, since_ns?);
    if elapsed_ns.saturating_sub(since_ns) > NEAR_NS {
        return None;
    }
    let at_least_ns = elapsed_ns.saturating_sub((elapsed_ns >> GAIN) + GRAIN_NS);
    at_least_ns.checked_sub(since_ns).map(Duration::from_nanos)
}

/// What was `age` before `now`, but not before `earliest`.
#[inline]
pub(crate) fn settle(now: SystemTime, age: Duration, earliest: SystemTime) -> SystemTime {
    now.checked_sub(age).unwrap_or(UNIX_EPOCH).max(earliest)
}

/// The age of `other`, where the one of `given` is `age`: not below zero.
pub(crate) fn age_beside(given: SystemTime, age: Duration, other: SystemTime) -> Duration {
    match given.duration_since(other) {
        Ok(older) => age.saturating_add(older),
        Err(younger) => age.saturating_sub(younger.duration()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use tach_core::{ManualClock, UnixTime};

    const fn ns(ns: u64) -> Duration {
        Duration::from_nanos(ns)
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn the_age_of_a_time_is_known_by_a_reading_if_it_is_near_to_now() {
        let grain = GRAIN_NS;
        for (elapsed, since, expected) in [
            (0, 0, Some(0)),
            (0, 1, None),
            (2_000, 0, Some(1_997 - grain)),
            (2_001, 0, None),
            (10_000, 8_500, Some(1_481 - grain)),
            (10_000, 9_981 - grain, Some(0)),
            (10_000, 9_982 - grain, None),
            (SERVES_NS, SERVES_NS - 1_500, Some(1_461 - grain)),
            (SERVES_NS, 0, None),
            (SERVES_NS, u64::MAX, None),
            (SERVES_NS + 1, SERVES_NS - 1_500, None),
            (u64::MAX, u64::MAX, None),
        ] {
            assert_eq!(young_age(ns(elapsed), ns(since)), expected.map(ns), "{elapsed}, {since}");
        }
        assert_eq!(young_age(Duration::MAX, Duration::MAX), None);
        assert_eq!(young_age(Duration::ZERO, Duration::MAX), None);
    }

    /// Whatever one clock gains on the other by slews, what was read some time before does not come out older than
    /// it is, nor much younger.
    #[test]
    fn no_age_is_too_great_while_a_clock_is_slewed() {
        for gain_ppm in [-1_000, -100, 0, 100, 1_000] {
            for read_ns in (0..SERVES_NS).step_by(7) {
                let slewed = i64::try_from(read_ns).unwrap() * (1_000_000 + gain_ppm) / 1_000_000;
                let since = ns(u64::try_from(slewed).unwrap());
                for age_ns in [0, 40, 1_500] {
                    let what = format!("{gain_ppm} ppm, {read_ns}, {age_ns}");
                    let less_ns = 64 + GRAIN_NS;
                    if let Some(age) = young_age(ns(read_ns + age_ns), since) {
                        assert!(age <= ns(age_ns), "{what}");
                        assert!(age + ns(less_ns) >= ns(age_ns), "{what}");
                    } else {
                        assert!(read_ns + age_ns > SERVES_NS || age_ns < less_ns, "{what}");
                    }
                }
            }
        }
    }

    /// chrony makes up for an offset by up to 83,333 ppm.
    #[test]
    fn a_clock_that_is_slewed_fast_is_not_steady() {
        for (elapsed, since, expected) in [
            (20_000, 20_000, true),
            (20_000, 20_060, true),
            (20_000, 19_940, true),
            (20_000, 20_000 - 20_000 / 12, false),
            (20_000, 20_000 + 20_000 / 12, false),
            (COMPARED_NS, COMPARED_NS, true),
            (COMPARED_NS + 1, COMPARED_NS + 1, false),
        ] {
            assert_eq!(is_steady(ns(elapsed), ns(since)), expected, "{elapsed}, {since}");
        }
    }

    #[test]
    fn a_reading_serves_its_thread_and_the_system_s_clock_for_a_while() {
        let clock = ManualClock::new(UnixTime::EPOCH);
        let read = |id, given| age(&clock, id, given);
        let is_read = |given| {
            let last = LAST.take();
            LAST.set(last.map(|last| Reading { is_steady: true, ..last }));
            thread::sleep(Duration::from_millis(1));
            let _age = read(ClockId::SYSTEM, given);
            // A reading on a clock that stands still shows no steadiness.
            !LAST.get().unwrap().is_steady
        };
        let os = || LAST.get().unwrap().os;

        read(ClockId::new(), UNIX_EPOCH);
        assert!(LAST.get().is_none(), "another clock's");
        read(ClockId::SYSTEM, UNIX_EPOCH);
        let first = os();
        assert!(!LAST.get().unwrap().is_steady, "there is none before it");
        assert!(!is_read(first));
        assert_eq!((read(ClockId::SYSTEM, first), os()), ((clock.now(), Duration::ZERO), first));
        clock.advance(ns(SERVES_NS));
        let age = ns(1_461 - GRAIN_NS);
        assert_eq!(read(ClockId::SYSTEM, first + ns(SERVES_NS - 1_500)), (clock.now(), age));
        assert!(thread::scope(|scope| scope.spawn(|| LAST.get().is_none()).join()).unwrap());

        clock.advance(ns(1));
        assert!(is_read(first + ns(SERVES_NS - 1_500)), "it is too long ago");
        assert!(is_read(os() - Duration::from_micros(1)), "it was read before");
        assert!(is_read(os() + Duration::from_micros(1)), "it is ahead");
    }

    #[test]
    fn a_time_is_settled_by_its_age() {
        for (age, earliest, expected, why) in [
            (0, 5980, 6000, "taken now"),
            (10, 5980, 5990, "ten seconds old"),
            (20, 5980, 5980, "as old as the start"),
            (21, 5980, 5980, "older than the start"),
            (10, 0, 5990, "no start to compare with"),
            (0, 6001, 6001, "the start is ahead"),
            (u64::MAX, 5980, 5980, "far older than the start"),
        ] {
            let settled = settle(at(6000), Duration::from_secs(age), at(earliest));
            assert_eq!(settled, at(expected), "{why}");
        }
    }

    #[test]
    fn times_that_are_given_together_keep_their_distance() {
        let beside = |other| age_beside(at(5000), Duration::from_secs(10), at(other)).as_secs();
        assert_eq!([4990, 5000, 5004, 5010, 5011].map(beside), [20, 10, 6, 0, 0]);
        let far = age_beside(at(5000), Duration::MAX, at(0));
        assert_eq!(far, Duration::MAX);
    }
}
