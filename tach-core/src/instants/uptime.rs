//! The time since the process's first use of tach.

use core::time::Duration;

use crate::instants::Instant;
use crate::system;

/// Returns the time since this process first used tach.
///
/// # Examples
///
/// ```
/// let earlier = tach_core::uptime();
/// assert!(tach_core::uptime() >= earlier);
/// ```
#[expect(clippy::must_use_candidate, reason = "also called to begin the count")]
#[inline]
pub fn uptime() -> Duration {
    uptime_at(Instant::now())
}

/// Returns the time from the process's first use of tach to `instant`; zero if `instant` is
/// earlier.
///
/// # Examples
///
/// ```
/// use tach_core::adapter::uptime_at;
/// use tach_core::{Instant, uptime};
///
/// let now = Instant::now();
/// assert!(uptime_at(now) <= uptime());
/// ```
#[must_use]
#[inline]
pub fn uptime_at(instant: impl Into<Instant>) -> Duration {
    system::uptime_at(instant.into().as_ticks())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_advances_with_the_clock() {
        // Read `uptime` first: if the thread is interrupted between the two reads, the measured
        // uptime only grows.
        let before = uptime();
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(2) {}
        assert!(uptime() >= before + Duration::from_millis(1));
        let (before, now, after) = (uptime(), uptime_at(Instant::now()), uptime());
        assert!(before <= now && now <= after, "{before:?} {now:?} {after:?}");
    }
}
