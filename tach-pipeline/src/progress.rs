//! The progress of the sinks, for callers that wait for the sinks.

pub(crate) mod flush;
mod last_words;

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;

use tach_record::channel::{Channel, Signals};

use self::flush::{Flush, Why};
use crate::error::Error;
use crate::stats::{Counts, Stats};
use crate::sync::Switch;

/// What the callers and the sinks' threads share beside the channel.
pub(crate) struct Progress {
    pub(crate) flush: Flush,
    pub(crate) counts: Counts,
    pub(crate) signals: Arc<Signals>,
    reopenings: AtomicU64,
    /// Whether a flush at the end has failed. Another one would only delay the exit.
    pub(crate) is_given_up: Switch,
}

impl Progress {
    pub(crate) fn new(counts: Counts, signals: &Arc<Signals>) -> Self {
        Self {
            flush: Flush::new(counts.sinks().len(), Arc::clone(signals)),
            counts,
            signals: Arc::clone(signals),
            reopenings: AtomicU64::new(0),
            is_given_up: Switch::default(),
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        self.counts.stats(&self.signals)
    }

    /// Requests a flush of everything that was logged before, and returns its number. Call
    /// [`check_waiter`] first: otherwise a sink that flushes, or that panics
    /// under a panic hook that flushes, would be called again at once, without end.
    pub(crate) fn request_flush(&self, why: Why) -> u64 {
        let number = self.flush.request(why);
        self.signals.waker.wake();
        number
    }

    /// Requests that the files are opened again. A signal handler may call this.
    pub(crate) fn reopen(&self) {
        // ORDERING: Relaxed: publishes only itself, and the wake-up orders it.
        self.reopenings.fetch_add(1, Ordering::Relaxed);
        self.signals.waker.wake();
    }

    /// Returns how many times the opening of the files was requested.
    pub(crate) fn reopenings(&self) -> u64 {
        // ORDERING: Relaxed. The Acquire that sees a flush requested later sees this number too.
        self.reopenings.load(Ordering::Relaxed)
    }
}

/// Checks that the calling thread may wait for the back end.
///
/// # Errors
///
/// If the process was forked, or the calling thread is the back end or a sink's thread. The
/// back end can't wait for itself, and a sink's thread can't wait for the back end, which may
/// wait for the sink.
pub(crate) fn check_waiter(channel: &Channel) -> Result<(), Error> {
    if channel.is_forked() {
        return Err(Error::forked());
    }
    if channel.signals.waker.is_back_end() {
        return Err(Error::timed_out(Duration::ZERO, &[]));
    }
    Ok(())
}
