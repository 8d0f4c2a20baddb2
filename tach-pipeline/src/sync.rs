//! Locks whose poison is ignored, and numbers that are read without them.

mod lock;
mod mirrored;

pub(crate) use self::lock::{Changed, Lock};
pub(crate) use self::mirrored::{Length, Mirrored};
