//! The formats of timers, and the timers that need no arguments.

pub(crate) mod current;
#[cfg(feature = "jiff")]
mod local;
mod offset;
mod unix;
mod uptime;
mod utc;

use tracing_subscriber::fmt::format::Writer;

#[cfg(feature = "jiff")]
pub use self::local::Local;
pub use self::offset::FixedOffset;
pub use self::unix::{UnixMillis, UnixNanos};
pub use self::uptime::Uptime;
pub use self::utc::Utc;

/// The number of digits of a second, unless [`Timer::digits`](crate::Timer::digits) sets another.
pub(crate) const DIGITS: usize = 6;

/// Writes `text` and ignores errors, as [`Format::print`](crate::timer::sealed::Format::print)
/// must.
pub(crate) fn write(writer: &mut Writer<'_>, text: &str) {
    let _ = writer.write_str(text);
}
