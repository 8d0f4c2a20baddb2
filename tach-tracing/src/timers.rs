//! Timers: what `with_timer` takes.

mod increasing;
#[cfg(feature = "jiff")]
mod local;
mod offset;
#[cfg(feature = "jiff")]
mod strftime;
#[cfg(feature = "jiff")]
mod system_zone;
mod ticks;
mod unix;
mod uptime;
mod utc;

pub(crate) use self::increasing::clock as increasing_clock;
#[cfg(feature = "jiff")]
pub use self::local::Local;
pub use self::offset::FixedOffset;
#[cfg(feature = "jiff")]
pub use self::strftime::{PatternError, Strftime};
pub use self::ticks::Ticks;
pub use self::unix::{UnixMicros, UnixMillis, UnixNanos, UnixSeconds};
pub use self::uptime::{Uptime, UptimeSince};
pub use self::utc::Utc;
