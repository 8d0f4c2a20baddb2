//! One reading of the precise clock, as it is published.

use core::num::NonZeroU64;
use core::time::Duration;

use crate::MonotonicInstant;

/// A tick, and the Unix time at it in ns. Neither is 0, which is published when there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) ticks: NonZeroU64,
    pub(super) unix_ns: NonZeroU64,
}

impl Reading {
    /// The precise clock now.
    ///
    /// Its tick is not before that of a reading which another thread published and this one has seen:
    /// that is what a `MonotonicInstant` is for.
    pub(super) fn now() -> Self {
        let now = MonotonicInstant::now();
        Self::new(now.as_ticks(), now.unix_time().as_nanos())
    }

    /// A value of 0 becomes 1, which is a unit late and then the nearest that can be told.
    pub(super) fn new(ticks: u64, unix_ns: u64) -> Self {
        let or_one = |value| NonZeroU64::new(value).unwrap_or(NonZeroU64::MIN);
        Self { ticks: or_one(ticks), unix_ns: or_one(unix_ns) }
    }

    /// How far this lies behind `now`: by its tick or by its Unix time, whichever is more.
    ///
    /// Time that the OS's monotonic clock does not count, such as a suspend, is seen in Unix time
    /// only. A real-time clock that was set back is seen in the tick only.
    pub(super) fn age_at(self, now: Self) -> Duration {
        let point = |reading: Self| MonotonicInstant::from_ticks(reading.ticks.get());
        let unix_ns = now.unix_ns.get().saturating_sub(self.unix_ns.get());
        point(now).duration_since(point(self)).max(Duration::from_nanos(unix_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_stands_for_no_reading() {
        assert_eq!(Reading::new(0, 0), Reading::new(1, 1));
        assert_ne!(Reading::new(1, 1), Reading::new(2, 2));
    }

    #[test]
    fn the_age_is_the_greater_of_both() {
        let second = Duration::from_secs(1);
        let then = MonotonicInstant::now();
        let ticks = [then, then + second].map(MonotonicInstant::as_ticks);
        let published = Reading::new(ticks[0], 50_000_000_000);
        for (now, unix_ns, age) in [
            // Both clocks went on for as long, or not at all.
            (ticks[1], 51_000_000_000, second),
            (ticks[0], 50_000_000_000, Duration::ZERO),
            // The machine was suspended for nine seconds, or the clock set forward by as much.
            (ticks[1], 60_000_000_000, 10 * second),
            // The clock was set back.
            (ticks[1], 20_000_000_000, second),
        ] {
            assert_eq!(published.age_at(Reading::new(now, unix_ns)), age, "{unix_ns}");
        }
    }
}
