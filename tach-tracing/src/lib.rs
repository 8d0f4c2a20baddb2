//! A better clock for tracing in one line.
//!
//! [`init`] does what [`tracing_subscriber::fmt::init`] does, `RUST_LOG` included, and the
//! timestamps come from [`tach_core`]:
//!
//! ```
//! tach_tracing::init();
//! tracing::info!("ready");
//! ```
//!
//! If your tracing-subscriber has the feature `env-filter`, turn on that of tach-tracing too:
//! `RUST_LOG` then has `EnvFilter`'s directives.
//!
//! Where you build the subscriber yourself, change the argument of `with_timer`:
//!
//! ```
//! tracing_subscriber::fmt().with_timer(tach_tracing::Uptime).init();
//! ```
//!
//! | timer | prints |
//! |---|---|
//! | [`Utc`](const@Utc) | `2026-11-21T09:30:00.123456Z` |
//! | [`FixedOffset::new`] | `2026-11-21T10:30:00.123456+01:00` |
//! | [`Local`](const@Local) (feature `jiff`) | the same, in the system's zone |
//! | [`Uptime`](const@Uptime) | `   0.000042000s` |
//! | [`UnixMillis`](const@UnixMillis), [`UnixNanos`](const@UnixNanos) | `1795268926884` |
//!
//! [`digits`](Timer::digits) sets the digits of a second: `Utc.digits(3)`. [Moving a service
//! over](https://docs.rs/tach-pipeline/latest/tach_pipeline/_moving/#tracing-subscriber) says which
//! of them replaces which timer of tracing-subscriber, and how `fmt` itself may be replaced.
//!
//! # Layers
//!
//! | layer | does |
//! |---|---|
//! | [`EventTime`] | gives each event one time in all layers inside it |
//! | [`SpanTiming`] | measures how long spans are busy and idle, by any clock, for other layers |
//!
//! ```
//! use tach_tracing::{EventTime, Utc};
//! use tracing_subscriber::filter::LevelFilter;
//! use tracing_subscriber::fmt::{self, format::FmtSpan};
//! use tracing_subscriber::prelude::*;
//!
//! let text = fmt::layer().with_timer(Utc).with_span_events(FmtSpan::CLOSE);
//! let json = fmt::layer().json().with_timer(Utc).with_span_events(FmtSpan::CLOSE);
//! let layers = text.with_filter(LevelFilter::INFO).and_then(json);
//! tracing_subscriber::registry().with(EventTime::new(layers).with_span_events()).init();
//! ```
//!
//! `fmt::Layer::json` needs the feature `json` of tracing-subscriber.
//!
//! Per-layer filters go inside [`EventTime`], or around everything. If each layer has a
//! filter, `EventTime::new(vec![a.boxed(), b.boxed()])` loses no event, where `a.and_then(b)`
//! loses those that only `a`'s filter wants (see [`EventTime`]).
//!
//! # What can go wrong
//!
//! - If the wall clock is set back, later lines have earlier times. With an
//!   [`IncreasingClock`](tach_core::IncreasingClock) each timestamp is later than all that were
//!   read before it.
//! - Events of two threads may be written in another order than their times: a timer reads the
//!   clock before the writer's lock is taken. `tach-pipeline` writes in the order of the times.
//! - Without an [`EventTime`] around two layers, an event has two times.
//! - tracing-subscriber's JSON format writes the text of every timer as a JSON string, so a timer
//!   can't write a number ([tracing#1509](https://github.com/tokio-rs/tracing/issues/1509)).
//!   tach-log's `Json::new().unix()`, a format of tach-pipeline, writes Unix time as a number.
//! - [`Local`](const@Local) prints UTC if the system's zone can't be found.
//!
//! # Features
//!
//! - `jiff`: [`Local`](const@Local), with time zones from [jiff](https://docs.rs/jiff).

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(feature = "jiff"),
    allow(
        rustdoc::broken_intra_doc_links,
        reason = "the front page names items of features, and CI checks its links with all of them"
    )
)]

mod init;
mod layers;
mod thread_cell;
mod timer;
mod timers;

pub use crate::init::{init, try_init};
pub use crate::layers::{EventTime, SpanDurations, SpanTimes, SpanTiming};
pub use crate::timer::Timer;
#[cfg(feature = "jiff")]
pub use crate::timers::Local;
pub use crate::timers::{FixedOffset, UnixMillis, UnixNanos, Uptime, Utc};
#[doc(no_inline)]
pub use tach_core::Offset;

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
