//! One clock for the spans, events and logs of OpenTelemetry.
//!
//! OpenTelemetry has no place to plug in a clock: its API and its SDK read the OS's wall clock, once
//! for the start of a span and once more for its end. A span that a clock step falls into is too
//! long, too short, or ends before it starts. [`Clocked`] wraps a provider or a tracer, and hands it
//! [`tach_core`]'s time wherever it would read the clock itself:
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
//! For tracing-opentelemetry, give its layer a wrapped tracer:
//!
//! ```
//! # #[cfg(feature = "trace")] {
//! use opentelemetry::trace::TracerProvider;
//! use opentelemetry_sdk::trace::SdkTracerProvider;
//! use tach_otel::Clocked;
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! let provider = Clocked::new(SdkTracerProvider::builder().build());
//! let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("checkout"));
//! let subscriber = tracing_subscriber::registry().with(layer);
//! # drop(subscriber);
//! # }
//! ```
//!
//! And for log records, whose timestamp the SDK never sets, wrap the provider that an appender is given:
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
//! # Times that arrive as if given
//!
//! `global::tracer`, `SpanRef` (the span in a `Context`) and tracing-opentelemetry read the wall
//! clock on their own and pass the time on as if a caller had chosen it. [`Incoming`] says what
//! becomes of such times. By default they are moved onto the clock that stamps the rest of the span.
//!
//! # Tests
//!
//! [`Clocked::with_clock`] takes another clock, such as a [`ManualClock`](tach_core::ManualClock): the
//! times that are exported are then what the test makes them.
//!
//! # Code that can't be wrapped
//!
//! With the feature `sdk`, processors do what can be done for tracers and loggers that others make:
//! `Align` repairs spans that a step of the wall clock has bent, `StampLogs` gives log records both times.
//!
//! # Comparing hosts
//!
//! [`clock_attributes`] tells a back end where the times come from and how far they may be off.
//!
//! # In a browser
//!
//! All of it works on `wasm32-unknown-unknown`, where the standard library's clock panics. The SDK needs random
//! numbers there: depend on `getrandom` 0.3 with its feature `wasm_js`, and compile with
//! `--cfg getrandom_backend="wasm_js"`.
//!
//! # Features
//!
//! `trace` and `logs`, both by default: what of OpenTelemetry is wrapped. `sdk`: the processors.
//!
//! # What is out of reach
//!
//! tracing-opentelemetry reads the wall clock for every start, event and end, besides tach's own clock,
//! so under it spans cost more than without tach. It would have to leave a time out where it means the
//! present (`SpanBuilder::start_time` unset, `Span::add_event`, `Span::end`) for that to end.
//!
//! A `SpanProcessor` that adds an event in `on_start` is given the SDK's own span: that event has
//! the wall clock's time. So have the durations that tracing-opentelemetry measures itself
//! (`busy_ns`, `idle_ns`), which come from `std::time::Instant`.

#![forbid(unsafe_code)]

#[cfg(feature = "trace")]
mod age;
#[cfg(all(feature = "sdk", feature = "trace"))]
mod align;
mod clock_attributes;
#[cfg(any(feature = "trace", feature = "logs"))]
mod clock_id;
#[cfg(any(feature = "trace", feature = "logs"))]
mod clocked;
#[cfg(any(feature = "trace", feature = "logs"))]
mod hash;
#[cfg(any(feature = "trace", feature = "logs"))]
mod incoming;
#[cfg(feature = "logs")]
mod logger;
#[cfg(feature = "logs")]
mod moment;
#[cfg(all(feature = "sdk", feature = "trace"))]
mod reading;
#[cfg(feature = "trace")]
mod span;
#[cfg(all(feature = "sdk", feature = "logs"))]
mod stamp_logs;
#[cfg(feature = "trace")]
mod table;
#[cfg(feature = "trace")]
mod trace_anchor;
#[cfg(feature = "trace")]
mod tracer;

#[cfg(all(feature = "sdk", feature = "trace"))]
pub use crate::align::Align;
pub use crate::clock_attributes::{
    CLOCK_SOURCE, CLOCK_UNCERTAINTY_NS, CLOCK_UTC_UNCERTAINTY_NS, clock_attributes,
};
#[cfg(any(feature = "trace", feature = "logs"))]
pub use crate::clocked::Clocked;
#[cfg(any(feature = "trace", feature = "logs"))]
pub use crate::incoming::Incoming;
#[cfg(feature = "trace")]
pub use crate::span::ClockedSpan;
#[cfg(all(feature = "sdk", feature = "logs"))]
pub use crate::stamp_logs::StampLogs;
