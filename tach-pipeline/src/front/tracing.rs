//! `tracing`: events, spans, and lines that `tracing_subscriber::fmt` has formatted.

mod copies;
mod current_spans;
mod enabled;
mod event;
mod install;
mod layer;
mod lifecycle;
mod lines;
mod metadata;
#[cfg(feature = "opentelemetry")]
pub(crate) mod otel;
#[cfg(not(feature = "opentelemetry"))]
#[path = "tracing/no_otel.rs"]
mod otel;
mod parents;
pub(crate) mod span_ext;
mod span_fields;
mod spans;
mod subscriber;
mod target;
mod visit;

pub(super) use self::copies::is_copy;
pub(super) use self::current_spans::write_current_spans;
pub(super) use self::install::{filter_changed, install, may_be_set};
