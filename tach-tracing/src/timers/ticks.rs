//! The counter itself.

use tach_core::{Clock, SystemClock, adapter};
use tracing_subscriber::fmt::format::Writer;

use super::{current, write};
use crate::tick_scale::TickScale;
use crate::timer::sealed::Print;
use crate::timer::{Timer, WithClock, impl_format_time};

/// A timer that prints the tick of the CPU's counter: `81234567890`.
///
/// [`TickScale`] converts ticks to times later, with scales that the program logs at its start, at
/// its end and now and then. Between two scales a time is exact to microseconds. After the last one
/// it depends on the rate that the scale has, and in the first second of a process the rate may be
/// off by a thousandth. `tach convert` (`cargo install tach-cli`) converts a log.
///
/// # Cost
///
/// A counter read and the digits. No allocation, no lock, no shared write.
///
/// # Examples
///
/// ```
/// use tach_tracing::Ticks;
///
/// tracing_subscriber::fmt().with_timer(Ticks).init();
/// tracing::info!("{}", Ticks.scale());
/// tracing::info!("ready");
/// ```
///
/// `cargo run --example timer_ticks` prints among others
///
/// ```text
/// 92252974193258  INFO tick=92252974096486 time=2026-11-21T13:53:49.643251389Z ns_per_tick=...
/// 92252974331362  INFO request number=1
/// 92252974350160  INFO request number=2
/// ```
///
/// and `tach convert` converts the last two lines to
///
/// ```text
/// 2026-11-21T13:53:49.643345340Z  INFO request number=1
/// 2026-11-21T13:53:49.643352859Z  INFO request number=2
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ticks;

impl Ticks {
    /// Returns the scale of the ticks at this moment, to be logged beside them.
    ///
    /// # Cost
    ///
    /// Three conversions.
    ///
    /// # Examples
    ///
    /// ```
    /// tracing::info!("{}", tach_tracing::Ticks.scale());
    /// ```
    #[must_use]
    pub fn scale(self) -> TickScale {
        TickScale::now(&SystemClock)
    }
}

impl<C: Clock> WithClock<Ticks, C> {
    /// Returns the scale of the clock's ticks, like [`Ticks::scale`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_tracing::{Ticks, Timer as _};
    ///
    /// let timer = Ticks.with_clock(ManualClock::new(UnixTime::EPOCH));
    /// let scale = timer.scale().to_string();
    /// assert_eq!(scale, "tick=0 time=1970-01-01T00:00:00.000000000Z ns_per_tick=1");
    /// ```
    #[must_use]
    pub fn scale(&self) -> TickScale {
        TickScale::now(self.clock())
    }
}

impl_format_time!([] Ticks);

impl Timer for Ticks {}

impl Print for Ticks {
    #[inline]
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        let tick = current::instant(clock).as_ticks();
        adapter::decimal::with_text(tick, |text| write(writer, text));
    }
}
