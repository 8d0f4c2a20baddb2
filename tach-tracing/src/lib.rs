//! A better clock for tracing in one line.
//!
//! Each type here is a timer for [`tracing-subscriber`](tracing_subscriber)'s `fmt` layer. Change
//! the argument of `with_timer`, and the timestamps come from [`tach_core`]'s clock and formatter:
//!
//! ```
//! tracing_subscriber::fmt().with_timer(tach_tracing::Uptime).init();
//! ```
//!
//! | timer | prints | like tracing-subscriber's |
//! |---|---|---|
//! | [`Uptime`] | `   0.000042000s` | `Uptime` |
//! | [`Utc`] | `2026-11-21T09:30:00.123456Z` | `SystemTime`, `ChronoUtc`, `UtcTime` |
//! | [`FixedOffset`] | `2026-11-21T10:30:00.123456+01:00` | `OffsetTime` |
//! | `Local` (feature `jiff`) | the same, by the system's zone | `ChronoLocal`, `LocalTime` |
//! | [`UnixSeconds`], [`UnixMillis`], [`UnixMicros`], [`UnixNanos`] | `1795268926884` | |
//! | [`Ticks`] | `81234567890`, to be converted later | |
//! | `Strftime` (feature `jiff`) | what its pattern says | those with a format of their own |
//!
//! # Layers
//!
//! | layer | does |
//! |---|---|
//! | [`EventTime`] | gives each event one time, which all layers within print |
//! | [`SpanTiming`] | measures how long spans are busy and idle, for every layer to read |
//! | [`CloseTimes`] | has layers print that when a span is closed, as `FmtSpan::CLOSE` does |
//!
//! ```
//! use tach_tracing::{CloseTimes, EventTime, SpanTiming, Utc};
//! use tracing_subscriber::filter::LevelFilter;
//! use tracing_subscriber::fmt;
//! use tracing_subscriber::prelude::*;
//!
//! let text = CloseTimes::new(fmt::layer().with_timer(Utc::<6>));
//! let json = CloseTimes::new(fmt::layer().json().with_timer(Utc::<6>));
//! let layers = text.with_filter(LevelFilter::INFO).and_then(json);
//! tracing_subscriber::registry()
//!     .with(SpanTiming::new())
//!     .with(EventTime::new(layers).with_span_events())
//!     .init();
//! ```
//!
//! Per-layer filters go around [`CloseTimes`] and within [`EventTime`], or around all.
//!
//! # Timers within a stamp
//!
//! Where a [`Stamp`](tach_core::Stamp) is pinned to the thread, by [`EventTime`] or by yourself, every timer
//! prints its time, whatever clock the timer has.
//!
//! # Errors and clocks
//!
//! A timer never fails: a layer that gets an error from its timer may lose the event.
//!
//! Each timer and each layer takes another clock by `with_clock`, such as a
//! [`ManualClock`](tach_core::ManualClock) in a test that compares whole lines. `Utc`, `FixedOffset`, `Local`
//! and those whose names begin with `Unix` have a variant that never prints the same time twice,
//! `strictly_increasing`, for those who key on timestamps; others don't pay for it. Within [`EventTime`] that
//! is undone, since its stamp is what they print: ask for it there, by [`EventTime::strictly_increasing`].
//!
//! # Features
//!
//! - `jiff`: `Local` and `Strftime`, which need to know time zones; see [jiff](https://docs.rs/jiff).

#![cfg_attr(docsrs, feature(doc_cfg))]

mod close_times;
mod during;
mod event_time;
mod form;
mod forward;
mod moment;
mod poison;
mod span_timing;
mod timers;
mod with_clock;

pub use crate::close_times::CloseTimes;
pub use crate::event_time::EventTime;
pub use crate::span_timing::{SpanDurations, SpanTimes, SpanTiming};
pub use crate::timers::{
    FixedOffset, Ticks, UnixMicros, UnixMillis, UnixNanos, UnixSeconds, Uptime, UptimeSince, Utc,
};
#[cfg(feature = "jiff")]
pub use crate::timers::{Local, PatternError, Strftime};
pub use crate::with_clock::WithClock;
