//! Logs and traces of services, whose calls do next to nothing: for `log`, slog and tracing.
//!
//! A call copies its raw values into a queue. One thread formats, and each sink writes:
//!
//! | you want | take |
//! |---|---|
//! | files that rotate, on a server | [`Sink::file`] with a [`Rotation`] |
//! | JSON on a stream, in a container | [`Sink::stdout`] with [`Json`](tach_log::Json) |
//! | logs, spans and their durations in an OpenTelemetry collector | [`Sink::otlp`] (feature `otlp`) |
//! | entries of the system's log | [`Sink::journald`], [`Sink::syslog`] (feature `syslog`) |
//! | the last seconds before a panic or a slow request | [`FlightRecorder`] (feature `tracing`) |
//!
//! ```
//! fn main() -> Result<(), tach_pipeline::Error> {
//!     tach_pipeline::init()?; // lines to stderr, with the levels of RUST_LOG
//!     log::info!("ready");
//!     Ok(())
//! }
//! ```
//!
//! To move a service over, begin with what stands in it:
#![cfg_attr(
    all(doc, not(doctest)),
    doc = "[Moving a service over](_moving). [The guide](_guide) has the rest."
)]
//!
//! Files:
//!
//! ```no_run
//! use tach_pipeline::{Pipeline, Rotation, Sink};
//!
//! fn main() -> Result<(), tach_pipeline::Error> {
//!     let rotation = Rotation::new().daily().max_bytes(100 * 1024 * 1024).keep(14);
//!     Pipeline::builder()
//!         .sink(Sink::file("logs/app.log").rotate(rotation))
//!         .filter("info,app::db=debug")
//!         .init()?;
//!     log::info!("ready");
//!     Ok(())
//! }
//! ```
//!
//! JSON on stdout, errors for people on stderr, and levels from the environment:
//!
//! ```
//! use log::LevelFilter;
//! use tach_log::Json;
//! use tach_pipeline::{Pipeline, Sink};
//!
//! fn main() -> Result<(), tach_pipeline::Error> {
//!     Pipeline::builder()
//!         .sink(Sink::stdout().format(Json::new()))
//!         .sink(Sink::stderr().filter("error"))
//!         .filter_from_env("RUST_LOG")
//!         .init()?;
//!     log::info!(port = 3000; "ready");
//!     Ok(())
//! }
//! ```
//!
//! A service that sends logs and spans to a collector until SIGTERM ends it, with the feature
//! `otlp`:
//!
//! ```no_run
//! # #[cfg(not(feature = "otlp"))] fn main() {}
//! # #[cfg(feature = "otlp")]
//! use tach_pipeline::{Otlp, Pipeline, Sink};
//!
//! # #[cfg(feature = "otlp")]
//! fn main() -> Result<(), tach_pipeline::Error> {
//!     let otlp = Otlp::from_env().service_name("checkout");
//!     Pipeline::builder().sink(Sink::otlp(otlp)).sink(Sink::stderr()).init()?;
//!     let _request = tracing::info_span!("request", http.route = "/pay").entered();
//!     tracing::info!(user.id = 7, "paid");
//!     Ok(())
//! }
//! ```
//!
//! # How it works
//!
//! A call puts the tick and the raw values of a record into the queue of its thread, without a
//! lock, a system call or (after the first) an allocation. The back end does the rest, many records
//! at a time:
//!
//! ```text
//!  log::info!   slog::info!   tracing::info!        the calling threads
//!       └────────────┼──────────────┘
//!           filter, read the counter                front/, filter.rs
//!                    ▼
//!    record: tick, target, message, fields          frame/
//!                    ▼
//!    queue    queue    queue                        queue/: one a thread
//!       └────────┼────────┘
//! - - - - - - - -│- - - - - - - - - - - - - - - - - - - - - - - - - - - - - -
//!                ▼                                  the back end's thread
//!    tick to Unix time, order by time, select       back_end/
//!       ┌────────┴────────┐
//!       ▼                 ▼                         sink/: filters
//!     Json              Line                        each format once: an event as bytes
//!       ▼                 ▼
//!    up to 64 KiB      up to 64 KiB                 gathered for one write
//! - - ┬ - - - ┬ - - - - - ┬ - - - - - - - - - - - - - - - - - - - - - - - - -
//!     ▼       ▼           ▼                         a thread for each of several sinks
//!   file    socket      stderr
//! ```
//!
//! | front end | feature | |
//! |---|---|---|
//! | `log` | | [`Pipeline::set_logger`]; the [`Pipeline`] is a `log::Log` |
//! | slog | `slog` | the [`Pipeline`] as a `slog::Drain` |
//! | tracing | `tracing` | [`Pipeline::subscriber`][subscriber], or the [`Pipeline`] as a `Layer` beside others |
//! | `tracing_subscriber::fmt` | `tracing` | [`Pipeline::make_writer`][make_writer] |
//!
//! # Comparison
//!
//! | | tach-pipeline | tracing-appender 0.2 | slog-async 2.8 |
//! |---|---|---|---|
//! | formats | on the back end's thread | in the call | on the worker's thread |
//! | a record's time | of the call | of the call | of the worker |
//! | queues | one a thread, of bytes | one, of 128,000 lines | one, of 128 records |
//! | a full queue | waits; or drops and counts | drops and counts; or waits | the same |
//! | order | by time | as queued | as queued |
//! | several outputs | each has a thread, a buffer | one a writer | one after another |
//! | at exit | flushes with or without the guard | the guard, for up to 1.1 s | the guard |
//!
//! # Plugging in
//!
//! [`Builder::init`] installs a pipeline for `log` and tracing, and needs nothing else. For one
//! front end alone, build the pipeline and install it: [`Pipeline::set_logger`] for `log`, and for
//! tracing [`Pipeline::subscriber`][subscriber], or the pipeline as a
//! [layer](Pipeline#impl-Layer%3CS%3E-for-Pipeline) beside others. `init` and `subscriber` have no
//! `Registry` of tracing-subscriber: their spans cost less, and layers that need one, such as
//! `tracing_error::ErrorLayer`, can't be added.
//!
//! A record of `log` has the spans of tracing that its thread is in too, with their fields.
//!
//! `init` of `tracing_subscriber` works too, without [`Pipeline::set_logger`]: then the crate
//! `tracing-log` forwards the records of `log`, with their targets and within the spans around
//! them, but without their fields. After [`Pipeline::set_logger`] that `init` panics, since it sets
//! a logger too; its `try_init` sets the subscriber and returns an error. Either way a record is
//! written once.
//!
//! # Filters
//!
//! By default records up to `Info` are logged. [`Builder::filter`] sets the levels by target, and
//! [`Builder::filter_from_env`] takes them from `RUST_LOG`. [`Sink::filter`] narrows them for one
//! sink. [`Pipeline::set_filter`] changes them at run time.
//!
//! # Mistakes
//!
//! A method that can't work for a [kind] of sinks does not exist there. Other options that can't
//! work fail [`Builder::build`], which names all of them at once: what is wrong, where, and what
//! would be right. The environment is not the program's: a variable that can't be used is reported
//! as [`Incident::Environment`], on stderr by default, and the rest of its value is used.
//! [`Builder::strict_environment`] makes it an error.
//!
//! A filter applies to tracing's events and spans. As a layer, the [`Pipeline`] refuses them for
//! all layers of the subscriber, as tracing-subscriber's `EnvFilter` does and at the same cost;
//! [`Pipeline::layer`][layer] refuses them for itself alone.
//!
//! [layer]: Pipeline#method.layer
//! [make_writer]: Pipeline#method.make_writer
//! [subscriber]: Pipeline#method.subscriber
//!
//! # Configuration files
//!
//! With the feature `config`, [`Config`] reads the options of a pipeline and of its sinks from
//! TOML, JSON, YAML or another format of serde, by the crate that you choose. [`Config::builder`]
//! returns a [`Builder`], to which the program adds the rest. The documentation of [`Config`] has
//! all keys.
//!
//! # Fewer records, and more
//!
//! - [`Builder::before_errors`] keeps refused records, and writes them when an error comes.
//! - [`Builder::collapse_repeats`] writes equal records in a row once, with their number.
//! - [`Builder::rate_limit`] bounds the records of each callsite a second.
//! - [`Builder::redact`] hides the values of keys.
//!
//! # Files
//!
//! [`Sink::file`] makes the folders, and notices if the file was moved or deleted.
//! [`Sink::rotate`] renames the file by size or time and begins a new one; the feature `gzip`
//! compresses old ones. If another program rotates the file, such as logrotate, set nothing. After
//! [`Pipeline::reopen`] the sink does not take a second to notice it.
//!
//! # The system's log
//!
//! On Linux, [`Sink::journald`] writes to systemd's journal, with fields that `journalctl` selects
//! by, and [`Sink::stderr_or_journal`] does so where systemd has connected stderr to the journal.
//! With the feature `syslog`, [`Sink::syslog`] sends to a syslog daemon.
//!
//! # OpenTelemetry
//!
//! With the feature `otlp`, [`Sink::otlp`] sends records to a collector on this machine or in this
//! network: protobuf over HTTP, without the SDK and without a runtime. The back end encodes, and
//! the sink's thread compresses and sends. It is configured by OpenTelemetry's variables of the
//! environment or by methods. A record carries the ids in its fields `trace_id` and `span_id`.
//! Records of the sink's own client are dropped. If `OTEL_SDK_DISABLED` is `true`, nothing is sent
//! to a collector that [`Otlp::from_env`] names; lines, ids and callers' headers stay as they were.
//!
//! | to the collector | feature | |
//! |---|---|---|
//! | protobuf over HTTP/1.1, port 4318 | `otlp` | the default |
//! | gRPC, port 4317 | `grpc` of `tach-otlp` | `OTEL_EXPORTER_OTLP_PROTOCOL=grpc`, or [`Otlp::protocol`] |
//! | either of them by TLS | `tls` of `tach-otlp` | an endpoint that begins with `https://` |
//!
//! The feature turns on `tracing`, and the sink sends the spans of `tracing` too. A call records
//! the beginning and the end of a span as it records an event; the back end puts the span together
//! and encodes it. Records of all front ends within a span have its ids. Keep [`WhenFull::Block`]:
//! another policy may drop a part of a span. If it drops the start, the span is lost:
//! [`Stats::dropped_spans`] counts the span, and [`Stats::spanless_records`] its later records.
//! Sampling leaves traces out: [`Sampling`] decides when the root of a trace starts, [`Tail`] when
//! it has ended, and both may be set. Spans that are open when the process ends are sent if
//! [`Builder::unfinished_spans`] was called.
//!
//! It also sends how long spans take, by name, as a metric: all spans are counted, also those that
//! sampling leaves out. [`Pipeline::durations`] reads the histograms, and [`Builder::durations`]
//! has options for them. [`Otlp::signals`] chooses among records, spans and durations.
//!
//! [`TraceContext`] reads and writes the headers of W3C's trace context, without a crate of
//! OpenTelemetry. By [`SpanExt`] a span takes its parent from a request's headers, gives the
//! headers for the next service, and gets links, attributes and a status.
//!
//! [Which road](_guide#which-road) compares this with tach-otel, for programs that keep
//! OpenTelemetry's exporters, samplers and processors.
//!
//! With the feature `opentelemetry`, spans of the pipeline and of an SDK are each other's parents,
//! and propagators read and write headers and baggage:
//! [`OpenTelemetrySpanExt`] has the methods of the trait in tracing-opentelemetry. While a thread is
//! in a span that declares the field `otel.kind`, that span is current in `opentelemetry::Context`.
//! Such a span allocates its context when it starts: once if the span is not sampled, twice
//! otherwise. Other spans allocate nothing. Records outside the pipeline's spans have the ids of
//! the current context.
//!
//! With [`Pipeline::tracer_provider`], spans that libraries start by
//! `opentelemetry::global::tracer` are the pipeline's. Libraries that need tracing-opentelemetry's
//! trait get its layer on it. The feature stands for version 0.33 of `opentelemetry`.
//!
//! # The flight recorder
//!
//! With the feature `tracing`, [`Builder::flight_recorder`] keeps the last seconds of all spans and
//! events in memory. [`Pipeline::write_flight`] writes them on demand. [`FlightRecorder::on_panic`]
//! and [`FlightRecorder::slower_than`] write a file when something went wrong, which has also the
//! spans that are still open. [Perfetto's viewer](https://ui.perfetto.dev) opens the file, with the
//! spans on the tracks of their threads. With the feature `otlp`, the file can be OTLP for a
//! collector. The recorder sees what [`Builder::filter`] accepts, so debug records may be there and
//! in no sink.
//!
//! # When records are lost
//!
//! - While the process lives and the sinks work, no record is lost, unless [`WhenFull`] drops it.
//!   The pipeline counts dropped records in a record with the target `tach_pipeline`.
//! - Of several [sinks](Sink#guarantees), one that fails or stalls loses only its own records:
//!   beyond [`Sink::buffer_bytes`], and if it stalls, after [`Sink::stall_timeout`]. The sink
//!   reports their number when it works again; [`Pipeline::stats`] counts them at once.
//! - A record longer than [`Builder::max_record_bytes`] is cut, and counts the bytes that it lacks.
//! - If a log file is moved, records are written to it for up to a second, and then to a new file.
//!   If it is deleted, its contents are lost, and later records are in a new file: see
//!   [`Sink::keep_open`].
//! - When the process exits, by a return from `main`, a panic or, on Unix, `std::process::exit` or
//!   `std::process::abort`, the pipeline is flushed, with a living [`Guard`] or with none. A
//!   collector that fails is tried again until the timeout. Then stderr has the numbers of records
//!   that wait in the queues and for each sink, and of those that were dropped. No sink waits for
//!   another one that stalls. [`Builder::flush_timeout`] sets how long the exit waits. On Windows
//!   call [`Pipeline::flush`] before `std::process::exit`.
//! - With the feature `survive`, on Linux, [`Builder::survive`] keeps the queues in a
//!   file. Then the next start writes what a killed process had not written: also after SIGKILL
//!   and a segmentation fault.
//! - Otherwise `exec` and a [signal](#signals) that ends the process lose the contents of the
//!   queues, and what is gathered for a collector: a second of records and spans, and the traces
//!   that [`Tail`] holds. Before `exec` call [`Pipeline::flush`]. [`Builder::flush_on`] makes the
//!   calls of a level wait until their records are written.
//! - When the last handle of a pipeline is dropped, the pipeline is flushed.
//! - If [`Pipeline::flush_on_panic`] was called, a flush follows a panic in any thread, also one
//!   that is caught.
//! - `fork` copies no threads. A child's first record starts a pipeline by the same options, which
//!   has none of the parent's records: see [the guide](_guide#forked-children). A writer of
//!   [`Sink::writer`] refuses the child's records, and a child that is made without the C library's
//!   `fork` drops and counts all of its records.
//!
//! A record may be logged within a call (by a value that logs when it is printed), in a sink, in a
//! panic, or while a thread ends. A record that is logged within a call is written before the
//! call's own record, which has the earlier time. A call on the back end's own thread never waits:
//! if its queue is full, the record is dropped and counted. A signal handler must not
//! log, since a call may allocate; a handler that logs nevertheless never waits for a call that it
//! interrupts, and loses and counts a record instead. With the pipeline as a layer, a span that
//! starts in the destructor of a thread-local value aborts the process, in tracing-subscriber's
//! registry.
//!
//! # Signals
//!
//! On Unix, [`Builder::init`] and [`Pipeline::flush_on_signals`] flush before SIGTERM, SIGINT,
//! SIGHUP or SIGQUIT ends the process. A program that handles one of these itself keeps its handler.
//!
//! SIGABRT has a handler too, unless the exit does not flush. It waits two seconds at most, but
//! not on the pipeline's own threads. Then the earlier action follows.
//!
//! SIGSEGV has no handler: the thread that would write may have the fault. [`Builder::survive`]
//! needs none.
//!
//! # Memory
//!
//! - For each thread that logs: a queue of up to 8 KiB, which grows up to
//!   [`Builder::queue_bytes`] while the back end naps or a sink stalls; up to 64 KiB for the record
//!   being written, more for a long one until the thread is quiet; up to 6 KiB for the numbers of
//!   static texts and 12 KiB for those of places in the source; and up to five times the latter
//!   three for calls within calls. A queue shrinks to
//!   32 KiB when it was read, to 8 KiB when its thread logs again after a pause, and is returned to
//!   the system when its thread has ended.
//! - For the process: 96 KiB of numbers for static texts, and 48 KiB of those for places.
//! - With [`Builder::survive`]: 420 KiB in a file, which also has the queues, 256 KiB for each
//!   signal of a collector, and up to 3 MiB for a flight recorder. A queue that once grew leaves
//!   its room in the file to other threads. What waits for a collector takes up to 4 MiB more for
//!   each of logs and spans while the collector answers.
//! - For each open span: 128 bytes, which stay for later spans, 16 more as a layer, and its fields
//!   if a sink takes events. Four million spans may be open.
//! - For each open span, if a sink or a flight recorder takes spans or durations are collected: a
//!   buffer for its records, which is 350 bytes for a span with three attributes. A record of 256
//!   KiB is cut, as [`Builder::max_record_bytes`] cuts log records: `truncated_bytes` is an
//!   attribute of the span or of the event. A span has up to 256 KiB beside its start, and 256
//!   bytes more for each event that [`Otlp::max_events`] allows beyond 128, up to 3 MiB. Later
//!   events, values and links are dropped and counted; an error among them sets the status
//!   nevertheless.
//! - For traces that wait until [`Tail`] decides about them: up to 32 MiB, or its bound. A quarter
//!   as much beside is for the ids of traces that it kept.
//! - For each histogram of durations: up to 2 KiB, or twice that with deltas, and 2,000 of them.
//! - For the flight recorder: up to 16 MiB, or its bound. While a dump is written, up to as much
//!   for its spans and events, as much for the open spans, and half as much to sort them.
//! - For the back end: 256 KiB of queues for later use, once they were needed; as much as it reads
//!   from the queues in a round; and for each sink up to 256 KiB, twice that for each of several,
//!   or 3 MiB while it fails or stalls. A collector's sink has up to 1 MiB for each of logs, spans
//!   and durations, and up to 32 MiB while the collector fails, or twice its
//!   [`Sink::buffer_bytes`].
//!
//! # Static texts
//!
//! Targets, keys and messages that are `&'static str` are recorded by number, and read by address
//! as long as the process lives. A library that logs may be unloaded with
//! [`Builder::copy_texts`] alone.

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
        pub use crate::front::tracing::span_ext::set_attributes;
    }
}

// The package `examples` compiles the snippets of these pages. Their own definitions of links lead
// to files; of two definitions the first counts.
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
