//! The public API on the real machine.

mod allocation;
mod auto_traits;
#[cfg(target_os = "linux")]
mod errno;
mod instants;
mod order;
#[cfg(feature = "thread-cpu")]
mod thread_cpu;
mod truth;
