//! The arithmetic by which times that a caller gives are settled.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Incoming, wall_clock};

/// An [`Incoming`] with what it asks of the OS's clock: it settles any times given at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ruling {
    Keep,
    Rebase { os_now: SystemTime },
    Restamp,
}

impl Incoming {
    /// For times that were given just now, before tach's clock is read.
    ///
    /// The OS clock goes first. Were the thread held up between the two reads, a time would come out later
    /// than it was, but neither after now nor before the one of an earlier call.
    pub(crate) fn ruling(self) -> Ruling {
        match self {
            Self::Keep => Ruling::Keep,
            Self::Rebase => Ruling::Rebase { os_now: wall_clock::now() },
            Self::Restamp => Ruling::Restamp,
        }
    }
}

impl Ruling {
    /// The time to record for the one `given`: unless it is to be kept, neither after now nor before
    /// `earliest`, and if those disagree, `earliest`.
    pub(crate) fn settle(
        self,
        given: SystemTime,
        earliest: SystemTime,
        tach_now: impl FnOnce() -> SystemTime,
    ) -> SystemTime {
        match self {
            Self::Keep => given,
            Self::Rebase { os_now } => rebased(given, os_now, tach_now()).max(earliest),
            Self::Restamp => tach_now().max(earliest),
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
    use core::time::Duration;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn times_are_settled_as_the_policy_says() {
        // Tach is 1000 s ahead of the OS clock, as after a step that an anchor does not follow.
        let (os_now, tach_now) = (at(5000), at(6000));
        let (keep, restamp, rebase) = (Ruling::Keep, Ruling::Restamp, Ruling::Rebase { os_now });
        for (ruling, given, earliest, settled, why) in [
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
            let result = ruling.settle(at(given), at(earliest), || tach_now);
            assert_eq!(result, at(settled), "{why}");
        }
    }

    #[test]
    fn a_kept_time_asks_no_clock() {
        let kept = Ruling::Keep.settle(at(7), at(0), || panic!("it is not needed"));
        assert_eq!(kept, at(7));
    }

    #[test]
    fn a_time_behind_the_os_clock_moves_back_when_tach_is_behind() {
        let rebase = Ruling::Rebase { os_now: at(5000) };
        assert_eq!(rebase.settle(at(4999), at(0), || at(4000)), at(3999));
        assert_eq!(rebase.settle(at(5001), at(0), || at(4000)), at(4000));
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
        let settled =
            |given, os_now, tach_now| Ruling::Rebase { os_now }.settle(given, at(7), || tach_now);
        assert_eq!(settled(latest(), at(5000), at(6000)), at(6000));
        assert_eq!(settled(at(6000), latest(), at(5000)), at(7));
    }
}
