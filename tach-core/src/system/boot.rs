//! The third timeline: ticks to the time since the machine's start, suspends included.

use core::time::Duration;

use super::disciplined::{Clocks, Disciplined};
use super::read::{Bare, Read, bare_by};
use crate::line::Direction;
use crate::os;
use crate::timeline::Timeline;

/// Ticks to boot time. Nothing else refers to its timeline, so that only programs that read it link
/// it.
const BOOT: Disciplined = Disciplined { timeline: || &BOOT_TIMELINE, clocks: &Clocks::Boot };

static BOOT_TIMELINE: Timeline = Timeline::new();

/// Returns the boot time now, in ns; `None` if the system has no such clock.
#[inline]
pub(crate) fn now_ns() -> Option<i64> {
    if Bare::is_instruction() {
        if let Some(ns) = BOOT.current.ns_now(Bare::instruction()) {
            return Some(signed(ns));
        }
    }
    now_ns_otherwise()
}

/// Returns the boot time if a look is due or the read is not one instruction. Outlined, so that
/// [`now_ns`] saves no registers.
#[cold]
#[inline(never)]
fn now_ns_otherwise() -> Option<i64> {
    if BOOT.current.floor() == 0 {
        os::boot_ns()?;
    }
    let tick = bare_by(BOOT);
    Some(signed(BOOT.ns_at(tick)))
}

/// Converts to a signed number, which lasts for an uptime of 292 years.
#[inline]
fn signed(ns: u64) -> i64 {
    i64::from_ne_bytes(ns.to_ne_bytes())
}

/// Returns the time from `earlier` to `later`; zero if `later` comes first.
#[inline]
pub(crate) fn between(earlier: i64, later: i64) -> Duration {
    Duration::from_nanos(if earlier < later { later.abs_diff(earlier) } else { 0 })
}

/// Returns the time that is `duration` from `ns`; `None` outside the range of `i64`.
#[inline]
pub(crate) fn sum(ns: i64, duration: Duration, direction: Direction) -> Option<i64> {
    let by_ns = u64::try_from(duration.as_nanos()).ok()?;
    match direction {
        Direction::After => ns.checked_add_unsigned(by_ns),
        Direction::Before => ns.checked_sub_unsigned(by_ns),
    }
}

/// Returns the time that is `duration` from `ns`, or the end of the range of `i64`.
#[inline]
pub(crate) fn saturating_sum(ns: i64, duration: Duration, direction: Direction) -> i64 {
    let end = if direction == Direction::After { i64::MAX } else { i64::MIN };
    sum(ns, duration, direction).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use Direction::{After, Before};

    use super::*;

    #[test]
    fn it_is_the_os_clocks_time_to_within_the_bound() {
        if now_ns().is_none() {
            assert_eq!(os::boot_ns(), None);
            return;
        }
        let os_ns = || i64::try_from(os::boot_ns().expect("a clock")).expect("a machine's life");
        for _ in 0..100 {
            let (before, ours, after) = (os_ns(), now_ns().expect("a clock"), os_ns());
            let (_, bound_ns) = BOOT.bound();
            let off_ns = between(ours, before).max(between(after, ours));
            // The bound is doubled, since an interrupted sample widens it. The microsecond allows
            // for the steps between the reads.
            let allowed = Duration::from_nanos(2 * bound_ns + 1_000);
            assert!(off_ns <= allowed, "{ours} is {off_ns:?} off, allowed {allowed:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn sums_and_differences_are_those_of_signed_numbers() {
        let ns = Duration::from_nanos;
        let both = |from, by| [After, Before].map(|direction| sum(from, by, direction));
        let far = |from, by| [After, Before].map(|direction| saturating_sum(from, by, direction));
        assert_eq!(both(5, ns(7)), [Some(12), Some(-2)]);
        assert_eq!(both(i64::MAX, ns(1)), [None, Some(i64::MAX - 1)]);
        assert_eq!(both(i64::MIN, ns(u64::MAX)), [Some(i64::MAX), None]);
        assert_eq!(both(0, Duration::MAX), [None, None]);
        assert_eq!(far(5, ns(7)), [12, -2]);
        assert_eq!(far(5, Duration::MAX), [i64::MAX, i64::MIN]);
        assert_eq!(between(i64::MIN, i64::MAX), ns(u64::MAX));
        assert_eq!((between(-3, 4), between(4, -3)), (ns(7), Duration::ZERO));
    }
}
