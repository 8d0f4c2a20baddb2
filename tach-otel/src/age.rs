//! How old a time is that a caller gives, and what becomes of it by that.

use core::cell::Cell;
use core::time::Duration;
use std::thread_local;
use std::time::SystemTime;

use tach_core::{Clock, Instant, UnixTime};

use crate::clock_id::ClockId;
use crate::{Incoming, wall_clock};

thread_local! {
    /// What the calling thread read last.
    static LAST: Cell<Option<Reading>> = const { Cell::new(None) };
}

/// The OS's clock, and then tach's.
#[derive(Debug, Clone, Copy)]
struct Reading {
    os: UnixTime,
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
    /// Now by `clock`, and how old `given` is then in ns, as it is treated. What is that much before now is not before
    /// any reading that happened before the time was read.
    #[inline]
    pub(crate) fn age(self, clock: &impl Clock, id: ClockId, given: SystemTime) -> (Instant, u64) {
        match self {
            Self::Keep | Self::Restamp => (clock.monotonic_now().as_unordered(), 0),
            Self::Rebase => age(clock, id, UnixTime::from_system_time(given)),
        }
    }
}

/// Now by `clock`, and the age in ns of what the OS's clock told, which is not too great if that was read just now.
///
/// The OS's clock is read before tach's is. Were the thread held up between the two, a time would come out later
/// than it was, but neither after now nor before the one of an earlier call. So it is with the gain that
/// is allowed for if both were read a moment ago. (Now may be early there: as much is missing from the age.)
///
/// Only of the system's clock is it known that it goes as the OS's does.
#[inline]
fn age(clock: &impl Clock, id: ClockId, given: UnixTime) -> (Instant, u64) {
    if id != ClockId::SYSTEM {
        let (os, now) = read(clock);
        return (now, ns_between(given, os).unwrap_or(0));
    }
    if let Some(last) = LAST.get().filter(|last| last.is_steady) {
        let now = clock.early_now();
        let elapsed_ns = ns(clock.duration_between(last.instant, now));
        let since_ns = ns_between(last.os, given);
        if let Some(age_ns) = since_ns.and_then(|since_ns| young_age_ns(elapsed_ns, since_ns)) {
            return (now, age_ns);
        }
    }
    age_by_reading(clock, given)
}

#[inline(never)]
fn age_by_reading(clock: &impl Clock, given: UnixTime) -> (Instant, u64) {
    let (os, instant) = read(clock);
    let is_steady = LAST.get().is_some_and(|last| {
        let elapsed_ns = ns(clock.duration_between(last.instant, instant));
        ns_between(last.os, os).is_some_and(|since_ns| is_steady(elapsed_ns, since_ns))
    });
    LAST.set(Some(Reading { os, instant, is_steady }));
    (instant, ns_between(given, os).unwrap_or(0))
}

fn read(clock: &impl Clock) -> (UnixTime, Instant) {
    let os = wall_clock::now();
    let now = clock.monotonic_now().as_unordered();
    (UnixTime::from_system_time(os), now)
}

#[inline]
fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[inline]
fn ns_between(earlier: UnixTime, later: UnixTime) -> Option<u64> {
    later.as_nanos().checked_sub(earlier.as_nanos())
}

/// Whether what has elapsed by tach's clock and since by the OS's are as good as the same.
fn is_steady(elapsed_ns: u64, since_ns: u64) -> bool {
    let allowed_ns = (elapsed_ns >> GAIN) + HELD_UP_NS + GRAIN_NS;
    elapsed_ns <= COMPARED_NS && elapsed_ns.abs_diff(since_ns) <= allowed_ns
}

/// The age, or a little less, of a time that is `since_ns` after a reading of the OS's clock, `elapsed_ns` after that
/// by another; `None` if that is too long ago, the time is not near to now, or it is as young as what one clock may
/// have gained.
#[inline]
fn young_age_ns(elapsed_ns: u64, since_ns: u64) -> Option<u64> {
    if elapsed_ns > SERVES_NS || elapsed_ns.saturating_sub(since_ns) > NEAR_NS {
        return None;
    }
    let at_least_ns = elapsed_ns.saturating_sub((elapsed_ns >> GAIN) + GRAIN_NS);
    at_least_ns.checked_sub(since_ns)
}

/// What was `age_ns` before `now`, but not before the epoch: OTLP has no such times.
#[inline]
pub(crate) fn before(now: UnixTime, age_ns: u64) -> SystemTime {
    UnixTime::from_nanos(now.as_nanos().saturating_sub(age_ns)).to_system_time()
}

