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

/// The OS's clock, and then another.
#[derive(Debug, Clone, Copy)]
struct Reading {
    os: SystemTime,
    instant: Instant,
    clock: ClockId,
}

/// How long a reading serves.
const SERVES_NS: u64 = 20_000;

/// As a shift: what one clock may gain on the other, almost 2000 ppm. An OS slews its own by 500 at most, and so
/// does tach.
const GAIN: u32 = 9;

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
#[inline]
fn age(clock: &impl Clock, id: ClockId, given: SystemTime) -> (Instant, Duration) {
    if let Some(last) = LAST.get().filter(|last| last.clock == id) {
        let now = clock.early_now();
        let elapsed = clock.duration_between(last.instant, now);
        let since = given.duration_since(last.os).ok();
        if let Some(age) = since.and_then(|since| young_age(elapsed, since)) {
            return (now, age);
        }
    }
    age_by_reading(clock, id, given)
}

#[inline(never)]
fn age_by_reading(clock: &impl Clock, id: ClockId, given: SystemTime) -> (Instant, Duration) {
    let os = wall_clock::now();
    let instant = clock.monotonic_now().as_unordered();
    LAST.set(Some(Reading { os, instant, clock: id }));
    (instant, os.duration_since(given).unwrap_or_default())
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
    let at_least_ns = elapsed_ns.saturating_sub((elapsed_ns >> GAIN) + 1);
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
        for (elapsed, since, expected) in [
            (0, 0, Some(0)),
            (0, 1, None),
            (2_000, 0, Some(1_996)),
            (2_001, 0, None),
            (10_000, 9_000, Some(980)),
            (10_000, 9_980, Some(0)),
            (10_000, 9_981, None),
            (SERVES_NS, SERVES_NS - 100, Some(60)),
            (SERVES_NS, 0, None),
            (SERVES_NS, u64::MAX, None),
            (SERVES_NS + 1, SERVES_NS - 1_000, None),
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
                for age_ns in [0, 40, 1_000] {
                    let what = format!("{gain_ppm} ppm, {read_ns}, {age_ns}");
                    if let Some(age) = young_age(ns(read_ns + age_ns), since) {
                        assert!(age <= ns(age_ns), "{what}");
                        assert!(age + ns(65) >= ns(age_ns), "{what}");
                    } else {
                        assert!(read_ns + age_ns > SERVES_NS || age_ns < 65, "{what}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_reading_serves_its_thread_and_its_clock_for_a_while() {
        let clock = ManualClock::new(UnixTime::EPOCH);
        let id = ClockId::new();
        // The clocks are read, so the OS's tells a later time than it did.
        let reads = |id, given| {
            let before = LAST.get();
            let age = age(&clock, id, given).1;
            let os = LAST.get().unwrap().os;
            assert!(before.is_none_or(|before| before.os < os));
            assert_eq!(age, os.duration_since(given).unwrap_or_default());
            os
        };

        let os = reads(id, UNIX_EPOCH);
        assert_eq!(age(&clock, id, os), (clock.now(), Duration::ZERO));
        clock.advance(ns(SERVES_NS));
        assert_eq!(age(&clock, id, os + ns(SERVES_NS - 100)), (clock.now(), ns(60)));

        let os = reads(id, os);
        thread::scope(|scope| scope.spawn(|| reads(id, os)).join()).unwrap();
        reads(ClockId::new(), os);
        let os = reads(id, os);
        reads(id, os + ns(1));
        let os = reads(id, os - ns(1));
        clock.advance(ns(SERVES_NS + 1));
        reads(id, os + ns(SERVES_NS - 1_000));
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
