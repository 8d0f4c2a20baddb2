//! Logs and traces of services, whose calls do next to nothing: for `log`, slog and tracing.
//!
//! A call copies its raw values into a queue of its thread. Another thread formats, and the sinks
//! write.
//!
//! ```
//! fn main() -> Result<(), tach_pipeline::Error> {
//!     tach_pipeline::init()?; // lines to stderr, with the levels of RUST_LOG
//!     log::info!(port = 3000; "ready");
//!     Ok(())
//! }
//! ```
//!
//! JSON in a file that rotates, and errors for people on stderr:
//!
//! ```no_run
//! use tach_log::Json;
//! use tach_pipeline::{Pipeline, Rotation, Sink};
//!
//! fn main() -> Result<(), tach_pipeline::Error> {
//!     let rotation = Rotation::new().daily().max_bytes(100_000_000).keep(14);
//!     Pipeline::builder()
//!         .sink(Sink::file("logs/app.json").format(Json::new()).rotate(rotation))
//!         .sink(Sink::stderr().filter("error"))
//!         .filter_from_env("RUST_LOG")
//!         .init()?;
//!     log::info!(port = 3000; "ready");
//!     Ok(())
//! }
//! ```
//!
//! # Where to go
//!
//! | you want | see |
//! |---|---|
//! | whole programs: a service, a tool, a library, a worker, a container, a unit | [the guide](_guide) |
//! | to replace tracing-subscriber, `env_logger`, slog-async or an SDK | [Moving a service over](_moving) |
//! | to choose among tach's crates | [which road](_guide#which-road) |
//! | files, streams, the system's log | [`Sink::file`], [`Rotation`], [`Sink::stdout`], [`Sink::journald`] |
//! | lines, JSON, logfmt, a format of your own | [`tach_log`] |
//! | levels | [`Builder::filter`], [`Sink::filter`], [`Pipeline::set_filter`] |
//! | fewer records, or more before an error | [`Builder::rate_limit`], [`Builder::before_errors`] |
//! | logs, spans and their durations in a collector | [`Sink::otlp`], [`Sampling`], [`Tail`], [`Durations`] |
//! | parents, attributes and headers of spans | [`SpanExt`], [`TraceContext`], [`OpenTelemetrySpanExt`] |
//! | traces on a screen | [`Sink::traces`] |
//! | the last seconds before a panic or a slow request | [`FlightRecorder`] |
//! | one front end alone, or other layers beside it | [`Builder::build`] |
//! | options from a file | [`Config`] |
//! | tests of what is logged | [`testing::capture`] |
//! | what may be lost, and when | [`Stats`], [`WhenFull`], [`Builder::survive`], [the end][end] |
//! | what it costs | [`Pipeline`]: a call; [`Builder`]: memory |
//!
//! [end]: _moving#the-end-of-the-process
//!
//! # Features
//!
//! | feature | for |
//! |---|---|
//! | `slog`, `tracing` | the front end of that name |
//! | `otlp` | a collector, over HTTP; turns on `tracing`. `grpc` and `tls` are features of `tach-otlp` |
//! | `opentelemetry` | contexts and tracers of the crate opentelemetry, version 0.33 |
//! | `gzip`, `syslog` | compression of rotated files; a syslog daemon |
//! | `survive` | records that outlive a killed process, on Linux with 64 bits |
//! | `config` | options from TOML, JSON or YAML |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod back_end;
#[cfg(feature = "config")]
mod config;
mod environment;
mod error;
mod faults;
mod filter;
#[cfg(feature = "tracing")]
mod flight;
mod front;
mod host;
mod incident;
mod limits;
mod pipeline;
mod progress;
mod report;
mod shared;
mod sink;
mod stats;
pub mod testing;

use tach_record::{channel, frame, ids, level, queue, sync};
#[cfg(feature = "tracing")]
use tach_spans::{callsites, durations, spans, trace};

#[cfg(feature = "config")]
pub use crate::config::Config;
pub use crate::error::Error;
pub use crate::front::install::init;
pub use crate::incident::Incident;
pub use crate::pipeline::Pipeline;
pub use crate::pipeline::builder::Builder;
pub use crate::pipeline::guard::Guard;
pub use crate::sink::{JournalExport, Sink, kind};
pub use crate::stats::{SinkStats, Stats};
#[cfg(feature = "tracing")]
pub use crate::with_tracing::*;
#[cfg(feature = "otlp")]
#[doc(no_inline)]
pub use tach_otlp::{Otlp, Signal};
#[doc(inline)]
pub use tach_record::queue::WhenFull;
#[cfg(feature = "syslog")]
#[doc(inline)]
pub use tach_sinks::{Facility, Syslog};
#[doc(inline)]
pub use tach_sinks::{Names, Rotation, SyncPolicy, Task};

/// What the feature `tracing` adds.
#[cfg(feature = "tracing")]
mod with_tracing {
    pub use crate::durations::options::Durations;
    pub use crate::durations::snapshot::SpanDurations;
    #[cfg(feature = "opentelemetry")]
    pub use crate::front::tracing::otel::{OpenTelemetrySpanExt, Tracer, TracerProvider};
    pub use crate::front::tracing::span_ext::SpanExt;
    pub use crate::trace::w3c::TraceContext;
    pub use crate::{spans::tail::Tail, trace::sampling::Sampling};
    #[doc(inline)]
    pub use tach_flight::{FlightFormat, FlightRecorder};

    /// What tach-http uses.
    #[doc(hidden)]
    pub mod adapter {
        pub use crate::front::tracing::span_ext::{record_times, set_attributes};
        pub use crate::trace::current::in_scope_of;
    }
}

// The package `examples` compiles the snippets of these pages. Include `links.md` first: the pages
// define the same links as paths of files, and the first definition of a link counts.
#[cfg(all(doc, not(doctest)))]
#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide.md")]
#[doc = include_str!("../docs/tasks/service.md")]
#[doc = include_str!("../docs/tasks/command-line.md")]
#[doc = include_str!("../docs/tasks/library.md")]
#[doc = include_str!("../docs/tasks/worker.md")]
#[doc = include_str!("../docs/tasks/container.md")]
#[doc = include_str!("../docs/tasks/systemd.md")]
pub mod _guide {}

#[cfg(all(doc, not(doctest)))]
#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/moving.md")]
pub mod _moving {}

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
