//! A timer with a clock of its own.

use core::fmt;

use tach_core::Clock;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use super::Timer;

/// A timer with a clock of its own, from [`Timer::with_clock`] or [`Timer::strictly_increasing`].
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tach_core::ManualClock;
/// use tach_tracing::{Timer as _, Utc, WithClock};
///
/// fn timer(clock: Arc<ManualClock>) -> WithClock<Utc<3>, Arc<ManualClock>> {
///     Utc::<3>.with_clock(clock)
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct WithClock<T: Timer, C: Clock> {
    timer: T,
    clock: C,
}

impl<T: Timer, C: Clock> WithClock<T, C> {
    pub(crate) const fn new(timer: T, clock: C) -> Self {
        Self { timer, clock }
    }
}

impl<T: Timer, C: Clock> FormatTime for WithClock<T, C> {
    #[inline]
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        self.timer.print(&self.clock, writer);
        Ok(())
    }
}
