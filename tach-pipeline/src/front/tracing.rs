//! `tracing`: events, spans, and lines that `tracing_subscriber::fmt` has formatted.

mod enabled;
mod event;
mod install;
mod kept;
mod layer;
mod lines;
mod metadata;
#[cfg(feature = "opentelemetry")]
pub(crate) mod otel;
#[cfg(not(feature = "opentelemetry"))]
#[path = "tracing/no_otel.rs"]
mod otel;
pub(crate) mod span_ext;
mod spans;
mod subscriber;
mod visit;

pub(super) use self::install::{filter_changed, install};
pub(super) use self::kept::write_current_spans;
