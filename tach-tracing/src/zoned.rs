//! Timers with time zones and patterns, by jiff.

mod error;
mod local;
mod strftime;

pub use self::error::Error;
pub use self::local::Local;
pub use self::strftime::Strftime;
