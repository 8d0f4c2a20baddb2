//! For tach's own adapter crates. Nothing here is stable.

use core::time::Duration;

use crate::error::Error;
#[cfg(feature = "std")]
pub use crate::event_time::pinned::{depth, unpinned};
pub use crate::instants::uptime_at;
use crate::os;
pub use crate::text::{decimal, seconds, utf8};
use crate::unix_time::UnixTime;

/// RFC 3339 text, written by a formatter that each thread keeps.
#[cfg(feature = "std")]
pub mod rfc3339 {
    pub use crate::unix_time::rfc3339::cached::{with_offset_text, with_text, with_text_digits};
}

/// Returns the error of an exhausted budget of `total`.
#[must_use]
pub const fn exhausted(total: Duration) -> Error {
    Error::exhausted(total)
}

/// Returns the step of a `std::time::SystemTime`, in nanoseconds.
#[must_use]
#[inline]
pub const fn system_time_step_ns() -> u64 {
    os::SYSTEM_TIME_STEP_NS
}

/// Reads the OS's real-time clock, which `std::time::SystemTime::now` also reads if it can.
#[must_use]
#[inline]
pub fn wall_clock() -> UnixTime {
    UnixTime::from_nanos(os::realtime_ns())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn the_wall_clock_is_the_systems_at_its_step() {
        let system = || {
            let time = UnixTime::try_from(SystemTime::now()).expect("a clock past 1970");
            time.as_nanos()
        };
        let (before, ours, after) = (system(), wall_clock().as_nanos(), system());
        assert!(before <= ours && ours <= after, "{before} {ours} {after}");
    }
}
