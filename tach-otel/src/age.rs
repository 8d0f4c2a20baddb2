//! The age of a time that a caller gives, and the time that has this age on tach's timeline.

use std::time::SystemTime;

use tach_core::{Clock, Instant, UnixTime, adapter};

use crate::Incoming;

impl Incoming {
    /// Reads `clock`, and returns that instant with the age of `given` in nanoseconds at it.
    ///
    /// The age is 0 if `given` is ahead of the wall clock, or if times are kept or restamped.
    ///
    /// The wall clock is read before `clock`. If the thread is held up between the two reads, the
    /// time comes out later than it was, but neither after now nor before the time of an earlier
    /// call.
    #[inline]
    pub(crate) fn age(self, clock: &impl Clock, given: SystemTime) -> (Instant, u64) {
        let wall = (self == Self::Rebase).then(adapter::wall_clock);
        let now = clock.monotonic_now().into();
        let age_ns = wall.map_or(0, |wall| ns_between(UnixTime::from_system_time(given), wall));
        (now, age_ns)
    }
}

fn ns_between(earlier: UnixTime, later: UnixTime) -> u64 {
    later.as_nanos().saturating_sub(earlier.as_nanos())
}

/// Returns the time `age_ns` before `now`, or the epoch if that is later: OTLP has no earlier
/// times.
#[inline]
pub(crate) fn before(now: UnixTime, age_ns: u64) -> SystemTime {
    UnixTime::from_nanos(now.as_nanos().saturating_sub(age_ns)).into()
}

/// Returns the age of `other` in nanoseconds if `given` is `age_ns` old; 0 if it lies ahead.
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

    const NS_PER_S: u64 = 1_000_000_000;

    fn at(seconds: u64) -> UnixTime {
        UnixTime::from_nanos(seconds * NS_PER_S)
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
            assert_eq!(time, SystemTime::from(at(expected)), "{why}");
        }
    }

    #[test]
    fn times_that_are_given_together_keep_their_distance() {
        let beside = |other| age_beside_ns(at(5000), 10 * NS_PER_S, at(other)) / NS_PER_S;
        assert_eq!([4990, 5000, 5004, 5010, 5011].map(beside), [20, 10, 6, 0, 0]);
        assert_eq!(age_beside_ns(at(5000), u64::MAX, at(0)), u64::MAX);
    }
}
