//! Formats and timestamps for the back ends of `log` and slog: one safe line a record, as text,
//! JSON or logfmt, timed by the CPU's counter.
//!
//! ```
//! use env_logger::{Builder, Env};
//! use tach_log::Json;
//!
//! let env = Env::default().default_filter_or("info");
//! Builder::from_env(env).format(tach_log::write(Json::new())).init();
//! log::info!(port = 3000; "ready");
//! ```
//!
//! writes
//!
//! ```text
//! {"ts":"2026-11-21T09:30:00.123456Z","level":"INFO","target":"app","msg":"ready","port":3000}
//! ```
//!
//! [`Line`], [`Json`] and [`Logfmt`] are formats; a [`Format`] of your own takes a few lines. Each
//! back end takes one in a single expression:
//!
//! | back end | expression |
//! |---|---|
//! | `env_logger` | `.format(write(Line::new()))` |
//! | `fern` | `.format(\|out, _, record\| out.finish(format_args!("{}", display(Line::new(), record))))` |
//! | `flexi_logger` | `.format(\|out, _, record\| write!(out, "{}", display(Line::new(), record)))` |
//! | `log4rs` | `Ok(write(Line::new())(out, record)?)` in an `Encode` of your own |
//! | `slog-term` | `.use_custom_timestamp(\|out\| write!(out, "{}", Timestamp::new()))` |
//! | `slog-json` | `.add_key_value(o!("ts" => Timestamp::new()))` |
//!
//! The project's examples have a program for each. If your program logs much, `tach-pipeline` moves
//! formatting and writing to a thread, with the same formats.
//!
//! # Why
//!
//! - A record is one line, whatever its message and its values contain: line ends and control
//!   characters are escaped.
//! - The timestamp is exact to the microsecond and costs little more than the read of the counter.
//! - The same formats work in each back end above, so a program can change its back end and keep
//!   its lines.
//!
//! A format runs in the caller's thread, and so does the write of most back ends.
//!
//! # What can go wrong
//!
//! - If the wall clock is set back, later lines have earlier times, as with every timestamp of
//!   Unix time. With an [`IncreasingClock`](tach_core::IncreasingClock) in an [`EventTime`] each
//!   is later than all before it.
//! - Lines of two threads may be written in another order than their times: a back end reads the
//!   clock before it takes its lock. `tach-pipeline` writes in the order of the times.
//! - Two loggers without an [`EventTime`] around them give one record two times.
//! - `log` passes errors as values only with its feature `kv_std`: `err:err = error`.
//! - Without the feature `serde`, objects and lists among `log`'s values are texts in [`Json`].
//!
//! # One record, one time
//!
//! Every format and every [`Timestamp`] prints the event time of the thread, if there is one, and
//! reads the clock otherwise. [`EventTime`] around one or several loggers sets the event time, so
//! that a record has one time in all outputs. Its [`with_clock`](EventTime::with_clock) takes
//! another clock, such as a [`ManualClock`](tach_core::ManualClock) in a test that compares whole
//! lines.
//!
//! # Layouts
//!
//! [`Json`] and [`Logfmt`] share their options, the methods of [`Keyed`]: they rename, order, add
//! and drop the parts of an event, and choose how time and level are written. [`Json::ecs`],
//! [`Json::google_cloud`], [`Json::datadog`] and [`Json::bunyan`] are the layouts that these services
//! read. [`Line::compact`] is the line for developers, and [`Line::tracing`] the line of
//! `tracing_subscriber::fmt`. Each key stands once in every format, with its innermost value; a
//! field whose key is in use gets another, as `level_` or `level_2`.
//!
//! # Bounds
//!
//! Whoever sends a request may choose the keys and the values that a service logs. A record has at
//! most 1,024 fields, a key 256 bytes, and a nested value 64 levels, since readers refuse deeper
//! JSON. What is beyond is cut, and the field `truncated_bytes` counts the bytes that the record
//! lacks. Formatting takes time in proportion to the record, whatever its keys are. A value that
//! fails or panics is a note, `<failed to format>` or `<panicked>`, and the fields behind it stay.
//!
//! # Features
//!
//! - `local-time`: local time by the system's zone, with summer time, through jiff:
//!   [`Json::local_time`], [`Line::local_time`].
//! - `serde`: values of `log`'s features `kv_serde` and `kv_sval` as objects and lists in [`Json`],
//!   and errors among `log`'s values with their sources.
//! - `slog`: [`EventTime`] as a drain of slog, also for `slog-async`, and [`Timestamp`] as a value.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(feature = "local-time"),
    allow(
        rustdoc::broken_intra_doc_links,
        reason = "the front page names items of features, and CI checks its links with all of them"
    )
)]

#[doc(hidden)]
pub mod adapter;
mod bounds;
mod escape;
mod event;
mod event_time;
mod format;
#[cfg(feature = "serde")]
mod nested;
mod record;
mod timestamp;
mod value;
mod write;

pub use crate::event::{Event, Span};
pub use crate::event_time::EventTime;
pub use crate::format::{Format, Json, Keyed, Line, Logfmt, Part};
pub use crate::timestamp::Timestamp;
pub use crate::value::{Chain, Value};
pub use crate::write::{display, write};
#[doc(no_inline)]
pub use tach_core::Offset;

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
