//! The flush when the process aborts: by `process::abort`, a panic with `panic = "abort"` whatever
//! hook is installed, a panic within a panic or out of an `extern "C"` function, or a failed
//! allocation. (A stack that overflows aborts too, but the stack for signals, where that is found,
//! may have no room for a second handler.)
//!
//! All of these raise SIGABRT on the thread that aborts. Its handler waits there, since the process
//! ends as soon as the handler returns. It allocates nothing and takes no lock: the thread may hold
//! any of them.

use core::ffi::{c_int, c_void};
use core::time::Duration;
use std::sync::OnceLock;
use std::time::Instant;

use libc::{SIGABRT, siginfo_t};
use rustix::event::Timespec;
use signal_hook::low_level::emulate_default_handler;

use crate::channel::bell::handler::flush_in_handler;
use crate::channel::wake::is_any_back_end;
use crate::shared::Shared;
use tach_record::host::signals::{self, Action};

/// How long the handler waits. A supervisor or a developer waits for the core meanwhile.
const LONGEST: Duration = Duration::from_secs(2);
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
/// The most naps, which end the wait where a library stops the program's clocks.
const NAPS: u32 = 2_000;

/// What SIGABRT did before.
static BEFORE: OnceLock<Action> = OnceLock::new();

/// Flushes the pipeline when the process aborts, unless SIGABRT is ignored. The first call installs
/// the handler.
pub(super) fn flush_at_abort(pipeline: &Shared) {
    pipeline.channel.signals.bell.ring_at_abort();
    let Ok(before) = Action::of(SIGABRT) else { return };
    if !before.is_ignored() && BEFORE.set(before).is_ok() {
        let _without_it = signals::install(SIGABRT, aborts);
    }
}

extern "C" fn aborts(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // Don't wait in a back end: it would wait for itself, or for a sink that has just aborted.
    if !is_any_back_end() {
        let (start, mut naps) = (Instant::now(), 0);
        flush_in_handler(|| {
            naps += 1;
            let _until_interrupted = rustix::thread::nanosleep(&NAP);
            naps < NAPS && start.elapsed() < LONGEST
        });
    }
    if BEFORE.get().is_some_and(|before| before.call(signal, info, context)) {
        return;
    }
    // If the program installed another handler later, that handler has called this one, and decides
    // how the process ends.
    if Action::of(signal).is_ok_and(|now| now.is(aborts)) {
        let _ended = emulate_default_handler(signal);
    }
}
