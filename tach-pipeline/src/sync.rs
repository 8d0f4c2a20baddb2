//! Locks whose poison is ignored, numbers that are read without them, flags and naps.

mod lock;
mod mirrored;
#[cfg(target_os = "linux")]
mod nap;
#[cfg(not(target_os = "linux"))]
#[path = "sync/parked.rs"]
mod nap;
#[cfg(feature = "tracing")]
mod shared_lock;
mod switch;

/// The atomics of files with models. `cargo xtask loom`, which compiles such a file alone, puts
/// those of loom in their place.
pub(crate) use core::sync::atomic;

#[cfg(all(test, feature = "tracing"))]
pub(crate) use self::lock::tests;
pub(crate) use self::lock::{Changed, Lock};
pub(crate) use self::mirrored::{Length, Mirrored};
pub(crate) use self::nap::Nap;
#[cfg(feature = "tracing")]
pub(crate) use self::shared_lock::SharedLock;
pub(crate) use self::switch::Switch;
