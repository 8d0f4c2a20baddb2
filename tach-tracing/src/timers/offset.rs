//! Local time at an offset that never changes.

use tach_core::Clock;
use tach_core::rfc3339::{self, Offset};
use tracing_subscriber::fmt::format::Writer;

use super::increasing::impl_strictly_increasing;
use crate::form::{Form, impl_timer, write};
use crate::moment;

/// Prints the time at a fixed offset from UTC as RFC 3339 with `DIGITS` digits of a second (0 to 9, six by
/// default): `2026-11-21T10:30:00.123456+01:00`.
///
/// The width never varies.
///
/// # Cost
///
/// That of [`Utc`](crate::Utc).
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
/// # Ok::<(), tach_core::rfc3339::ParseError>(())
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
    /// The timer for this offset, which was checked when it was made: see [`Offset::from_minutes`] and
    /// [its reading from text](Offset#impl-FromStr-for-Offset).
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::rfc3339::Offset;
    /// use tach_tracing::FixedOffset;
    ///
    /// let timer: FixedOffset = FixedOffset::new(Offset::from_minutes(-210)?);
    /// # Ok::<(), tach_core::rfc3339::OffsetError>(())
    /// ```
    #[must_use]
    pub const fn new(offset: Offset) -> Self {
        Self { offset }
    }
}

impl_timer!(
    [const DIGITS: usize] FixedOffset<DIGITS>,
    "FixedOffset::<3>::new(\"+01:00\".parse().unwrap())",
    "assert_eq!(text, \"1970-01-01T01:00:00.000+01:00\")"
);
impl_strictly_increasing!(
    [const DIGITS: usize] FixedOffset<DIGITS>,
    DIGITS,
    "FixedOffset::<6>::new(\"+01:00\".parse().unwrap())"
);

impl<const DIGITS: usize> Form for FixedOffset<DIGITS> {
    #[inline]
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        let time = moment::unix_time(clock);
        rfc3339::with_offset_text::<DIGITS, _>(time, self.offset, |text| write(writer, text));
    }
}
