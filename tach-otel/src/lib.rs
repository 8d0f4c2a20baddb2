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
//! # Which road
//!
//! Spans of `tracing` that go to a collector need no SDK: [a table][roads] says what this crate and
//! [tach-pipeline](https://docs.rs/tach-pipeline) give, and [another][steps] compares both with the
//! SDK alone after a step of the wall clock.
//!
//! [roads]: https://docs.rs/tach-pipeline/latest/tach_pipeline/_guide/index.html#which-road
//! [steps]: https://docs.rs/tach-pipeline/latest/tach_pipeline/_guide/index.html#spans-after-a-step-of-the-clock
//!
//! # Appenders and layers
//!
//! tracing-opentelemetry's layer takes a wrapped tracer:
//!
//! ```
//! use opentelemetry::trace::TracerProvider;
//! use opentelemetry_sdk::trace::SdkTracerProvider;
//! use tach_otel::Clocked;
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! let provider = SdkTracerProvider::builder().build();
//! let tracer = Clocked::new(provider.clone()).tracer("checkout");
//! let layer = tracing_opentelemetry::layer().with_tracer(tracer);
//! let subscriber = tracing_subscriber::registry().with(layer);
//! # drop(subscriber);
//! # provider.shutdown().unwrap();
//! ```
//!
//! The SDK never sets the timestamp of a log record. An appender with a wrapped provider does:
//!
//! ```
//! use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
//! use opentelemetry_sdk::logs::SdkLoggerProvider;
//! use tach_otel::Clocked;
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! let provider = SdkLoggerProvider::builder().build();
//! let layer = OpenTelemetryTracingBridge::new(&Clocked::new(provider.clone()));
//! let subscriber = tracing_subscriber::registry().with(layer);
//! # drop(subscriber);
//! # provider.shutdown().unwrap();
//! ```
//!
//! # Given times
//!
//! Times that your code gives are kept, with [three exceptions](ClockedSpan#given-times). By one of
//! them a step bends no span of `global::tracer`, `SpanRef` (the span in a `Context`) and
//! tracing-opentelemetry, which read the wall clock and give its time.
//!
//! # Steps of the wall clock
//!
//! All spans count on one line until the wall clock is stepped. Then new spans follow the wall clock
//! at once, and those that are open keep their line and tell the step. [`ClockedSpan`] has the
//! promise.
//!
//! # Code that can't be wrapped
//!
//! [`EventTime`] sets both times of log records of loggers that other code creates. The
//! spans of a tracer that other code takes from a provider of its own keep the wall clock's times.
//!
//! # Comparing hosts
//!
//! [`clock_attributes`] describes the clock to a back end: its source and its uncertainty.
//!
//! # In a browser
//!
//! The crate works on `wasm32-unknown-unknown`, where the standard library's clock panics. The SDK
//! needs random numbers there: depend on `getrandom` 0.3 with its feature `wasm_js`, and compile
//! with `--cfg getrandom_backend="wasm_js"`.
//!
//! # Versions of `opentelemetry`
//!
//! The crate works with 0.33. Your program must name the same version. Otherwise the types differ
//! ("the trait `TracerProvider` is not implemented", "two different versions of crate
//! `opentelemetry`"). A new version of `opentelemetry` is a breaking release of this crate.
//!
//! # What can go wrong
//!
//! - A program that ends without `shutdown` loses its last batch: `global` keeps a clone of the
//!   provider and never drops it.
//! - Under tracing-opentelemetry a span costs more with tach than without: that crate reads the
//!   wall clock for every start, event and end, also where no time would mean the present
//!   (`SpanBuilder::start_time` unset, `Span::add_event`, `Span::end`). The durations that it
//!   measures (`busy_ns`, `idle_ns`) come from `std::time::Instant`.
//! - tracing-opentelemetry reads the wall clock when a span is created and starts it when it is
//!   entered, or closed if it never is. If the clock is stepped in between and tach has noticed,
//!   the start is kept, and off by the step. So a span that waits to be entered, such as that of a
//!   spawned task, is bent by a step during the wait.
//! - The points of metrics keep the SDK's time: it reads the wall clock for the start and the end
//!   of an interval when it collects them, and no interface sets them.
//! - An event that a `SpanProcessor` adds in `on_start` has the wall clock's time: the SDK passes
//!   the processor its own span.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod bracket;
mod clock_attributes;
mod clocked;
mod event_time;
mod given;
mod line;
mod lines;
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
