//! Unix time as a number.

use tach_core::{Clock, adapter};
use tracing_subscriber::fmt::format::Writer;

use super::{current, write};
use crate::timer::Timer;
use crate::timer::sealed::Format;

/// The format of the timer [`UnixMillis`](const@UnixMillis), whose type is `Timer<UnixMillis>`.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct UnixMillis {}

/// A timer that prints the Unix time in milliseconds, rounded down: `1795268926884`.
///
/// JSON has it [as a text](crate#what-can-go-wrong).
///
/// # Cost
///
/// A counter read and the digits. No allocation, no lock, no shared write.
///
/// # Examples
///
/// ```
/// tracing_subscriber::fmt().with_timer(tach_tracing::UnixMillis).init();
/// tracing::info!("ready");
/// ```
///
/// `cargo run --example timer_unix` prints among others
///
/// ```text
/// 1795268926884  INFO timer_unix: ready
/// ```
#[expect(non_upper_case_globals, reason = "a timer reads like a unit struct")]
pub const UnixMillis: Timer<UnixMillis> = Timer::new(UnixMillis {});

impl Format for UnixMillis {
    #[inline]
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        let time = current::unix_time(clock);
        adapter::decimal::with_text(time.as_millis(), |text| write(writer, text));
    }
}

/// The format of the timer [`UnixNanos`](const@UnixNanos), whose type is `Timer<UnixNanos>`.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct UnixNanos {}

/// A timer that prints the Unix time in nanoseconds: `1795268926884625034`.
///
/// It has the cost of [`UnixMillis`](const@UnixMillis), and is a text in JSON too.
///
/// # Examples
///
/// ```
/// tracing_subscriber::fmt().with_timer(tach_tracing::UnixNanos).init();
/// tracing::info!("ready");
/// ```
#[expect(non_upper_case_globals, reason = "a timer reads like a unit struct")]
pub const UnixNanos: Timer<UnixNanos> = Timer::new(UnixNanos {});

impl Format for UnixNanos {
    #[inline]
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        let time = current::unix_time(clock);
        adapter::decimal::with_text(time.as_nanos(), |text| write(writer, text));
    }
}
