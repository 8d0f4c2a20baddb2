//! For tach's own crates: the parts of messages. Nothing here is stable.

use core::time::Duration;

pub use crate::encode::attributes::Attributes;
pub use crate::encode::exception::HasException;
pub use crate::encode::limits::{AttributeLimits, SpanLimits};
pub use crate::encode::metadata::{Metadata, Shown};
pub use crate::encode::protobuf;
pub use crate::encode::taken::Taken;
pub use crate::encode::value::key_value;
pub use crate::options::environment::{compression, protocol, temporality};
use crate::options::{Otlp, Temporality};
use crate::signal::Signal;

/// Appends a `ResourceLogs`, a `ResourceSpans` or a `ResourceMetrics` with the items. `resource` is
/// a field of it.
pub fn of_resource(to: &mut Vec<u8>, resource: &[u8], items: &[u8]) {
    crate::encode::of_resource(to, resource, items);
}

/// Returns the resource of the options, as a field of `ResourceSpans`.
#[must_use]
pub fn resource(otlp: &Otlp) -> Vec<u8> {
    otlp.resource()
}

/// Returns the same options in a forked child, with what identifies the process.
pub fn in_child(otlp: &Otlp) -> Otlp {
    otlp.in_child()
}

/// Returns the address of the requests for messages, whether it can be used or not.
#[must_use]
pub fn endpoint(otlp: &Otlp, signal: Signal) -> String {
    otlp.shown_endpoint(signal)
}

/// Returns the limits of spans.
#[must_use]
pub fn span_limits(otlp: &Otlp) -> SpanLimits {
    otlp.span_limits()
}

/// Returns how often metrics are sent, and the period that each covers.
#[must_use]
pub fn metrics(otlp: &Otlp) -> (Duration, Temporality) {
    otlp.metrics()
}

/// Returns whether the options are those of the environment.
#[must_use]
pub fn is_from_env(otlp: &Otlp) -> bool {
    otlp.is_from_env
}

/// Returns whether the program wants a signal to be sent, whatever the environment says.
#[must_use]
pub fn wants(otlp: &Otlp, signal: Signal) -> bool {
    otlp.wants(signal)
}
