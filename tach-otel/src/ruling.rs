//! The arithmetic by which times that a caller gives are settled.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Incoming, wall_clock};

/// A time that is younger than this was read just before it was given: the grain of many wall clocks, and far
/// below the steps by which they are set.
const FRESH: Duration = Duration::from_micros(1);

impl Incoming {
    /// The time to record for the one `given`: unless it is to be kept, neither after `now` nor before
    /// `earliest`, and if those disagree, `earliest`.
    pub(crate) fn settle(
        self,
        given: SystemTime,
        earliest: SystemTime,
        now: impl FnMut() -> SystemTime,
    ) -> SystemTime {
        self.settle_by(wall_clock::now, given, earliest, now)
    }

    /// The OS clock is asked only if the time is not fresh, and before tach's clock is read again. Were the
    /// thread held up between the two reads, a time would come out later than it was, but neither after
    /// now nor before the one of an earlier call.
    #[inline]
    fn settle_by(
        self,
        os_now: impl FnOnce() -> SystemTime,
        given: SystemTime,
        earliest: SystemTime,
        mut now: impl FnMut() -> SystemTime,
    ) -> SystemTime {
        match self {
            Self::Keep => given,
            Self::Restamp => now().max(earliest),
            Self::Rebase => {
                let tach_now = now();
                // Not by the difference, which the standard library takes longer for.
                let is_old = tach_now.checked_sub(FRESH).is_some_and(|edge| given <= edge);
                if given <= tach_now && !is_old {
                    tach_now
                } else {
                    rebased(given, os_now(), now())
                }
                .max(earliest)
            }
        }
    }
}

/// The point as long before `tach_now` as `given` is before `os_now`; `tach_now` if that is ahead, as a time
/// is that was read before the OS's clock was set back.
fn rebased(given: SystemTime, os_now: SystemTime, tach_now: SystemTime) -> SystemTime {
    let age = os_now.duration_since(given).unwrap_or_default();
    tach_now.checked_sub(age).unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::RefCell;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn times_are_settled_as_the_policy_says() {
        // Tach is 1000 s ahead of the OS clock, as after a step that an anchor does not follow.
        let (os_now, tach_now) = (at(5000), at(6000));
        let (keep, restamp, rebase) = (Incoming::Keep, Incoming::Restamp, Incoming::Rebase);
        for (incoming, given, earliest, settled, why) in [
            (keep, 4990, 5980, 4990, "kept, though before the start"),
            (keep, 9999, 5980, 9999, "kept, though in the future"),
            (restamp, 4990, 5980, 6000, "now, whatever is given"),
            (restamp, 4990, 6001, 6001, "now, but not before the start"),
            (rebase, 5000, 5980, 6000, "taken now"),
            (rebase, 4990, 5980, 5990, "ten seconds old"),
            (rebase, 5010, 5980, 6000, "ten seconds ahead"),
            (rebase, 4980, 5980, 5980, "as old as the start"),
            (rebase, 4979, 5980, 5980, "older than the start"),
            (rebase, 0, 5980, 5980, "far older than the start"),
            (rebase, 4990, 0, 5990, "no start to compare with"),
            (rebase, 5010, 6001, 6001, "ahead, and not before the start"),
        ] {
            let result = incoming.settle_by(|| os_now, at(given), at(earliest), || tach_now);
            assert_eq!(result, at(settled), "{why}");
        }
    }

    #[test]
    fn a_clock_is_asked_only_if_it_is_needed() {
        let unasked = || -> SystemTime { panic!("it is not needed") };
        assert_eq!(Incoming::Keep.settle_by(unasked, at(7), at(0), unasked), at(7));
        assert_eq!(Incoming::Restamp.settle_by(unasked, at(7), at(0), || at(8)), at(8));
        let fresh = at(8) - Duration::from_nanos(999);
        assert_eq!(Incoming::Rebase.settle_by(unasked, fresh, at(0), || at(8)), at(8));
    }

    #[test]
    fn a_time_that_is_not_fresh_is_rebased_by_reads_in_the_right_order() {
        for given in [at(8) - FRESH, at(8) + Duration::from_nanos(1)] {
            let reads = RefCell::new(vec![]);
            let os_now = || {
                reads.borrow_mut().push("os");
                at(10)
            };
            let now = || {
                reads.borrow_mut().push("tach");
                at(8)
            };
            let settled = Incoming::Rebase.settle_by(os_now, given, at(0), now);
            assert_eq!(settled, at(0).max(given - Duration::from_secs(2)));
            assert_eq!(reads.into_inner(), ["tach", "os", "tach"]);
        }
    }

    #[test]
    fn a_time_behind_the_os_clock_moves_back_when_tach_is_behind() {
        let settled =
            |given| Incoming::Rebase.settle_by(|| at(5000), at(given), at(0), || at(4000));
        assert_eq!([4999, 5001].map(settled), [at(3999), at(4000)]);
    }

    /// The last time there is on this platform, to within a second.
    fn latest() -> SystemTime {
        let mut latest = UNIX_EPOCH;
        for bit in (0..63).rev() {
            latest = latest.checked_add(Duration::from_secs(1 << bit)).unwrap_or(latest);
        }
        latest
    }

    #[test]
    fn no_time_is_too_far_off() {
        let settled = |given, os_now, tach_now| {
            Incoming::Rebase.settle_by(|| os_now, given, at(7), || tach_now)
        };
        assert_eq!(settled(latest(), at(5000), at(6000)), at(6000));
        assert_eq!(settled(at(6000), latest(), at(5000)), at(7));
    }
}
