//! Spans of `tracing` as records: the part of tach-pipeline between the records of
//! [tach-record](tach_record) and the pipeline.
//!
//! The options of spans are here: which traces are [sampled](Sampling) at their start or kept at
//! their [end](Tail), whose [durations](Durations) are collected, and which
//! [context](TraceContext) of another process a span continues. tach-pipeline has them under the
//! same names, and its documentation says how they are used.
//!
//! ```
//! use tach_spans::{Sampling, TraceContext};
//!
//! let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
//! let caller = TraceContext::from_headers(header, "").unwrap();
//! assert_eq!((caller.span_id(), caller.is_sampled()), (0xb7ad_6b71_6920_3331, true));
//! let sampling = Sampling::ratio(0.01).span("health", 0.0);
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
pub mod callsites;
#[doc(hidden)]
pub mod durations;
mod faults;
#[cfg(feature = "otlp")]
#[doc(hidden)]
pub mod otlp;
#[doc(hidden)]
pub mod spans;
#[doc(hidden)]
pub mod trace;

use tach_record::sync;

pub use crate::durations::options::Durations;
pub use crate::durations::snapshot::SpanDurations;
pub use crate::faults::Fault;
pub use crate::spans::tail::Tail;
pub use crate::trace::sampling::Sampling;
pub use crate::trace::w3c::TraceContext;

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
