//! The clock by which OpenTelemetry tells time on its own.

use std::time::SystemTime;

use tach_core::UnixTime;

/// The OS's wall clock.
///
/// In a browser the standard library has none; OpenTelemetry asks `Date` there, which tach follows.
pub(crate) fn now() -> SystemTime {
    if cfg!(all(target_family = "wasm", target_os = "unknown")) {
        UnixTime::now().to_system_time()
    } else {
        SystemTime::now()
    }
}
