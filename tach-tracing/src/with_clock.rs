//! Timers by another clock than the system's.

use core::fmt;

use tach_core::Clock;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use crate::form::Form;

/// A timer that asks a clock of its own: what `with_clock` of every timer gives.
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
    timer: T,
    clock: C,
}

impl<T, C> WithClock<T, C> {
    pub(crate) const fn new(timer: T, clock: C) -> Self {
        Self { timer, clock }
    }
}

impl<T: Form, C: Clock> FormatTime for WithClock<T, C> {
    #[inline]
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        self.timer.print(&self.clock, writer);
        Ok(())
    }
}
