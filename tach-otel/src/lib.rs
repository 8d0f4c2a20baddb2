//! One clock for the spans, events and logs of OpenTelemetry.
//!
//! OpenTelemetry's API and SDK read the OS's wall clock when a span starts and again when it ends.
//! If the clock is set in between, the span is too long, too short, or ends before it starts.
//! [`Clocked`] wraps a provider and gives it [`tach_core`]'s time instead:
//!
//! ```
//! use opentelemetry::global;
//! use opentelemetry::trace::{Span, Tracer};
//! use opentelemetry_sdk::trace::SdkTracerProvider;
//! use tach_otel::Clocked;
//!
//! let provider = SdkTracerProvider::builder().build();
//! global::set_tracer_provider(Clocked::new(provider.clone()));
//!
//! let mut span = global::tracer("checkout").start("pay");
//! span.add_event("authorised", vec![]);
//! span.end();
//! # provider.shutdown().unwrap();
//! ```
//!
//! Keep the provider: only its `shutdown` exports the last batch.
//!
//! | | the SDK alone | with `Clocked` |
//! |---|---|---|
//! | a span's start and end | two reads of the wall clock | one read, and the time elapsed |
//! | the wall clock is set within a span | the span is bent, or ends before it starts | no effect |
//! | an event of a span | another read of the wall clock | on the span's own line of time |
//! | a log record's timestamp | not set | set, as is the observed timestamp |
//! | a clock for tests | none | `with_clock` |
//!
//! Spans of `tracing` that go to a collector need no SDK: [a table][roads] says what this crate and
//! [tach-pipeline](https://docs.rs/tach-pipeline) give.
//!
//! [roads]: https://docs.rs/tach-pipeline/latest/tach_pipeline/_guide/index.html#which-road
//!
//! # Where to go
//!
//! | you want | see |
//! |---|---|
//! | tracing-opentelemetry, log appenders | [`Clocked`] |
//! | what happens to spans at a step of the wall clock | [`ClockedSpan`] |
//! | times of loggers that other code creates | [`EventTime`] |
//! | to compare the times of hosts | [`clock_attributes`] |
//!
//! # Given times
//!
//! Times that your code gives are kept, with [few exceptions](ClockedSpan#given-times). By one of
//! them a step bends no span of `global::tracer`, `SpanRef` (the span in a `Context`) and
//! tracing-opentelemetry, which read the wall clock and give its time.
//!
//! # In a browser
//!
//! On `wasm32-unknown-unknown` the SDK needs random numbers: depend on `getrandom` 0.3 with its
//! feature `wasm_js`, and compile with `--cfg getrandom_backend="wasm_js"`.
//!
//! # Versions of `opentelemetry`
//!
//! The crate works with 0.33, which your program must name too. Otherwise the types differ ("the
//! trait `TracerProvider` is not implemented"). A new version of `opentelemetry` is a breaking
//! release of this crate.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod ahead;
mod bracket;
mod clock_attributes;
mod clocked;
mod event_time;
mod given;
mod line;
mod lines;
mod listed;
mod logger;
mod present;
mod span;
mod tracer;

pub use crate::clock_attributes::clock_attributes;
pub use crate::clocked::Clocked;
pub use crate::event_time::EventTime;
pub use crate::span::ClockedSpan;

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
