//! Timers: what `with_timer` takes.

use core::fmt;

use tach_core::{SystemClock, rfc3339, seconds, uptime_at};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use crate::moment;

/// Prints the time since this process first used tach: `   0.000042000s`.
///
/// The text is that of tracing-subscriber's `Uptime`, which counts from its own construction. Call
/// [`tach_core::uptime`] where the count shall begin, at the start of `main` for instance; without
/// that it begins with the first event.
///
/// # Cost
///
/// A counter read and the digits. No allocation, no lock.
///
/// # Examples
///
/// ```
/// tach_core::uptime();
/// tracing_subscriber::fmt().with_timer(tach_tracing::Uptime).init();
/// tracing::info!("ready");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Uptime;

impl FormatTime for Uptime {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        seconds::with_text(uptime_at(moment::instant(&SystemClock)), |text| write(writer, text));
        Ok(())
    }
}

/// Prints the time in UTC as RFC 3339 with `DIGITS` digits of a second (0 to 9, six by default):
/// `2026-11-21T09:30:00.123456Z`.
///
/// With six digits the shape is that of tracing-subscriber's `SystemTime`. The width never varies.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Utc<const DIGITS: usize = 6>;

impl<const DIGITS: usize> FormatTime for Utc<DIGITS> {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let time = moment::unix_time(&SystemClock);
        rfc3339::with_text::<DIGITS, _>(time, |text| write(writer, text));
        Ok(())
    }
}

/// Writes `text`, and swallows what the writer says: the JSON format drops an event whose timer
/// fails, and a line without its time is better than no line.
pub(crate) fn write(writer: &mut Writer<'_>, text: &str) {
    let _ = writer.write_str(text);
}
