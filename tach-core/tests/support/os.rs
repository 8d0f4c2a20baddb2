//! The OS clocks, for signal handlers and the children of a `fork`. `std` only calls
//! `clock_gettime`, which POSIX lists as async-signal-safe.

use core::time::Duration;
use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Os {
    /// Since [`begin`].
    pub(crate) monotonic_ns: u64,
    pub(crate) unix_ns: u64,
}

static START: OnceLock<Instant> = OnceLock::new();

/// Sets the origin of monotonic time. Call it before any signal and any `fork`: of two concurrent
/// callers, one would wait for the other.
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

/// Returns the duration in ns. Runs and dates stay below 584 years.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
