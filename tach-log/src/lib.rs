//! Lines for `log` and `slog` back ends: text, JSON and logfmt, one safe line a record, timed by the CPU's
//! counter.
//!
//! `log` leaves the format to its back end, and most back ends take one of your own. [`write_line`],
//! [`write_json`] and [`write_logfmt`] are for there. With `env_logger`:
//!
//! ```
//! env_logger::Builder::from_default_env().format(tach_log::write_line).init();
//! log::info!(port = 3000; "ready");
//! ```
//!
//! | back end | format |
//! |---|---|
//! | `env_logger` | `.format(tach_log::write_line)` |
//! | `fern` | `.format(\|out, _, record\| out.finish(format_args!("{}", tach_log::line(record))))` |
//! | `flexi_logger` | `.format(\|out, _, record\| write!(out, "{}", tach_log::line(record)))` |
//! | `log4rs` | an `Encode` that calls `tach_log::write_line(&mut *writer, record)` |
//! | `slog-term`, `slog-json` | the module `slog`, with the feature of that name |
//!
//! The project's examples have a program for each. Where the format is your own, [`timestamp`] is the time
//! alone: RFC 3339 in UTC at a fixed width, written without an allocation.
//!
//! # One record, one time
//!
//! All of them print the time of the current [`Stamp`](tach_core::Stamp), if there is one, and read the clock
//! otherwise. [`Stamped`] around a logger makes there be one, so that a record has one time in all
//! [`Sinks`].
//!
//! What ends in `_by` asks another clock, such as a [`ManualClock`](tach_core::ManualClock) in a test that
//! compares whole lines.
//!
//! # Features
//!
//! - `slog`: the module `slog`, with timestamps for `slog-term` and `slog-json`, also behind `slog-async`.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
pub mod adapter;
mod display;
#[allow(
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    reason = "Format replaces it"
)]
pub(crate) mod encode;
mod io_text;
mod moment;
#[allow(missing_docs, clippy::missing_errors_doc, reason = "Format replaces it")]
mod record;
mod sinks;
#[cfg(feature = "slog")]
pub mod slog;
mod stamped;
mod timestamp;
mod write;

pub use crate::display::{json, json_by, line, line_by, logfmt, logfmt_by};
pub use crate::sinks::Sinks;
pub use crate::stamped::Stamped;
pub use crate::timestamp::{Timestamp, timestamp, timestamp_by};
pub use crate::write::{
    write_json, write_json_by, write_line, write_line_by, write_logfmt, write_logfmt_by,
};
