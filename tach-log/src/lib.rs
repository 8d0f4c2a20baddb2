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
//! The project's examples have a program for each. A format runs in the caller's thread, and so
//! does the write of most back ends. If your program logs much, `tach-pipeline` moves both to a
//! thread, with the same formats.
//!
//! # Where to go
//!
//! | you want | see |
//! |---|---|
//! | other keys, in another order | [`Keyed`], with all options of [`Json`] and [`Logfmt`] |
//! | the layout of a service or of another logger | [`Json::ecs`], [`Json::google_cloud`], [`Json::datadog`], [`Json::bunyan`], [`Line::tracing`] |
//! | a line for developers | [`Line::compact`] |
//! | one time for a record in several loggers, or another clock | [`EventTime`] |
//! | to know what is escaped and cut | [`Format`] |
//!
//! # What can go wrong
//!
//! - If the wall clock is set back, later lines have earlier times. With an
//!   [`IncreasingClock`](tach_core::IncreasingClock) in an [`EventTime`] each time is later than
//!   all before it.
//! - Lines of two threads may be written in another order than their times: a back end reads the
//!   clock before it takes its lock. `tach-pipeline` writes in the order of the times.
//! - `log` passes errors as values only with its feature `kv_std`: `err:err = error`.
//!
//! # Features
//!
//! - `local-time`: local time by the system's zone, through jiff: [`Json::local_time`],
//!   [`Line::local_time`].
//! - `serde`: values of `log`'s features `kv_serde` and `kv_sval` as objects and lists in [`Json`],
//!   which are texts without it, and errors with their sources.
//! - `slog`: [`EventTime`] as a drain of slog, and [`Timestamp`] as a value.

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
