//! What is to be known of the clock, as attributes.

use core::time::Duration;

use opentelemetry::KeyValue;
use tach_core::{Source, UnixTime, status};

/// Where the clock's ticks come from: `counter` or `os`.
pub const CLOCK_SOURCE: &str = "tach.clock.source";

/// How far a timestamp may be from this machine's real-time clock, in nanoseconds.
pub const CLOCK_UNCERTAINTY_NS: &str = "tach.clock.uncertainty_ns";

/// How far a timestamp may be from UTC, in nanoseconds: the uncertainty, and what the kernel says of its
/// clock.
pub const CLOCK_UTC_UNCERTAINTY_NS: &str = "tach.clock.utc_uncertainty_ns";

/// The clock's source and the uncertainty of its timestamps now, for a resource or for a span.
///
/// By them a back end can tell how far the timestamps of two hosts may be compared. In a resource they
/// say what held when it was made; for what holds later, give them to a span now and then, such as the
/// root of a trace. [`CLOCK_UTC_UNCERTAINTY_NS`] is missing where the kernel does not tell.
///
/// # Cost
///
/// A system call, and two allocations. It is not meant for every span.
///
/// # Examples
///
/// ```
/// use opentelemetry_sdk::Resource;
///
/// let resource = Resource::builder()
///     .with_service_name("checkout")
///     .with_attributes(tach_otel::clock_attributes())
///     .build();
/// assert!(resource.get(&tach_otel::CLOCK_SOURCE.into()).is_some());
/// ```
#[must_use]
pub fn clock_attributes() -> Vec<KeyValue> {
    let source = match status().source {
        Source::Counter => "counter",
        Source::Os => "os",
    };
    let now = UnixTime::now_with_uncertainty();
    let utc = now.with_kernel_error();
    let mut attributes = vec![
        KeyValue::new(CLOCK_SOURCE, source),
        KeyValue::new(CLOCK_UNCERTAINTY_NS, nanos(now.uncertainty())),
    ];
    attributes
        .extend(utc.map(|utc| KeyValue::new(CLOCK_UTC_UNCERTAINTY_NS, nanos(utc.uncertainty()))));
    attributes
}

/// Attributes have signed integers only.
fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
