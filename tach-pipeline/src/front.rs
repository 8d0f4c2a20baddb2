//! The [`Pipeline`](crate::Pipeline) as each front end's logger.

#[cfg(feature = "tracing")]
pub(crate) mod lines;
mod log;
#[cfg(feature = "opentelemetry")]
mod otel;
#[cfg(all(feature = "tracing", not(feature = "opentelemetry")))]
#[path = "front/no_otel.rs"]
mod otel;
#[cfg(feature = "opentelemetry")]
pub(crate) mod otel_span_ext;
#[cfg(feature = "slog")]
mod slog;
#[cfg(feature = "tracing")]
pub(crate) mod span_ext;
#[cfg(feature = "tracing")]
mod spans;
#[cfg(feature = "opentelemetry")]
pub(crate) mod tracer;
#[cfg(feature = "tracing")]
mod tracing;
