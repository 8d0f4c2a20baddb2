//! `tracing`: events, spans, and lines that `tracing_subscriber::fmt` has formatted.

mod enabled;
mod event;
mod install;
mod kept;
mod layer;
mod lines;
mod metadata;
#[cfg(any(feature = "opentelemetry", feature = "opentelemetry_0_32"))]
pub(crate) mod otel;
#[cfg(not(any(feature = "opentelemetry", feature = "opentelemetry_0_32")))]
#[path = "tracing/no_otel.rs"]
mod otel;
pub(crate) mod span_ext;
mod spans;
mod subscriber;
mod visit;

pub(super) use self::install::{filter_changed, install};
pub(super) use self::kept::write_current_spans;
