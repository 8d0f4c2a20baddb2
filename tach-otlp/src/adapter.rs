//! For tach's own crates: the parts of messages. Nothing here is stable.

#[cfg(feature = "http")]
use core::time::Duration;
#[cfg(feature = "http")]
use std::path::Path;

pub use crate::encode::attributes::Attributes;
pub use crate::encode::exception::HasException;
pub use crate::encode::limits::{AttributeLimits, SpanLimits};
pub use crate::encode::metadata::{Metadata, Shown};
pub use crate::encode::protobuf;
pub use crate::encode::taken::Taken;
pub use crate::encode::value::key_value;
#[cfg(feature = "http")]
pub use crate::options::environment::{compression, protocol, temporality};
#[cfg(feature = "http")]
use crate::options::{Otlp, Temporality};
#[cfg(feature = "http")]
use crate::signal::Signal;

/// Appends a `ResourceLogs`, a `ResourceSpans` or a `ResourceMetrics` with the items. `resource` is
/// a field of it.
pub fn of_resource(to: &mut Vec<u8>, resource: &[u8], items: &[u8]) {
    crate::encode::of_resource(to, resource, items);
}

/// Returns the resource of the options, as a field of `ResourceSpans`.
#[cfg(feature = "http")]
#[must_use]
pub fn resource(otlp: &Otlp) -> Vec<u8> {
    otlp.resource()
}

/// Calls `Otlp::certificate`. Without the feature `tls`, returns the options as they are.
#[cfg(feature = "http")]
pub fn certificate(otlp: Otlp, path: &Path) -> Otlp {
    #[cfg(feature = "tls")]
    let otlp = otlp.certificate(path);
    #[cfg(not(feature = "tls"))]
    let _ = path;
    otlp
}

/// Calls `Otlp::client_certificate`. Without the feature `tls`, returns the options as they are.
#[cfg(feature = "http")]
pub fn client_certificate(otlp: Otlp, certificate: &Path, key: &Path) -> Otlp {
    #[cfg(feature = "tls")]
    let otlp = otlp.client_certificate(certificate, key);
    #[cfg(not(feature = "tls"))]
    let _ = (certificate, key);
    otlp
}

/// Returns the address of the requests for messages, whether it can be used or not.
#[cfg(feature = "http")]
#[must_use]
pub fn endpoint(otlp: &Otlp, signal: Signal) -> String {
    otlp.shown_endpoint(signal)
}

/// Returns the limits of spans.
#[cfg(feature = "http")]
#[must_use]
pub fn span_limits(otlp: &Otlp) -> SpanLimits {
    otlp.span_limits()
}

/// Returns how often metrics are sent, and the time that they are about.
#[cfg(feature = "http")]
#[must_use]
pub fn metrics(otlp: &Otlp) -> (Duration, Temporality) {
    otlp.metrics()
}

/// Returns whether the program wants a signal to be sent, whatever the environment says.
#[cfg(feature = "http")]
#[must_use]
pub fn wants(otlp: &Otlp, signal: Signal) -> bool {
    otlp.wants(signal)
}
