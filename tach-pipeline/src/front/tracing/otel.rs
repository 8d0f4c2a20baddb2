//! Spans as `opentelemetry` sees them, and as it changes them.

mod bridge;
mod changes;
mod context;
mod of_tracer;
mod provider;
mod span;
mod span_ext;
mod surroundings;
mod values;
mod weak;

pub use self::provider::{Tracer, TracerProvider};
pub use self::span_ext::OpenTelemetrySpanExt;
pub(super) use self::surroundings::{Found, Surroundings};
