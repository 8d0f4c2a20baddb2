//! Wakes a task when its budget ends.

#[cfg(not(feature = "tokio"))]
mod polls;
#[cfg(feature = "tokio")]
mod sleeps;

#[cfg(not(feature = "tokio"))]
pub(crate) use self::polls::{Alarm, BodyAlarm};
#[cfg(feature = "tokio")]
pub(crate) use self::sleeps::{Alarm, BodyAlarm};
