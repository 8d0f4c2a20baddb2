//! The arithmetic by which times that a caller gives are settled.

use std::time::SystemTime;

use crate::{Incoming, wall_clock};

/// An [`Incoming`] with the readings that it asks for: it settles any times given at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ruling {
    Keep,
    Rebase { os_now: SystemTime, tach_now: SystemTime },
    Restamp { tach_now: SystemTime },
}

impl Incoming {
    /// Reads what is needed to settle times that were given just now.
    pub(crate) fn ruling(self, tach_now: impl FnOnce() -> SystemTime) -> Ruling {
        match self {
            Self::Keep => Ruling::Keep,
            Self::Rebase => {
                // The OS clock goes first. Were the thread held up between the two reads, a time
                // would come out later than it was, but never before the one of an earlier call.
                let os_now = wall_clock::now();
                Ruling::Rebase { os_now, tach_now: tach_now() }
            }
            Self::Restamp => Ruling::Restamp { tach_now: tach_now() },
        }
    }
}

impl Ruling {
    /// The time to record for the one `given`, not before `earliest` unless it is to be kept.
    pub(crate) fn settle(self, given: SystemTime, earliest: SystemTime) -> SystemTime {
        match self {
            Self::Keep => given,
            Self::Rebase { os_now, tach_now } => rebased(given, os_now, tach_now).max(earliest),
            Self::Restamp { tach_now } => tach_now.max(earliest),
        }
    }
}

/// The point as far from `tach_now` as `given` is from `os_now`; `given` if no time can tell it.
fn rebased(given: SystemTime, os_now: SystemTime, tach_now: SystemTime) -> SystemTime {
    match os_now.duration_since(given) {
        Ok(age) => tach_now.checked_sub(age),
        Err(ahead) => tach_now.checked_add(ahead.duration()),
    }
    .unwrap_or(given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use std::time::UNIX_EPOCH;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn times_are_settled_as_the_policy_says() {
        // Tach is 1000 s ahead of the OS clock, as after a step that an anchor does not follow.
        let (os_now, tach_now) = (at(5000), at(6000));
        let (keep, restamp) = (Ruling::Keep, Ruling::Restamp { tach_now });
        let rebase = Ruling::Rebase { os_now, tach_now };
        for (ruling, given, earliest, settled, why) in [
            (keep, 4990, 5980, 4990, "kept, though before the start"),
            (keep, 9999, 5980, 9999, "kept, though in the future"),
            (restamp, 4990, 5980, 6000, "now, whatever is given"),
            (restamp, 4990, 6001, 6001, "now, but not before the start"),
            (rebase, 5000, 5980, 6000, "taken now"),
            (rebase, 4990, 5980, 5990, "ten seconds old"),
            (rebase, 5010, 5980, 6010, "ten seconds ahead"),
            (rebase, 4980, 5980, 5980, "as old as the start"),
            (rebase, 4979, 5980, 5980, "older than the start"),
            (rebase, 0, 5980, 5980, "far older than the start"),
            (rebase, 4990, 0, 5990, "no start to compare with"),
        ] {
            assert_eq!(ruling.settle(at(given), at(earliest)), at(settled), "{why}");
        }
    }

    #[test]
    fn a_time_behind_the_os_clock_moves_back_when_tach_is_behind() {
        let rebase = Ruling::Rebase { os_now: at(5000), tach_now: at(4000) };
        assert_eq!(rebase.settle(at(4999), at(0)), at(3999));
        assert_eq!(rebase.settle(at(5001), at(0)), at(4001));
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
    fn a_time_out_of_range_is_left_as_it_is() {
        let latest = latest();
        assert_eq!(rebased(latest, at(5000), at(6000)), latest);
        assert_eq!(rebased(latest, at(6000), at(5000)), latest - Duration::from_secs(1000));
    }
}
