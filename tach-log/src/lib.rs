//! Timestamps for `log` and `slog` back ends, from the CPU's counter.
//!
//! `log` leaves the time to its back end, and most back ends take a format of your own.
//! [`timestamp`] is for there: RFC 3339 in UTC at a fixed width, read from tach's clock and written
//! without an allocation. With `env_logger`:
//!
//! ```
//! use std::io::Write;
//!
//! env_logger::Builder::from_default_env()
//!     .format(|line, record| {
//!         writeln!(line, "{} {} {}", tach_log::timestamp(), record.level(), record.args())
//!     })
//!     .init();
//! ```
//!
//! [`timestamp_by`] asks another clock, such as a [`ManualClock`](tach_core::ManualClock) in a test that
//! compares whole lines.
//!
//! # Features
//!
//! - `slog`: the module `slog`, with timestamps for `slog-term` and `slog-json`.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "slog")]
pub mod slog;
mod timestamp;

pub use crate::timestamp::{Timestamp, timestamp, timestamp_by};
