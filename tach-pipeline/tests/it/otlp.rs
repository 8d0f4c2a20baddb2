//! OpenTelemetry collectors as sinks: what they receive, and what happens if they fail.

mod aside;
mod by_env;
mod callsites;
#[cfg(feature = "opentelemetry")]
mod contexts;
mod durations;
mod ends;
mod faults;
#[cfg(feature = "tracing")]
mod flight;
mod flush;
mod hostile;
mod ids;
mod keys;
mod last_exit;
mod limits;
mod long_texts;
mod metadata;
mod moved;
#[cfg(feature = "slog")]
mod nameless;
mod never_left;
mod one_sink;
mod parents;
mod propagation;
#[cfg(feature = "opentelemetry")]
mod public_endpoint;
mod received;
mod records;
mod sampling;
mod slow;
mod spans;
mod status;
mod switches;
mod tail;
mod texts;
mod unclosed;
mod unfinished;
mod waiting;

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::collections::HashMap;
use std::thread;
use std::time::Instant;

use opentelemetry_proto::tonic::trace::v1::Span;
use tach_pipeline::{Builder, Guard, Otlp, Pipeline, Signal, Sink, kind};
use test_support::receiver::{Requests, serve};

use crate::support::{LONG, in_subscriber};

/// Returns a sink that sends a signal when the pipeline is flushed.
fn sink(endpoint: &str, signal: Signal) -> Sink<kind::OneFormat> {
    Sink::otlp(Otlp::new().endpoint(endpoint).max_delay(LONG).signals([signal]))
}

/// Returns a pipeline that sends spans when it is flushed.
fn pipeline(with: impl FnOnce(Builder) -> Builder) -> (Requests, Guard) {
    let (endpoint, requests) = serve();
    let builder = Pipeline::builder().filter("trace").sink(sink(&endpoint, Signal::Traces));
    (requests, with(builder).build().unwrap())
}

/// Runs `f` with a subscriber that has the pipeline as a layer, and flushes the pipeline.
fn run(pipeline: &Pipeline, f: impl FnOnce()) {
    in_subscriber(pipeline, f);
    pipeline.flush(LONG).unwrap();
}

/// Runs `f` with a pipeline, and returns the spans that the collector received, by name.
fn spans(f: impl FnOnce()) -> HashMap<String, Span> {
    spans_of(|builder| builder, f)
}

/// Like [`spans`], with a pipeline that `with` completes.
fn spans_of(with: impl FnOnce(Builder) -> Builder, f: impl FnOnce()) -> HashMap<String, Span> {
    let (requests, guard) = pipeline(with);
    run(guard.pipeline(), f);
    assert_eq!(guard.pipeline().stats().sinks()[0].dropped(), 0);
    received::by_name(&requests)
}

/// Waits until `is_met` returns `true`.
#[track_caller]
fn wait_until(mut is_met: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_met() {
        assert!(start.elapsed() < LONG, "what is waited for does not happen");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A value that counts how often it is printed.
struct Printed<'a>(&'a AtomicU64);

impl fmt::Debug for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fetch_add(1, Ordering::Relaxed);
        f.write_str("printed")
    }
}
