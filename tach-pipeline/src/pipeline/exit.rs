//! The flush when the process ends by itself: by a return from `main`, a panic in it,
//! `process::exit`, or a signal that a thread waits for.
#![expect(unsafe_code, reason = "registers a function with the C library's exit")]

use core::ptr;
use std::sync::{Arc, Once, Weak};
use std::time::Instant;

use arc_swap::ArcSwapOption;

use crate::shared::Shared;
use tach_record::host::process::Process;

/// Pipelines to be flushed. The list has no lock, since after a fork nobody might release it.
pub(super) struct Ending(ArcSwapOption<Vec<AtEnd>>);

static AT_EXIT: Ending = Ending::new();
static REGISTER: Once = Once::new();

#[derive(Clone)]
struct AtEnd {
    pipeline: Weak<Shared>,
    /// The process in which the back end's thread runs. A forked process has no such thread.
    process: Process,
}

/// Flushes the pipeline when the process exits or aborts.
pub(crate) fn flush_at_exit(pipeline: &Arc<Shared>) {
    AT_EXIT.add(pipeline);
    REGISTER.call_once(|| {
        // SAFETY: the function stays as long as the process, and does not unwind.
        let _no_memory = unsafe { libc::atexit(flush_all) };
    });
    #[cfg(unix)]
    super::abort::flush_at_abort(pipeline);
}

/// Other threads may still run and log, and the caller's thread-locals may be gone.
extern "C" fn flush_all() {
    AT_EXIT.flush();
}

impl Ending {
    pub(super) const fn new() -> Self {
        Self(ArcSwapOption::const_empty())
    }

    pub(super) fn add(&self, pipeline: &Arc<Shared>) {
        let new = AtEnd { pipeline: Arc::downgrade(pipeline), process: pipeline.process };
        self.0.rcu(|all| {
            let mut all = all.as_deref().cloned().unwrap_or_default();
            all.retain(|one| one.pipeline.strong_count() > 0);
            all.push(new.clone());
            Some(Arc::new(all))
        });
    }

    /// Returns whether a pipeline is in the list.
    pub(super) fn has(&self, pipeline: &Arc<Shared>) -> bool {
        let is = |one: &AtEnd| ptr::eq(one.pipeline.as_ptr(), Arc::as_ptr(pipeline));
        self.0.load_full().is_some_and(|all| all.iter().any(is))
    }

    /// Flushes the pipelines of this process, and prints what is lost.
    pub(super) fn flush(&self) {
        let Some(all) = self.0.load_full() else { return };
        let start = Instant::now();
        let living = |pipeline: &Weak<Shared>, process: Process| {
            pipeline.upgrade().filter(|_| process.is_current())
        };
        for AtEnd { pipeline, process } in all.iter() {
            if let Some(pipeline) = living(pipeline, *process) {
                pipeline.channel.exits();
            }
        }
        for AtEnd { pipeline, process } in all.iter() {
            if let Some(pipeline) = living(pipeline, *process) {
                // All pipelines share the time, so stalled sinks delay the exit by one timeout at
                // most.
                let left = pipeline.flush_timeout.saturating_sub(start.elapsed());
                if pipeline.progress.is_given_up.is_on() {
                    continue;
                }
                // Don't report a loss twice: if the back end is ending now, its own end reports the
                // loss.
                if pipeline.flush_at_end(left).is_err_and(|error| !error.is_reported()) {
                    pipeline.progress.print_left(&pipeline.channel.queues);
                }
            }
        }
    }
}
