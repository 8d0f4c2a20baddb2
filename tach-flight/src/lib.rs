//! The flight recorder of tach-pipeline: the last spans and events in memory, which are written
//! when something went wrong.
//!
//! Its [options](FlightRecorder) and its [formats](FlightFormat) are here, and tach-pipeline has
//! them under the same names.
//!
//! ```
//! use std::time::Duration;
//!
//! use tach_flight::{FlightFormat, FlightRecorder};
//!
//! let recorder = FlightRecorder::new()
//!     .folder("flight", FlightFormat::trace_events())
//!     .span_slower_than("request", Duration::from_secs(2));
//! ```
//!
//! The rest is hidden: only tach-pipeline uses it, and `cargo xtask api` compares it with a list.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![expect(
    missing_debug_implementations,
    clippy::must_use_candidate,
    reason = "of the hidden modules, which tach-pipeline alone uses"
)]

#[doc(hidden)]
pub mod files;
mod format;
#[doc(hidden)]
pub mod options;
#[cfg(feature = "otlp")]
mod otlp;
#[doc(hidden)]
pub mod recorder;
#[doc(hidden)]
pub mod requests;
mod ring;
#[doc(hidden)]
pub mod snapshot;
mod trace_events;
mod words;
#[doc(hidden)]
pub mod writing;

pub use crate::format::FlightFormat;
pub use crate::options::FlightRecorder;

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
