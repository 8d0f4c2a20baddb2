//! Readings of the precise clock.

use core::time::Duration;

use crate::instants::{Instant, MonotonicInstant};
use crate::sync::Reading;
use crate::system;

impl Reading {
    /// Reads the precise clock.
    ///
    /// The tick is not before the tick of any published reading that this thread has seen: a
    /// `MonotonicInstant` guarantees that.
    pub(super) fn now() -> Self {
        let ticks = Instant::from(MonotonicInstant::now()).as_ticks();
        Self::new(ticks, system::unix_ns_at_present(ticks))
    }

    /// Returns the distance from this reading to `now`, by its tick or its Unix time, whichever is
    /// greater.
    ///
    /// Time that the OS's monotonic clock does not count, such as a suspend, shows only in Unix
    /// time. If the real-time clock was set back, the age shows only in the tick.
    pub(super) fn age_at(self, now: Self) -> Duration {
        let point = |reading: Self| Instant::from_ticks(reading.ticks.get());
        let unix_ns = now.unix_ns.get().saturating_sub(self.unix_ns.get());
        point(now).duration_since(point(self)).max(Duration::from_nanos(unix_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_is_the_greater_of_both() {
        let second = Duration::from_secs(1);
        let then = Instant::now();
        let ticks = [then, then + second].map(Instant::as_ticks);
        let published = Reading::new(ticks[0], 50_000_000_000);
        for (now, unix_ns, age) in [
            // Both clocks advanced equally, or not at all.
            (ticks[1], 51_000_000_000, second),
            (ticks[0], 50_000_000_000, Duration::ZERO),
            // The machine was suspended for nine seconds, or the clock was set forward by as much.
            (ticks[1], 60_000_000_000, 10 * second),
            // The clock was set back.
            (ticks[1], 20_000_000_000, second),
        ] {
            // The clock may be disciplined meanwhile, which slews a second by up to half a ms.
            let distance = published.age_at(Reading::new(now, unix_ns)).abs_diff(age);
            assert!(distance < Duration::from_millis(1), "{unix_ns}: {distance:?} from {age:?}");
        }
    }
}
