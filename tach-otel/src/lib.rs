//! One clock for the spans, events and logs of OpenTelemetry.
//!
//! OpenTelemetry's API and SDK read the OS's wall clock when a span starts and again when it ends.
//! If the clock is set in between, the span is too long, too short, or ends before it starts.
//! [`Clocked`] wraps a provider and gives it [`tach_core`]'s time instead:
//!
//! ```
//! # #[cfg(feature = "trace")] {
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
//! # }
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
//! [tach-pipeline](https://docs.rs/tach-pipeline) sends the spans of `tracing` without the SDK.
//!
//! tracing-opentelemetry's layer takes a wrapped tracer:
//!
//! ```
//! # #[cfg(feature = "trace")] {
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
//! # }
//! ```
//!
//! The SDK never sets the timestamp of a log record. An appender with a wrapped provider does:
//!
//! ```
//! # #[cfg(feature = "logs")] {
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
//! # }
//! ```
//!
//! # Given times
//!
//! `global::tracer`, `SpanRef` (the span in a `Context`) and tracing-opentelemetry read the wall
//! clock and give its time with an event or an end. A time that was read just now is moved onto
//! tach's clock; every other time is the caller's, and kept. [`ClockedSpan`] has the rule.
//!
//! # Steps of the wall clock
//!
//! All spans count on one line until the wall clock is stepped. Then new requests follow the wall
//! clock at once, and new children of spans that were open during the step follow it ten seconds
//! later. [`ClockedSpan`] has the promise.
//!
//! # Code that can't be wrapped
//!
//! With the feature `sdk`, two processors serve tracers and loggers that other code creates.
//! `Align` repairs spans during which the wall clock was set. `EventTime` sets both times of log
//! records.
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
//! # Features
//!
//! - `trace` (default): `Clocked` for tracer providers and tracers.
//! - `logs` (default): `Clocked` for logger providers and loggers.
//! - `sdk`: the processors, each with the feature of its signal.
//!
//! # Versions of `opentelemetry`
//!
//! One release works with 0.32 and with 0.33: each is compiled and tested in CI. If the lock file
//! has one of them already, Cargo takes it. In a new lock file Cargo may take the newest for this
//! crate beside the version that your program names. Then the types differ ("the trait
//! `TracerProvider` is not implemented"), and one command takes this crate back to 0.32:
//!
//! ```sh
//! cargo update --package opentelemetry_sdk@0.33.1 --precise 0.32.0
//! ```
//!
//! If that package is not in the lock file, the command is the same with `opentelemetry`.
//!
//! When a version appears, the range grows by it in a minor release as soon as it passes the tests,
//! if the code fits both. If it doesn't, the next major release takes the new one alone, and the
//! older release stays for the older versions. A version leaves the range only in a major release.
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

#[cfg(all(feature = "sdk", feature = "trace"))]
mod align;
mod clock_attributes;
#[cfg(any(feature = "trace", feature = "logs"))]
mod clocked;
#[cfg(feature = "logs")]
mod event_time;
#[cfg(feature = "trace")]
mod given;
#[cfg(feature = "trace")]
mod line;
#[cfg(feature = "trace")]
mod lines;
#[cfg(feature = "logs")]
mod logger;
#[cfg(all(feature = "sdk", feature = "trace"))]
mod repair;
#[cfg(feature = "trace")]
mod span;
#[cfg(feature = "trace")]
mod table;
#[cfg(feature = "trace")]
mod tracer;

#[cfg(all(feature = "sdk", feature = "trace"))]
pub use crate::align::Align;
pub use crate::clock_attributes::clock_attributes;
#[cfg(any(feature = "trace", feature = "logs"))]
pub use crate::clocked::Clocked;
#[cfg(all(feature = "sdk", feature = "logs"))]
pub use crate::event_time::EventTime;
#[cfg(feature = "trace")]
pub use crate::span::ClockedSpan;

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
