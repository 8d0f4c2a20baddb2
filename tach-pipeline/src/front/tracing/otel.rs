//! Spans as `opentelemetry` sees them, and as it changes them.

mod changes;
mod context;
mod span;
mod span_ext;
mod surroundings;
mod tracer;
mod values;
mod weak;

pub use self::span_ext::{OpenTelemetrySpanExt, get_otel_context};
pub(super) use self::surroundings::{Found, Surroundings};
pub use self::tracer::Tracer;
