//! The standard library's clocks, for Miri and for targets without a back end of tach's.

use std::sync::OnceLock;
use std::time::{Instant, UNIX_EPOCH};

/// The clock's value at its first read. It is not 0, so that earlier points in time exist, as they
/// do for other systems' clocks, which count from the machine's start.
const FIRST_NS: u64 = 86_400_000_000_000;

pub(crate) fn monotonic_ns() -> Option<u64> {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let since_first_read = ORIGIN.get_or_init(Instant::now).elapsed();
    u64::try_from(since_first_read.as_nanos()).ok()?.checked_add(FIRST_NS)
}

pub(crate) fn realtime_ns() -> Option<u64> {
    u64::try_from(UNIX_EPOCH.elapsed().ok()?.as_nanos()).ok()
}

/// Miri ends a program that reads the real-time clock, unless it runs without isolation. So only
/// programs that ask for Unix time read that clock, as with the standard library.
pub(crate) fn reads_realtime_at_start() -> bool {
    !cfg!(miri)
}
