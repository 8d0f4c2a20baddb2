//! The event time: one time for everything that is written about an event.
//!
//! One event often becomes several lines: text, JSON, an OpenTelemetry record. Each writer that
//! reads a clock gets its own time. An [`Anchor`](crate::Anchor) is read once instead, and
//! [`during`] makes it the current event time of the thread while the event is handled. The timers
//! of tach-tracing, the lines of tach-log and the log records of tach-otel use [`current`] before
//! they read a clock.
//!
//! # Guarantees
//!
//! While an event time is current, every timer of tach-tracing prints that time, whatever clock the
//! timer has. A timer that counts from a start, such as an uptime, prints the time from the start
//! to the anchor's instant. (Both must belong to the same clock.)
//!
//! # Examples
//!
//! ```
//! use tach_core::{Anchor, UnixTime, event_time};
//!
//! /// A writer that uses the event time, if there is one.
//! fn line(message: &str) -> String {
//!     let time = event_time::current().map_or_else(UnixTime::now, Anchor::unix_time);
//!     format!("{time} {message}")
//! }
//!
//! let (one, other) = event_time::during(Anchor::now(), || (line("ready"), line("ready")));
//! assert_eq!(one, other);
//! ```

pub(crate) mod pinned;

pub use self::pinned::{current, during};
