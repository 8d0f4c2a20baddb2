//! Local time at an offset that never changes.

use tach_core::Offset;
use tach_core::{Clock, adapter};
use tracing_subscriber::fmt::format::Writer;

use super::{current, write};
use crate::timer::sealed::{Digits, Print};
use crate::timer::{Timer, impl_format_time};

/// A timer that prints the time at a fixed offset from UTC as RFC 3339 with `DIGITS` digits of a
/// second (0 to 9, six by default): `2026-11-21T10:30:00.123456+01:00`.
///
/// # Cost
///
/// The same as [`Utc`](crate::Utc).
///
/// # Examples
///
/// The offset comes from a configuration:
///
/// ```
/// use tach_tracing::FixedOffset;
///
/// let timer = FixedOffset::<6>::new("+01:00".parse()?);
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FixedOffset<const DIGITS: usize = 6> {
    offset: Offset,
}

impl<const DIGITS: usize> FixedOffset<DIGITS> {
    /// Creates a timer for `offset`, from [minutes](Offset::from_minutes) or
    /// [text](Offset#impl-FromStr-for-Offset).
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::Offset;
    /// use tach_tracing::FixedOffset;
    ///
    /// let timer: FixedOffset = FixedOffset::new(Offset::from_minutes(-210)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn new(offset: Offset) -> Self {
        Self { offset }
    }
}

impl_format_time!([const DIGITS: usize] FixedOffset<DIGITS>);

impl<const DIGITS: usize> Timer for FixedOffset<DIGITS> {}

impl<const DIGITS: usize> Digits for FixedOffset<DIGITS> {
    const DIGITS: usize = DIGITS;
}

impl<const DIGITS: usize> Print for FixedOffset<DIGITS> {
    #[inline]
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        let time = current::unix_time(clock);
        adapter::rfc3339::with_offset_text::<DIGITS, _>(time, self.offset, |text| {
            write(writer, text);
        });
    }
}