/// The age in ns of `other`, where the one of `given` is `age_ns`: not below zero.
pub(crate) fn age_beside_ns(given: UnixTime, age_ns: u64, other: UnixTime) -> u64 {
    let (given_ns, other_ns) = (given.as_nanos(), other.as_nanos());
    if other_ns <= given_ns {
        age_ns.saturating_add(given_ns - other_ns)
    } else {
        age_ns.saturating_sub(other_ns - given_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use tach_core::ManualClock;

    const NS_PER_S: u64 = 1_000_000_000;

    fn at(seconds: u64) -> UnixTime {
        UnixTime::from_nanos(seconds * NS_PER_S)
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
            assert_eq!(young_age_ns(elapsed, since), expected, "{elapsed}, {since}");
        }
    }

    /// Whatever one clock gains on the other by slews, what was read some time before does not come out older than
    /// it is, nor much younger.
    #[test]
    fn no_age_is_too_great_while_a_clock_is_slewed() {
        for gain_ppm in [-1_000, -100, 0, 100, 1_000] {
            for read_ns in (0..SERVES_NS).step_by(7) {
                let slewed = i64::try_from(read_ns).unwrap() * (1_000_000 + gain_ppm) / 1_000_000;
                let since_ns = u64::try_from(slewed).unwrap();
                for age_ns in [0, 40, 1_500] {
                    let what = format!("{gain_ppm} ppm, {read_ns}, {age_ns}");
                    let less_ns = 64 + GRAIN_NS;
                    if let Some(age) = young_age_ns(read_ns + age_ns, since_ns) {
                        assert!(age <= age_ns && age + less_ns >= age_ns, "{what}");
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
            (20_000, 20_089 + GRAIN_NS, true),
            (20_000, 20_090 + GRAIN_NS, false),
            (2_000, 1_947 - GRAIN_NS, true),
            (2_000, 1_946 - GRAIN_NS, false),
            (20_000, 20_000 - 20_000 / 12, false),
            (20_000, 20_000 + 20_000 / 12, false),
            (COMPARED_NS, COMPARED_NS, true),
            (COMPARED_NS + 1, COMPARED_NS + 1, false),
        ] {
            assert_eq!(is_steady(elapsed, since), expected, "{elapsed}, {since}");
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
        let after_os = |ns: i64| {
            let os_ns = LAST.get().unwrap().os.as_nanos();
            UnixTime::from_nanos(os_ns.saturating_add_signed(ns))
        };
        let nearly = i64::try_from(SERVES_NS - 1_500).unwrap();

        read(ClockId::new(), UnixTime::EPOCH);
        assert!(LAST.get().is_none(), "another clock's");
        read(ClockId::SYSTEM, UnixTime::EPOCH);
        let first = after_os(0);
        assert!(!LAST.get().unwrap().is_steady, "there is none before it");
        assert!(!is_read(first));
        assert_eq!((read(ClockId::SYSTEM, first), after_os(0)), ((clock.now(), 0), first));
        clock.advance(Duration::from_nanos(SERVES_NS));
        assert_eq!(read(ClockId::SYSTEM, after_os(nearly)), (clock.now(), 1_461 - GRAIN_NS));
        assert!(thread::scope(|scope| scope.spawn(|| LAST.get().is_none()).join()).unwrap());

        clock.advance(Duration::from_nanos(1));
        assert!(is_read(after_os(nearly)), "it is too long ago");
        assert!(is_read(after_os(-1_000)), "it was read before");
        assert!(is_read(after_os(1_000)), "it is ahead");
    }

    #[test]
    fn what_is_older_than_the_epoch_is_of_the_epoch() {
        for (age_ns, expected, why) in [
            (0, 6000, "taken now"),
            (10 * NS_PER_S, 5990, "ten seconds old"),
            (6000 * NS_PER_S, 0, "as old as the epoch"),
            (6001 * NS_PER_S, 0, "older than the epoch"),
            (u64::MAX, 0, "older than any time"),
        ] {
            let time = before(at(6000), age_ns);
            assert_eq!(time, at(expected).to_system_time(), "{why}");
        }
    }

    #[test]
    fn times_that_are_given_together_keep_their_distance() {
        let beside = |other| age_beside_ns(at(5000), 10 * NS_PER_S, at(other)) / NS_PER_S;
        assert_eq!([4990, 5000, 5004, 5010, 5011].map(beside), [20, 10, 6, 0, 0]);
        assert_eq!(age_beside_ns(at(5000), u64::MAX, at(0)), u64::MAX);
    }
}
