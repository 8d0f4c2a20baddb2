//! Locks that ignore poison, lengths that are read without a lock, flags and naps.

mod lock;
mod mirrored;
#[cfg(target_os = "linux")]
mod nap;
#[cfg(not(target_os = "linux"))]
#[path = "sync/parked.rs"]
mod nap;
mod shared_lock;
mod switch;

/// The atomics of files with models. `cargo xtask loom`, which compiles such a file alone, puts
/// those of loom in their place.
pub use core::sync::atomic;

pub use self::lock::{Changed, Lock};
pub use self::mirrored::{Length, Mirrored};
pub use self::nap::Nap;
pub use self::shared_lock::SharedLock;
pub use self::switch::Switch;
