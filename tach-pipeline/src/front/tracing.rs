//! `tracing`: events, spans, and lines that `tracing_subscriber::fmt` has formatted.

mod copies;
mod elsewhere;
mod event;
mod fields;
mod install;
mod layer;
mod lines;
#[cfg(feature = "opentelemetry")]
pub(crate) mod otel;
#[cfg(not(feature = "opentelemetry"))]
#[path = "tracing/no_otel.rs"]
mod otel;
mod parents;
mod parts;
pub(crate) mod span_ext;
mod spans;
mod subscriber;
mod unsampled;

pub(super) use self::copies::is_copy;
pub(super) use self::fields::write_current_spans;
pub(super) use self::install::{filter_changed, install, may_be_set};
