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
//! | [`Utc`] | `2026-11-21T09:30:00.123456Z` | `SystemTime` |
//!
//! A timer never fails: a layer that gets an error from its timer may lose the event.
//!
//! Each takes another clock by `with_clock`, such as a [`ManualClock`](tach_core::ManualClock) in a
//! test that compares whole lines.

#![forbid(unsafe_code)]

mod moment;
mod timers;
mod with_clock;

pub use crate::timers::{Uptime, Utc};
pub use crate::with_clock::WithClock;
