//! The process and its surroundings: its name, its number after a fork, the standard streams, the
//! mode of the files that it creates.

#[cfg(unix)]
#[path = "host/unix.rs"]
pub(crate) mod platform;
#[cfg(not(unix))]
#[path = "host/elsewhere.rs"]
pub(crate) mod platform;
pub(crate) mod process;
pub(crate) mod program;
pub(crate) mod terminal;
pub(crate) mod unlocked;

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread of the pipeline, on which no signal handler of the program runs.
///
/// # Errors
///
/// If the thread can't be started.
pub(crate) fn spawn<R: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> R + Send + 'static,
) -> io::Result<JoinHandle<R>> {
    platform::signals::blocked(|| Builder::new().name(name.to_owned()).spawn(run))
}

/// The mode of a new file, less the umask.
pub(crate) const FILE_MODE: u32 = 0o640;
