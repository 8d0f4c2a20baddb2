//! Sends logs, spans and metrics to an OpenTelemetry collector: [OTLP] without an SDK, a runtime or
//! generated code.
//!
//! A logger or a tracer of your own gathers what it records as protobuf, and sends it now and then
//! from a thread that may wait:
//!
//! ```
//! use tach_log::Event;
//! use tach_otlp::encode::LogRecords;
//! use tach_otlp::{Exporter, Otlp, Rejection, Signal};
//! # use tach_log::Format as _;
//!
//! fn gather(event: &Event<'_>, batch: &mut Vec<u8>) -> std::io::Result<()> {
//!     LogRecords::new().write(event, batch)
//! }
//!
//! fn send(exporter: &mut Exporter, batch: &mut Vec<u8>) {
//!     std::thread::sleep(exporter.pause(Signal::Logs));
//!     match exporter.send(Signal::Logs, batch) {
//!         Ok(()) => batch.clear(),
//!         // The same batch may be accepted later.
//!         Err(Rejection::Later { error, .. }) => eprintln!("{error}"),
//!         Err(Rejection::Whole { reason } | Rejection::Never { reason, .. }) => {
//!             eprintln!("the collector refused the records: {reason}");
//!             batch.clear();
//!         }
//!     }
//! }
//!
//! let otlp = Otlp::from_env().service_name("checkout");
//! let mut exporter = otlp.exporter()?;
//! # Ok::<(), tach_otlp::Error>(())
//! ```
//!
//! The crate `tach-pipeline` does that for `log`, slog and tracing.
//!
//! | to the collector | feature | |
//! |---|---|---|
//! | protobuf over HTTP/1.1, port 4318 | | the default |
//! | gRPC, port 4317 | `grpc` | `OTEL_EXPORTER_OTLP_PROTOCOL=grpc`, or [`Otlp::protocol`] |
//! | either of them by TLS | `tls` | an endpoint that begins with `https://` |
//!
//! HTTP is [`ureq`]'s: [`Otlp::from_env`] also reads the usual variables of proxies. gRPC has no
//! proxy, and a SOCKS proxy is refused. A redirect is followed within the collector's host, port
//! and scheme. If a host has several addresses, one that does not answer within 250 ms leaves its
//! turn to the next.
//!
//! The clients below log through `log`. A logger that sends its own records must drop those of the
//! thread that sends, while it sends: each request would log the records of the next one.
//!
//! [OTLP]: https://opentelemetry.io/docs/specs/otlp/
//! [`ureq`]: https://docs.rs/ureq

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
pub mod adapter;
mod advice;
pub mod encode;
mod error;
mod exporter;
#[cfg(feature = "grpc")]
mod grpc;
mod http;
mod options;
mod rejection;
mod secret;
mod security;
mod signal;
mod socket;
#[cfg(feature = "tls")]
mod tls;

pub use self::encode::metadata::Metadata;
pub use self::error::Error;
pub use self::exporter::Exporter;
pub use self::options::{Compression, Otlp, Protocol, Temporality};
pub use self::rejection::Rejection;
pub use self::signal::Signal;

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
