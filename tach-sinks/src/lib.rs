//! Log files with rotation, syslog and systemd's journal, for any crate that formats records.
//!
//! - [`File`] appends to a file, with a [`Rotation`] if you want one.
//! - `Syslog`, with the feature `syslog`, sends messages to a daemon on this machine, or over UDP
//!   or TCP.
//! - `Journald`, on Linux, sends entries to systemd's journal.
//!
//! Each opens a [`Writer`], an [`io::Write`](std::io::Write) that tries again what fails. Its
//! documentation says what may be lost.
//!
//! ```
//! use std::io::Write as _;
//!
//! use tach_sinks::{File, Rotation};
//!
//! # let folder = std::env::temp_dir().join(format!("tach-sinks-{}", std::process::id()));
//! # let path = folder.join("app.log");
//! let rotation = Rotation::new().daily().max_bytes(100 * 1024 * 1024).keep(14);
//! let mut writer = File::new(&path).rotate(rotation).open()?;
//! writeln!(writer, "ready")?;
//! assert_eq!(std::fs::read_to_string(&path)?, "ready\n");
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A program that wants a queue, a thread and formats too takes tach-pipeline, whose sinks are
//! built on this crate. `tracing_appender::non_blocking` and `slog_async` move a writer to a
//! thread.
//!
//! # With tracing-subscriber
//!
//! ```
//! use std::sync::Mutex;
//!
//! # let path = std::env::temp_dir().join(format!("tach-sinks-tracing-{}.log", std::process::id()));
//! let writer = tach_sinks::File::new(&path).open()?;
//! let subscriber =
//!     tracing_subscriber::fmt().with_ansi(false).with_writer(Mutex::new(writer)).finish();
//! tracing::subscriber::with_default(subscriber, || tracing::info!(port = 3000, "ready"));
//! assert!(std::fs::read_to_string(&path)?.ends_with("ready port=3000\n"));
//! # std::fs::remove_file(path)?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # With fern
//!
//! ```
//! use std::io::Write;
//!
//! # let path = std::env::temp_dir().join(format!("tach-sinks-fern-{}.log", std::process::id()));
//! let writer: Box<dyn Write + Send> = Box::new(tach_sinks::File::new(&path).open()?);
//! let (_, logger) = fern::Dispatch::new().chain(writer).into_log();
//! logger.log(&log::Record::builder().args(format_args!("ready")).build());
//! assert_eq!(std::fs::read_to_string(&path)?, "ready\n");
//! # std::fs::remove_file(path)?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # With slog
//!
//! `ignore_res`, since `fuse` panics when a record is lost:
//!
//! ```
//! use std::sync::Mutex;
//!
//! use slog::Drain as _;
//!
//! # let path = std::env::temp_dir().join(format!("tach-sinks-slog-{}.log", std::process::id()));
//! let writer = tach_sinks::File::new(&path).open()?;
//! let drain = Mutex::new(slog_json::Json::new(writer).build()).ignore_res();
//! let logger = slog::Logger::root(drain, slog::o!());
//! slog::info!(logger, "ready"; "port" => 3000);
//! assert_eq!(std::fs::read_to_string(&path)?, "{\"port\":3000}\n");
//! # std::fs::remove_file(path)?;
//! # Ok::<(), std::io::Error>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
pub mod adapter;
mod batch;
mod export;
mod failure;
mod faults;
mod file;
mod incident;
#[cfg(target_os = "linux")]
mod journald;
mod log_file;
mod notes;
mod os;
mod output;
mod owner;
mod receiver;
mod rotation;
mod severity;
mod standard;
#[cfg(feature = "syslog")]
mod syslog;
mod writer;

pub use self::file::File;
pub use self::incident::{Incident, Task};
#[cfg(target_os = "linux")]
pub use self::journald::Journald;
pub use self::log_file::SyncPolicy;
pub use self::rotation::{Names, Rotation};
pub use self::severity::Severity;
#[cfg(feature = "syslog")]
pub use self::syslog::{Facility, Syslog};
pub use self::writer::Writer;

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
