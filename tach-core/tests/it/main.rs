//! The public API on the real machine.

mod allocation;
mod auto_traits;
mod boot;
mod early;
#[cfg(target_os = "linux")]
mod errno;
#[cfg(all(unix, feature = "coarse", feature = "recalibrator"))]
#[path = "../support/forked.rs"]
mod forked;
#[cfg(all(unix, feature = "coarse", feature = "recalibrator"))]
mod guards_after_fork;
mod instants;
mod order;
#[cfg(feature = "thread-cpu")]
mod thread_cpu;
mod truth;
