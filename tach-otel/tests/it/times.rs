//! Tach's time in the SDK's type.

use core::time::Duration;
use std::time::SystemTime;

use tach_core::MonotonicInstant;

pub(crate) fn tach_now() -> SystemTime {
    MonotonicInstant::now().unix_time().into()
}

/// Returns the largest difference of two times that were converted to Unix time this far apart:
/// tach slews by less than a part in a thousand, and rounds to nanoseconds.
pub(crate) fn tolerance(apart: Duration) -> Duration {
    Duration::from_nanos(2) + apart / 1000
}
