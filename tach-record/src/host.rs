//! The process: its number after a fork, and threads that no signal handler of the program
//! interrupts.

#[cfg(unix)]
mod forks;
pub mod process;
#[cfg(unix)]
pub mod signals;

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread on which no signal handler of the program runs.
///
/// # Errors
///
/// If the thread can't be started.
pub fn spawn<R: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> R + Send + 'static,
) -> io::Result<JoinHandle<R>> {
    let spawn = || Builder::new().name(name.to_owned()).spawn(run);
    #[cfg(unix)]
    let thread = signals::blocked(spawn);
    #[cfg(not(unix))]
    let thread = spawn();
    thread
}

/// Calls `f` in each child that the C library's `fork` makes from now on, before other code of the
/// child runs.
pub(crate) fn call_in_children(f: extern "C" fn()) {
    #[cfg(unix)]
    forks::call_in_children(f);
    #[cfg(not(unix))]
    let _no_forks = f;
}
