//! Timers by another clock than the system's.

use core::fmt;
use core::marker::PhantomData;

use tach_core::{Clock, Instant, rfc3339, seconds};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use crate::moment;
use crate::timers::{Uptime, Utc, write};

/// A timer that asks a clock of its own: made by [`Uptime::with_clock`] and [`Utc::with_clock`].
///
/// # Examples
///
/// ```
/// use tach_core::SystemClock;
/// use tach_tracing::{Utc, WithClock};
///
/// let timer: WithClock<Utc<3>, SystemClock> = Utc::<3>.with_clock(SystemClock);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct WithClock<T, C> {
    /// The timers so far hold nothing.
    timer: PhantomData<T>,
    clock: C,
    start: Instant,
}

impl<T, C: Clock> WithClock<T, C> {
    fn new(clock: C) -> Self {
        Self { timer: PhantomData, start: clock.now(), clock }
    }
}

impl Uptime {
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
    pub fn with_clock<C: Clock>(self, clock: C) -> WithClock<Self, C> {
        WithClock::new(clock)
    }
}

impl<const DIGITS: usize> Utc<DIGITS> {
    /// This timer by `clock`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_tracing::Utc;
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// tracing_subscriber::fmt().with_timer(Utc::<3>.with_clock(&CLOCK)).init();
    /// tracing::info!("1970-01-01T00:00:00.000Z, in a test");
    /// ```
    #[must_use]
    pub fn with_clock<C: Clock>(self, clock: C) -> WithClock<Self, C> {
        WithClock::new(clock)
    }
}

impl<C: Clock> FormatTime for WithClock<Uptime, C> {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let uptime = self.clock.duration_between(self.start, moment::instant(&self.clock));
        seconds::with_text(uptime, |text| write(writer, text));
        Ok(())
    }
}

impl<const DIGITS: usize, C: Clock> FormatTime for WithClock<Utc<DIGITS>, C> {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let time = moment::unix_time(&self.clock);
        rfc3339::with_text::<DIGITS, _>(time, |text| write(writer, text));
        Ok(())
    }
}
