//! Tach's time as the SDK tells time.

use core::time::Duration;
use std::time::SystemTime;

use tach_core::MonotonicInstant;

/// Tach's time now.
pub(crate) fn tach_now() -> SystemTime {
    MonotonicInstant::now().unix_time().to_system_time()
}

/// How much two times that were mapped to Unix time at different moments may disagree: tach slews by
/// less than a part in a thousand, and the nanoseconds are rounded.
#[cfg_attr(not(feature = "trace"), allow(dead_code, reason = "only spans are compared"))]
pub(crate) fn tolerance(apart: Duration) -> Duration {
    Duration::from_nanos(2) + apart / 1000
}
