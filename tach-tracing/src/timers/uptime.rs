//! Time since a start.

use core::fmt;

use tach_core::{Clock, Instant, SystemClock, seconds, uptime_at};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use crate::WithClock;
use crate::form::{Form, impl_format_time, write};
use crate::moment;

/// Prints the time since this process first used tach: `   0.000042000s`.
///
/// The text is that of tracing-subscriber's `Uptime`, which counts from its own construction. Call
/// [`tach_core::uptime`] where the count shall begin, at the start of `main` for instance; without
/// that it begins with the first event. To count from elsewhere, see [`since`](Self::since).
///
/// # Cost
///
/// A counter read and the digits. No allocation, no lock.
///
/// # Examples
///
/// ```
/// tach_core::uptime();
/// tracing_subscriber::fmt().with_timer(tach_tracing::Uptime).init();
/// tracing::info!("starting");
/// std::thread::sleep(std::time::Duration::from_millis(42));
/// tracing::info!("ready");
/// ```
///
/// `cargo run --example timer_uptime` prints
///
/// ```text
///    0.000317344s  INFO timer_uptime: starting
///    0.042454886s  INFO timer_uptime: ready
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Uptime;

impl Uptime {
    /// The timer that prints the time since `start`, and no time before it.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::Instant;
    /// use tach_tracing::Uptime;
    ///
    /// let start = Instant::now();
    /// tracing_subscriber::fmt().with_timer(Uptime::since(start)).init();
    /// tracing::info!("ready");
    /// ```
    #[must_use]
    pub fn since(start: impl Into<Instant>) -> UptimeSince {
        UptimeSince { start: start.into() }
    }

    /// This timer by `clock`, from now on: it prints the time since this call.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use tach_core::ManualClock;
    /// use tach_tracing::Uptime;
    ///
    /// let clock = Arc::new(ManualClock::default());
    /// let subscriber = tracing_subscriber::fmt().with_timer(Uptime.with_clock(clock.clone())).finish();
    /// clock.advance(Duration::from_millis(42));
    /// tracing::subscriber::with_default(subscriber, || tracing::info!("   0.042000000s, in a test"));
    /// ```
    #[must_use]
    pub fn with_clock<C: Clock>(self, clock: C) -> WithClock<UptimeSince, C> {
        Self::since(clock.now()).with_clock(clock)
    }
}

impl FormatTime for Uptime {
    #[inline]
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        seconds::with_text(uptime_at(moment::instant(&SystemClock)), |text| write(writer, text));
        Ok(())
    }
}

/// Prints the time since an instant, as [`Uptime`] does: made by [`Uptime::since`].
///
/// # Examples
///
/// ```
/// use tach_core::Instant;
/// use tach_tracing::{Uptime, UptimeSince};
///
/// let timer: UptimeSince = Uptime::since(Instant::now());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UptimeSince {
    start: Instant,
}

impl UptimeSince {
    /// This timer by `clock`, of which the instant must be.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Clock, ManualClock, UnixTime};
    /// use tach_tracing::Uptime;
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// let timer = Uptime::since(CLOCK.now()).with_clock(&CLOCK);
    /// ```
    #[must_use]
    pub fn with_clock<C: Clock>(self, clock: C) -> WithClock<Self, C> {
        WithClock::new(self, clock)
    }
}

impl_format_time!([] UptimeSince);

impl Form for UptimeSince {
    #[inline]
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        let uptime = clock.duration_between(self.start, moment::instant(clock));
        seconds::with_text(uptime, |text| write(writer, text));
    }
}
