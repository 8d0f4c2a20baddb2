//! The OS's own clocks, as a signal handler and the child of a `fork` may read them: `std` does no
//! more than `clock_gettime`, which POSIX lists as async-signal-safe.

use core::time::Duration;
use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// What the OS clocks said at some moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Os {
    /// Since [`begin`].
    pub(crate) monotonic_ns: u64,
    pub(crate) unix_ns: u64,
}

static START: OnceLock<Instant> = OnceLock::new();

/// Fixes the point from which monotonic time is counted. It comes before any signal and any `fork`,
/// since of two callers at once one would wait for the other.
pub(crate) fn begin() {
    START.get_or_init(Instant::now);
}

impl Os {
    pub(crate) fn now() -> Self {
        let monotonic = START.get().map_or(Duration::ZERO, Instant::elapsed);
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self { monotonic_ns: nanos(monotonic), unix_ns: nanos(unix) }
    }
}

/// The duration in ns; no run and no date gets beyond 584 years.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
