//! The process that has the back end: a fork copies the queues, but not the thread.

#[cfg(target_os = "linux")]
mod number;
#[cfg(not(target_os = "linux"))]
use std::process as number;

use core::sync::atomic::{AtomicBool, Ordering};

use crate::host::unlocked::to_stderr;

/// Returns the operating system's number of the calling thread, or zero if it is not known.
pub(crate) fn os_thread_id() -> u32 {
    #[cfg(target_os = "linux")]
    let id = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
    #[cfg(not(target_os = "linux"))]
    let id = 0;
    id
}

/// The process in which a pipeline was built.
#[derive(Debug)]
pub(crate) struct Process {
    id: u32,
    is_reported: AtomicBool,
}

impl Process {
    pub(crate) fn current() -> Self {
        Self { id: number::id(), is_reported: AtomicBool::new(false) }
    }

    /// Returns whether the caller is the process in which the pipeline was built.
    ///
    /// Makes a system call except on Linux, so a call asks only before it waits or locks.
    pub(crate) fn is_current(&self) -> bool {
        self.id == number::id()
    }

    /// Returns whether the caller is a forked process, which is reported on stderr once.
    pub(crate) fn is_forked(&self) -> bool {
        if self.is_current() {
            return false;
        }
        // ORDERING: Relaxed: publishes nothing.
        if !self.is_reported.swap(true, Ordering::Relaxed) {
            to_stderr(format_args!(
                "process {} was forked from {}, which writes the log; build a pipeline after forking",
                number::id(),
                self.id
            ));
        }
        true
    }
}
