//! The system's time zone, by jiff.

mod offset;
mod zone;

pub use self::offset::offset_at;
