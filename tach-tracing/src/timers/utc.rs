//! UTC.

use tach_core::{Clock, adapter};
use tracing_subscriber::fmt::format::Writer;

use super::{DIGITS, current, write};
use crate::timer::Timer;
use crate::timer::sealed::{Digits, Format};

/// The format of the timer [`Utc`](const@Utc), whose type is `Timer<Utc>`.
#[derive(Debug, Clone, Copy)]
pub struct Utc {
    digits: usize,
}

/// A timer that prints UTC as RFC 3339: `2026-11-21T09:30:00.123456Z`.
///
/// [`digits`](Timer::digits) sets the number of digits of a second. With six, the default, the text
/// has the form of tracing-subscriber's `SystemTime`.
///
/// # Cost
///
/// A counter read and the digits of the fraction: each thread keeps the text down to the second. No
/// allocation, no lock, no shared write.
///
/// # Examples
///
/// ```
/// tracing_subscriber::fmt().with_timer(tach_tracing::Utc).init();
/// tracing::info!("ready");
/// ```
///
/// `cargo run --example timer_utc`, with `.digits(3)`, prints
///
/// ```text
/// 2026-11-21T13:48:46.863Z  INFO timer_utc: ready
/// ```
#[expect(non_upper_case_globals, reason = "a timer reads like a unit struct")]
pub const Utc: Timer<Utc> = Timer::new(Utc { digits: DIGITS });

impl Digits for Utc {
    fn digits(&mut self) -> &mut usize {
        &mut self.digits
    }
}

impl Format for Utc {
    #[inline]
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        let time = current::unix_time(clock);
        adapter::rfc3339::with_text_digits(time, self.digits, |text| write(writer, text));
    }
}
