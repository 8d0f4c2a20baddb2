//! Local time at an offset that never changes.

use tach_core::{Clock, Offset, adapter};
use tracing_subscriber::fmt::format::Writer;

use super::{DIGITS, current, write};
use crate::timer::Timer;
use crate::timer::sealed::{Digits, Format};

/// The format of a timer that prints the time at a fixed offset from UTC as RFC 3339:
/// `2026-11-21T10:30:00.123456+01:00`.
///
/// [`digits`](Timer::digits) sets the number of digits of a second, six by default.
///
/// # Cost
///
/// The same as [`Utc`](const@crate::Utc).
///
/// # Examples
///
/// The offset comes from a configuration:
///
/// ```
/// use tach_tracing::FixedOffset;
///
/// let timer = FixedOffset::new("+01:00".parse()?);
/// tracing_subscriber::fmt().with_timer(timer).init();
/// tracing::info!("ready");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// `cargo run --example timer_fixed_offset +01:00` prints
///
/// ```text
/// 2026-11-21T14:48:46.867859+01:00  INFO timer_fixed_offset: ready
/// ```
#[derive(Debug, Clone, Copy)]
pub struct FixedOffset {
    offset: Offset,
    digits: usize,
}

impl FixedOffset {
    /// Creates a timer for `offset`, from [minutes](Offset::from_minutes) or
    /// [text](Offset#impl-FromStr-for-Offset).
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::{FixedOffset, Offset, Timer};
    ///
    /// let timer: Timer<FixedOffset> = FixedOffset::new(Offset::from_minutes(-210)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn new(offset: Offset) -> Timer<Self> {
        Timer::new(Self { offset, digits: DIGITS })
    }
}

impl Digits for FixedOffset {
    fn digits(&mut self) -> &mut usize {
        &mut self.digits
    }
}

impl Format for FixedOffset {
    #[inline]
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        let Self { offset, digits } = *self;
        let time = current::unix_time(clock);
        adapter::rfc3339::with_offset_text(time, digits, offset, |text| write(writer, text));
    }
}
