//! Real back ends for the tests: the OpenTelemetry Collector and Jaeger, on ports of their own.
//!
//! `cargo xtask otel` builds them and runs the tests. By hand, a test runs if the variable that names its
//! back end is set, and is skipped otherwise; with `TACH_TESTS=all` it fails instead.

mod collector;
mod jaeger;
mod otlp;
mod process;

pub use crate::collector::Collector;
pub use crate::jaeger::{Jaeger, Span};
pub use crate::otlp::{Protocol, nanos, values};
pub use crate::process::program;
