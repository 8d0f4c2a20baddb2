//! A fence in all threads of the process. Only the thread that requests the fence pays for it.
//!
//! - `pass() -> bool` makes every thread of the process execute a fence. It returns `false` if the
//!   kernel refuses.
//! - `set_up()` prepares the process, so that `pass` works.

#[cfg(all(target_os = "linux", not(all(test, loom))))]
#[path = "barrier/linux.rs"]
mod platform;
#[cfg(not(any(target_os = "linux", all(test, loom))))]
#[path = "barrier/none.rs"]
mod platform;
#[cfg(all(test, loom))]
#[path = "barrier/modelled.rs"]
mod platform;

pub use self::platform::{pass, set_up};
