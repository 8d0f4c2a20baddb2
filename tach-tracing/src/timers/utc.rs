//! UTC.

use tach_core::{Clock, rfc3339};
use tracing_subscriber::fmt::format::Writer;

use super::increasing::impl_strictly_increasing;
use crate::form::{Form, impl_timer, write};
use crate::moment;

/// Prints the time in UTC as RFC 3339 with `DIGITS` digits of a second (0 to 9, six by default):
/// `2026-11-21T09:30:00.123456Z`.
///
/// With six digits the text is that of tracing-subscriber's `SystemTime`. The width never varies.
///
/// # Cost
///
/// A counter read and the digits of the fraction: the text down to the second is kept per thread.
/// No allocation, no lock, no write that threads share.
///
/// # Examples
///
/// ```
/// tracing_subscriber::fmt().with_timer(tach_tracing::Utc::<3>).init();
/// tracing::info!("ready");
/// ```
///
/// The default number of digits needs the type's name in front:
///
/// ```
/// let timer: tach_tracing::Utc = tach_tracing::Utc;
/// tracing_subscriber::fmt().with_timer(timer).init();
/// ```
///
/// `cargo run --example timer_utc` prints
///
/// ```text
/// 2026-11-21T13:48:46.863Z  INFO timer_utc: ready
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Utc<const DIGITS: usize = 6>;

impl_timer!([const DIGITS: usize] Utc<DIGITS>, "Utc::<3>", "assert_eq!(text, \"1970-01-01T00:00:00.000Z\")");
impl_strictly_increasing!([const DIGITS: usize] Utc<DIGITS>, DIGITS, "Utc::<6>");

impl<const DIGITS: usize> Form for Utc<DIGITS> {
    #[inline]
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        let time = moment::unix_time(clock);
        rfc3339::with_text::<DIGITS, _>(time, |text| write(writer, text));
    }
}
