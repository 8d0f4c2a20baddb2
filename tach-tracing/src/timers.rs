//! The timers.

mod current;
#[cfg(feature = "jiff")]
mod local;
mod offset;
#[cfg(feature = "jiff")]
mod strftime;
#[cfg(feature = "tree")]
mod tree;
mod unix;
mod uptime;
mod utc;

use tracing_subscriber::fmt::format::Writer;

#[cfg(feature = "jiff")]
pub use self::local::Local;
pub use self::offset::FixedOffset;
#[cfg(feature = "jiff")]
pub use self::strftime::Strftime;
#[cfg(feature = "tree")]
pub use self::tree::Tree;
pub use self::unix::{UnixMicros, UnixMillis, UnixNanos, UnixSeconds};
pub use self::uptime::Uptime;
pub use self::utc::Utc;

/// Writes `text` and ignores errors, as [`Print::print`](crate::timer::sealed::Print::print) must.
fn write(writer: &mut Writer<'_>, text: &str) {
    let _ = writer.write_str(text);
}
