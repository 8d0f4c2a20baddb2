//! Real back ends for the tests: the OpenTelemetry Collector and Jaeger, on their own ports.
//!
//! `cargo xtask otel` builds them and runs the tests. Otherwise a test is skipped unless the
//! variable with its back end is set. With `TACH_TESTS=all` it fails instead.

mod certificates;
mod collector;
mod jaeger;
mod otlp;
mod process;

use prost::Message;
pub use test_support::receiver::{Requests, request, serve};

pub use crate::certificates::{Authority, Certified};
pub use crate::collector::{Collector, Settings};
pub use crate::jaeger::{Jaeger, Span};
pub use crate::otlp::{Protocol, nanos, values};
pub use crate::process::program;

/// Decodes a message of protobuf.
///
/// # Panics
///
/// If it is not one.
#[must_use]
pub fn decode<M: Message + Default>(body: &[u8]) -> M {
    M::decode(body).expect("the body is such a message")
}
