//! The flush before a signal ends the process.
//!
//! The handler wakes a thread, which flushes. The handler itself does not wait: the thread that it
//! interrupts may hold a lock that the back end needs, such as one of the allocator.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::{io, process};

use libc::siginfo_t;
use signal_hook::consts::{FORBIDDEN, SIGABRT, SIGBUS, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::low_level::{emulate_default_handler, signal_name};

use super::exit::Ending;
use crate::error::{Class, Error};
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::sync::Nap;
use tach_record::host;
use tach_record::host::signals::{self, Action};

static ON_SIGNALS: Ending = Ending::new();
static WAITER: Waiter = Waiter::new();
const FOREVER: Duration = Duration::from_secs(24 * 60 * 60);

impl Pipeline {
    /// Installs handlers of SIGTERM, SIGINT, SIGHUP and SIGQUIT that flush the pipeline, wait at
    /// most as long as [`Builder::flush_timeout`](crate::Builder::flush_timeout) sets, and end the
    /// process as the signal does. The first process of a container, which a signal does not end,
    /// exits with 128 and the signal's number.
    ///
    /// The flush writes the records in the queues, and sends what is gathered for a collector at
    /// once: records, spans that have ended, and durations. `Tail` decides about the traces that it
    /// holds. A collector that can't be reached is tried again until then.
    ///
    /// A signal that is ignored stays ignored, for example SIGHUP under `nohup`. A program that
    /// handles a signal itself, before or after this call, keeps its handler, and ends by an exit,
    /// which [flushes](crate::Builder::without_flush_at_exit). In a child that was forked without
    /// `exec`, the signals flush the child's pipeline, or end a child at once that has logged
    /// nothing.
    ///
    /// # Errors
    ///
    /// If a handler can't be installed, or the thread that flushes can't be started.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().build()?;
    /// guard.pipeline().flush_on_signals()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn flush_on_signals(&self) -> Result<(), Error> {
        self.flush_on_these_signals(&[SIGTERM, SIGINT, SIGHUP, SIGQUIT])
    }

    /// Like [`flush_on_signals`](Self::flush_on_signals), for other signals that end a process: for
    /// example the `STOPSIGNAL` of a container's image, or only one of the four.
    ///
    /// # Errors
    ///
    /// Also for a signal of a fault, such as SIGSEGV: the thread that has the fault can't go on
    /// while another one writes. [`Builder::survive`](crate::Builder#method.survive) needs no
    /// handler. SIGABRT is [flushed](crate::Builder::without_flush_at_exit) without a call.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().build()?;
    /// guard.pipeline().flush_on_these_signals(&[libc::SIGTERM, libc::SIGUSR1])?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn flush_on_these_signals(&self, these: &[c_int]) -> Result<(), Error> {
        let can_wait = |signal: c_int| {
            signal_name(signal).is_some()
                && !FORBIDDEN.contains(&signal)
                && ![SIGABRT, SIGBUS].contains(&signal)
        };
        for &signal in these {
            if !can_wait(signal) {
                return Err(Error::signal(signal, None));
            }
        }
        begin(self.shared())?;
        for &signal in these {
            let install = |before: Action| {
                if before.is_default() { signals::install(signal, ends) } else { Ok(()) }
            };
            let installed = Action::of(signal).and_then(install);
            installed.map_err(|error| Error::signal(signal, Some(error)))?;
        }
        Ok(())
    }
}

/// Flushes the pipeline when the thread finds a signal, and starts the thread if there is none.
fn begin(pipeline: &Arc<Shared>) -> Result<(), Error> {
    ON_SIGNALS.add(pipeline);
    if WAITER.begin(process::id()) {
        host::spawn("tach-signals", wait).map_err(|error| {
            WAITER.begin(0);
            Error::thread(error)
        })?;
    }
    Ok(())
}

/// Flushes the pipeline of a forked child, which has the handlers of its parent, at the signals at
/// which the pipeline of the parent is flushed.
///
/// # Errors
///
/// If the thread that waits for signals can't be started.
pub(super) fn flush_at_signals_of(
    parent: Option<&Arc<Shared>>,
    pipeline: &Arc<Shared>,
) -> Result<(), Error> {
    let is_flushed = parent.is_some_and(|parent| ON_SIGNALS.has(parent));
    if is_flushed { begin(pipeline) } else { Ok(()) }
}

/// The thread that waits for signals, and flushes.
struct Waiter {
    /// The process of the thread, or zero.
    process: AtomicU32,
    /// The last signal, or zero.
    signal: AtomicI32,
    nap: Nap,
}

impl Waiter {
    const fn new() -> Self {
        Self { process: AtomicU32::new(0), signal: AtomicI32::new(0), nap: Nap::new() }
    }

    /// Stores that the thread belongs to `process`. Returns whether it did not before.
    fn begin(&self, process: u32) -> bool {
        // ORDERING: Relaxed: publishes nothing.
        self.process.swap(process, Ordering::Relaxed) != process
    }

    /// Passes a signal to the thread. Returns whether this process has the thread.
    fn pass(&self, signal: c_int) -> bool {
        // ORDERING: Relaxed: publishes nothing.
        let is_there = self.process.load(Ordering::Relaxed) == process::id();
        if is_there {
            // ORDERING: Release, with the Acquire of `next`: publishes what the interrupted thread
            // has logged before.
            self.signal.store(signal, Ordering::Release);
            self.nap.wake();
        }
        is_there
    }

    /// Waits for the next signal.
    fn next(&self) -> c_int {
        loop {
            // ORDERING: Acquire, with the Release of `pass`.
            match self.signal.swap(0, Ordering::Acquire) {
                0 => self.nap.sleep(FOREVER),
                signal => return signal,
            }
        }
    }
}

/// Flushes after a signal, and then ends the process as the signal would have.
fn wait() {
    loop {
        let signal = WAITER.next();
        ON_SIGNALS.flush();
        end_by(signal);
    }
}

/// Ends the process as the signal would have. The first process of a container has no default
/// action, so it exits with the status that a shell reports for the signal.
fn end_by(signal: c_int) {
    if process::id() == 1 {
        signal_hook::low_level::exit(128 + signal);
    }
    let _ended = emulate_default_handler(signal);
}

/// Allocates nothing, takes no lock and does not wait. Another signal meanwhile changes nothing:
/// the process ends by one of the two.
extern "C" fn ends(signal: c_int, _info: *mut siginfo_t, _context: *mut c_void) {
    // If the program installed another handler later, that handler has called this one, and decides
    // whether the process ends.
    let is_ours = Action::of(signal).is_ok_and(|now| now.is(ends));
    // A forked child that has logged nothing has no thread that waits, and nothing to flush.
    if is_ours && !WAITER.pass(signal) {
        end_by(signal);
    }
}

impl Error {
    fn signal(signal: c_int, error: Option<io::Error>) -> Self {
        let name = signal_name(signal).map_or_else(|| signal.to_string(), str::to_owned);
        let reason = error.as_ref().map_or_else(
            || "no signal that ends a process which can still write".to_owned(),
            io::Error::to_string,
        );
        Self::other(Class::Other, format!("can't handle the signal {name}: {reason}"), error)
    }
}
