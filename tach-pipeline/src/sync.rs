//! Locks whose poison is ignored, numbers that are read without them, and flags.

mod lock;
mod mirrored;
mod switch;

pub(crate) use self::lock::{Changed, Lock};
pub(crate) use self::mirrored::{Length, Mirrored};
pub(crate) use self::switch::Switch;
