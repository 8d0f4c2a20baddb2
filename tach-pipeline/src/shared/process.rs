//! Which process has the back end: a fork copies the queues, not the thread.

use core::sync::atomic::{AtomicBool, Ordering};
use std::process;

use crate::sink::unlocked::tell;

/// The process in which a pipeline was built.
#[derive(Debug)]
pub(crate) struct Process {
    id: u32,
    told: AtomicBool,
}

impl Process {
    pub(crate) fn this() -> Self {
        Self { id: process::id(), told: AtomicBool::new(false) }
    }

    /// Whether the caller is another process, a copy of the one meant. Told on stderr once.
    ///
    /// A system call: asked where a call waits or locks, not at every one.
    pub(crate) fn is_forked(&self) -> bool {
        if self.id == process::id() {
            return false;
        }
        // ORDERING: publishes nothing.
        if !self.told.swap(true, Ordering::Relaxed) {
            tell(format_args!(
                "process {} was forked from {}, which writes the log; build a pipeline after forking",
                process::id(),
                self.id
            ));
        }
        true
    }
}
