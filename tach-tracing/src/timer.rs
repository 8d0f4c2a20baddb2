//! The type of all timers.

use core::fmt;

use tach_core::{Clock, SystemClock};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use self::sealed::{Digits, Format};

/// A timer for `tracing-subscriber`: a format of this crate, and a clock.
///
/// The constants [`Utc`](const@crate::Utc), `Local`, [`Uptime`](const@crate::Uptime),
/// [`UnixMillis`](const@crate::UnixMillis) and [`UnixNanos`](const@crate::UnixNanos) are timers.
/// [`FixedOffset::new`](crate::FixedOffset::new) and [`Uptime::since`](crate::Uptime::since())
/// create others. The type of a timer names its format: `Timer<Utc>`.
///
/// A timer prints the [event time](tach_core::event_time) of its thread if there is one, or else
/// the time of its clock. [`with_clock`](Self::with_clock) replaces the system's clock, for
/// instance with a `ManualClock` in a test that compares whole lines. A timer never fails, since a
/// layer may lose the event if its timer does. It keeps the last text for each thread, and writes
/// only the digits that have changed.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tach_core::ManualClock;
/// use tach_tracing::{Timer, Utc};
///
/// fn timer(clock: Arc<ManualClock>) -> Timer<Utc, Arc<ManualClock>> {
///     Utc.digits(3).with_clock(clock)
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Timer<F, C = SystemClock> {
    format: F,
    clock: C,
}

impl<F> Timer<F> {
    pub(crate) const fn new(format: F) -> Self {
        Self { format, clock: SystemClock }
    }
}

impl<F: Format, C> Timer<F, C> {
    /// Sets the clock: a [`ManualClock`](tach_core::ManualClock) in a test, or an
    /// [`IncreasingClock`](tach_core::IncreasingClock) for timestamps that serve as keys.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_tracing::Utc;
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// tracing_subscriber::fmt().with_timer(Utc.digits(3).with_clock(&CLOCK)).init();
    /// tracing::info!("1970-01-01T00:00:00.000Z, in a test");
    /// ```
    ///
    /// No two timestamps are equal, and the later one is greater, across all timers and layers with
    /// one `IncreasingClock`, if its resolution is that of the last digit (`cargo run --example
    /// timer_increasing`):
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::{IncreasingClock, SystemClock};
    /// use tach_tracing::Utc;
    ///
    /// static CLOCK: IncreasingClock = IncreasingClock::new(SystemClock, Duration::from_micros(1));
    ///
    /// tracing_subscriber::fmt().with_timer(Utc.with_clock(&CLOCK)).init();
    /// tracing::info!("one");
    /// tracing::info!("another, later");
    /// ```
    #[must_use]
    pub fn with_clock<D: Clock>(self, clock: D) -> Timer<F, D> {
        Timer { format: self.format.begun_by(&clock), clock }
    }
}

impl<F: Digits, C> Timer<F, C> {
    /// Sets the number of digits of a second's fraction, from 0 to 9. Six by default.
    ///
    /// [`Utc`](const@crate::Utc), [`FixedOffset`](crate::FixedOffset) and `Local` have this method.
    ///
    /// # Examples
    ///
    /// ```
    /// tracing_subscriber::fmt().with_timer(tach_tracing::Utc.digits(3)).init();
    /// tracing::info!("2026-11-21T09:30:00.123Z");
    /// ```
    #[must_use]
    pub fn digits(mut self, digits: usize) -> Self {
        *self.format.digits() = digits;
        self
    }
}

impl<F: Format, C: Clock> FormatTime for Timer<F, C> {
    #[inline]
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        self.format.print(&self.clock, writer);
        Ok(())
    }
}

/// Bounds that no other crate can name.
pub(crate) mod sealed {
    use tach_core::Clock;
    use tracing_subscriber::fmt::format::Writer;

    /// The text of a timer.
    pub trait Format: Sized {
        /// Writes the event time or, without one, the time of `clock`.
        ///
        /// Ignores errors of the writer: the JSON format drops an event whose timer fails.
        fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>);

        /// Returns this format for a timer that begins now, by `clock`.
        #[must_use]
        fn begun_by(self, _clock: &impl Clock) -> Self {
            self
        }
    }

    /// A format whose number of digits of a second can be chosen.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` has no choice of digits",
        note = "`Utc`, `FixedOffset` and `Local` have one"
    )]
    pub trait Digits: Format {
        /// Returns the number of digits, for a change.
        fn digits(&mut self) -> &mut usize;
    }
}
