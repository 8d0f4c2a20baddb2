//! UTC.

use tach_core::{Clock, adapter};
use tracing_subscriber::fmt::format::Writer;

use super::{current, write};
use crate::timer::sealed::{Digits, Print};
use crate::timer::{Timer, impl_format_time};

/// A timer that prints UTC as RFC 3339 with `DIGITS` digits of a second (0 to 9, six by default):
/// `2026-11-21T09:30:00.123456Z`.
///
/// With six digits the text has the form of tracing-subscriber's `SystemTime`.
///
/// # Cost
///
/// A counter read and the digits of the fraction: each thread keeps the text down to the second. No
/// allocation, no lock, no shared write.
///
/// # Examples
///
/// ```
/// tracing_subscriber::fmt().with_timer(tach_tracing::Utc::<3>).init();
/// tracing::info!("ready");
/// ```
///
/// To use the default number of digits, write the type:
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

impl_format_time!([const DIGITS: usize] Utc<DIGITS>);

impl<const DIGITS: usize> Timer for Utc<DIGITS> {}

impl<const DIGITS: usize> Digits for Utc<DIGITS> {
    const DIGITS: usize = DIGITS;
}

impl<const DIGITS: usize> Print for Utc<DIGITS> {
    #[inline]
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        let time = current::unix_time(clock);
        adapter::rfc3339::with_text::<DIGITS, _>(time, |text| write(writer, text));
    }
}
