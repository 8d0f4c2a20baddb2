//! The clock's source and uncertainty as attributes.

use core::time::Duration;

use opentelemetry::KeyValue;
use tach_core::{UnixTime, status};

/// Returns the clock's source and the current uncertainty of its timestamps, as attributes of a
/// resource or a span.
///
/// - `tach.clock.source`: the origin of the clock's ticks, `counter` or `os`.
/// - `tach.clock.uncertainty_ns`: how far a timestamp may be from this machine's real-time clock.
/// - `tach.clock.utc_uncertainty_ns`: how far it may be from UTC, which adds the kernel's estimate
///   of its clock's error. Absent if the kernel has none.
///
/// They show how closely the timestamps of two hosts can be compared. A resource keeps the values
/// of the time when it was created. For later values, add them to a span now and then, such as the
/// root of a trace.
///
/// # Cost
///
/// A system call and two allocations: too much for every span.
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
/// assert!(resource.get(&"tach.clock.source".into()).is_some());
/// ```
#[must_use]
pub fn clock_attributes() -> Vec<KeyValue> {
    let now = UnixTime::now_with_uncertainty();
    let utc = now.with_kernel_error();
    let mut attributes = vec![
        KeyValue::new("tach.clock.source", status().source.as_str()),
        KeyValue::new("tach.clock.uncertainty_ns", nanos(now.uncertainty())),
    ];
    attributes.extend(
        utc.map(|utc| KeyValue::new("tach.clock.utc_uncertainty_ns", nanos(utc.uncertainty()))),
    );
    attributes
}

/// Returns the nanoseconds as a signed integer: attributes have no unsigned ones.
fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_and_the_uncertainty_are_attributes() {
        let attributes = clock_attributes();
        let value = |key| attributes.iter().find(|it| it.key.as_str() == key).map(|it| &it.value);
        let source = value("tach.clock.source").unwrap().as_str();
        assert!(["counter", "os"].contains(&&*source), "{source}");
        assert!(value("tach.clock.uncertainty_ns").is_some());
    }

    #[test]
    fn a_duration_beyond_the_range_is_the_longest() {
        assert_eq!(nanos(Duration::from_nanos(77)), 77);
        assert_eq!(nanos(Duration::MAX), i64::MAX);
    }
}
