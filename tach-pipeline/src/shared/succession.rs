//! The pipeline that follows another one in a forked child.
//!
//! A child has its parent's memory, and none of its threads: the queues have records that the
//! parent writes, and a lock may be held for ever. So a child leaves all of a pipeline's state
//! where it is. Its first record starts another pipeline by the same options.

use core::cell::Cell;
use core::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe};
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::panic;
use std::sync::{Arc, OnceLock};
use std::thread;

use super::{Handle, Shared};
use crate::channel::current_thread;
use crate::error::Error;
use crate::incident::Incident;
use tach_record::host::process::Process;

/// The pause between two looks at whether another thread has started the pipeline.
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// Starts a pipeline like this one.
pub(crate) type Start =
    dyn Fn(&Arc<Shared>) -> Result<Handle, Error> + Send + Sync + UnwindSafe + RefUnwindSafe;

#[derive(Default)]
pub(crate) struct Succession {
    next: OnceLock<Handle>,
    /// `None` in a test.
    pub(crate) start: Option<Box<Start>>,
    /// The generation of the last process in which a thread began to start the pipeline. A number
    /// instead of a lock: a child that is forked meanwhile has no thread that would release the
    /// lock.
    begun: AtomicU32,
    /// The generation of the last process that could not start the pipeline.
    failed: AtomicU32,
}

thread_local! {
    /// Whether the thread starts a pipeline. What it logs meanwhile must not wait for that.
    static IS_STARTING: Cell<bool> = const { Cell::new(false) };
}

impl Succession {
    /// Makes `next` the pipeline that follows, unless there is one.
    pub(crate) fn set(&self, next: Handle) {
        let _set_by_another_thread = self.next.set(next);
    }

    fn has_failed(&self, generation: u32) -> bool {
        // ORDERING: Relaxed: publishes nothing.
        self.failed.load(Ordering::Relaxed) == generation
    }

    /// Starts the pipeline that follows `of`, or waits until another thread has started it.
    fn start(&self, of: &Arc<Shared>) {
        let process = Process::current();
        let generation = process.generation();
        // ORDERING: Relaxed: the generation publishes nothing; `next` publishes the successor.
        if self.begun.swap(generation, Ordering::Relaxed) == generation {
            while self.next.get().is_none() && !self.has_failed(generation) && !IS_STARTING.get() {
                thread::sleep(BETWEEN_LOOKS);
            }
            return;
        }
        let start = self.start.as_ref().filter(|_| process.is_forked());
        IS_STARTING.set(true);
        let started = panic::catch_unwind(AssertUnwindSafe(|| start.map(|start| start(of))));
        IS_STARTING.set(false);
        match started.ok().flatten().unwrap_or_else(|| Err(Error::forked())) {
            Ok(next) => self.set(next),
            Err(error) => {
                // ORDERING: Relaxed: publishes nothing.
                self.failed.store(generation, Ordering::Relaxed);
                of.reporter.clone().report(&Incident::Forked { error: &error });
            }
        }
    }
}

impl Shared {
    /// Returns the last pipeline that follows this one, or this one.
    #[inline]
    pub(crate) fn last(self: &Arc<Self>) -> &Arc<Self> {
        let mut last = self;
        while let Some(next) = last.succession.next.get() {
            last = &next.own;
        }
        last
    }

    /// Returns the pipeline that follows this one in this process, which is a forked child. If
    /// there is none, starts one. If that fails, returns a pipeline that refuses all records.
    #[cold]
    pub(super) fn in_child(self: &Arc<Self>) -> &Arc<Self> {
        let last = self.last();
        if !last.process.is_current() {
            current_thread::leave_queues();
            last.succession.start(last);
        }
        last.last()
    }

    /// Returns whether this process is a forked child that has logged nothing yet.
    pub(super) fn is_unused(&self) -> bool {
        // ORDERING: Relaxed: the generation publishes nothing.
        let begun = self.succession.begun.load(Ordering::Relaxed);
        !self.process.is_current() && begun != Process::current().generation()
    }
}
