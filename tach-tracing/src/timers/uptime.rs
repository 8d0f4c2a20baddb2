//! Time since a start.

use tach_core::{Clock, Instant, adapter};
use tracing_subscriber::fmt::format::Writer;

use super::{current, write};
use crate::timer::Timer;
use crate::timer::sealed::Format;

/// The format of the timer [`Uptime`](const@Uptime), whose type is `Timer<Uptime>`.
#[derive(Debug, Clone, Copy)]
pub struct Uptime {
    start: Option<Instant>,
}

/// A timer that prints the time since a start: `   0.000042000s`.
///
/// The default start is this process's first use of tach: call [`tach_core::uptime`] at the start
/// of `main` to begin there. With another clock, the default start is the call of
/// [`with_clock`](Timer::with_clock). The text has the form of tracing-subscriber's `Uptime`.
///
/// # Cost
///
/// A counter read and the digits. No allocation, no lock.
///
/// # Examples
///
/// ```
/// use tach_tracing::Uptime;
///
/// tach_core::uptime();
/// tracing_subscriber::fmt().with_timer(Uptime).init();
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
#[expect(non_upper_case_globals, reason = "a timer reads like a unit struct")]
pub const Uptime: Timer<Uptime> = Timer::new(Uptime { start: None });

impl Uptime {
    /// Creates a timer that prints the time since `start`, or zero before it.
    ///
    /// `start` must be an instant of the timer's clock.
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
    pub fn since(start: impl Into<Instant>) -> Timer<Self> {
        Timer::new(Self { start: Some(start.into()) })
    }
}

impl Format for Uptime {
    fn begun_by(self, clock: &impl Clock) -> Self {
        Self { start: Some(self.start.unwrap_or_else(|| clock.now())) }
    }

    #[inline]
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        let now = current::instant(clock);
        let uptime = match self.start {
            // Without a start, the clock is tach's own: `begun_by` sets a start for any other
            // clock.
            None => adapter::uptime_at(now),
            Some(start) => clock.duration_between(start, now),
        };
        adapter::seconds::with_text(uptime, |text| write(writer, text));
    }
}
