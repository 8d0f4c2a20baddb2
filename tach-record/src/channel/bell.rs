//! The part of a channel that a signal handler may use: it is never freed, and contains no lock.

pub mod handler;

use core::fmt;
use core::ops::Deref;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::process;
use std::sync::OnceLock;

use crate::sync::Nap;

/// A request's number consists of two counts: the bits from this bit on count requests that were
/// made because the process ends, and the bits below count all other requests. So one atomic
/// addition makes a request, and the back end sees of which kind it was.
const ENDS_SHIFT: u32 = 36;
/// The addend of a request that is made because the process ends.
const AN_END: u64 = 1 << ENDS_SHIFT;

/// Returns whether a request after `before` and up to `after` was made because the process ends.
pub fn is_end_between(before: u64, after: u64) -> bool {
    before >> ENDS_SHIFT != after >> ENDS_SHIFT
}

static FIRST: Bell = Bell::new();

/// Requests of flushes, and the nap of the back end that makes them.
pub struct Bell {
    /// The process of the back end, or zero if the bell belongs to no channel.
    process: AtomicU32,
    requested: AtomicU64,
    /// The number up to which all sinks are done.
    done: AtomicU64,
    /// The last request of a signal handler.
    rung: AtomicU64,
    /// Whether a handler of SIGABRT rings the bell.
    at_abort: AtomicBool,
    /// How many callers wait because the process ends.
    ends: AtomicUsize,
    pub(super) nap: Nap,
    next: OnceLock<Box<Bell>>,
}

/// The bell of a channel, which another channel may take later.
pub struct Taken(pub(super) &'static Bell);

impl Taken {
    /// Takes a bell that belongs to no channel.
    pub(crate) fn new() -> Self {
        let (mut bell, process) = (&FIRST, process::id());
        // ORDERING: Acquire, with the Release of `drop`: the numbers are zero again.
        while bell
            .process
            .compare_exchange(0, process, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            bell = bell.next.get_or_init(|| Box::new(Bell::new()));
        }
        Self(bell)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // A handler that found this bell before may still ring it. Then the next channel's back end
        // flushes once more, which does no harm.
        for number in [&self.0.requested, &self.0.done, &self.0.rung] {
            // ORDERING: Relaxed: the store below publishes it.
            number.store(0, Ordering::Relaxed);
        }
        // ORDERING: Relaxed: the store below publishes it.
        self.0.at_abort.store(false, Ordering::Relaxed);
        // ORDERING: Release, with the Acquire of `new`: the next channel sees the numbers cleared.
        self.0.process.store(0, Ordering::Release);
    }
}

impl Deref for Taken {
    type Target = Bell;

    fn deref(&self) -> &Bell {
        self.0
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bell").field("nap", &self.nap).finish_non_exhaustive()
    }
}

impl Bell {
    const fn new() -> Self {
        Self {
            process: AtomicU32::new(0),
            requested: AtomicU64::new(0),
            done: AtomicU64::new(0),
            rung: AtomicU64::new(0),
            at_abort: AtomicBool::new(false),
            ends: AtomicUsize::new(0),
            nap: Nap::new(),
            next: OnceLock::new(),
        }
    }

    /// Requests a flush of everything that was logged before, and returns the request's number.
    pub fn request(&self) -> u64 {
        self.add(1)
    }

    /// Like [`request`](Self::request), because the process ends.
    pub fn request_end(&self) -> u64 {
        self.add(AN_END)
    }

    /// Adds `more` to the number of the last request, and returns the sum.
    fn add(&self, more: u64) -> u64 {
        // ORDERING: Release, with the Acquire of `requested`: the back end sees the caller's
        // records.
        self.requested.fetch_add(more, Ordering::Release) + more
    }

    /// Returns the number of the last request.
    pub fn requested(&self) -> u64 {
        // ORDERING: Acquire, with the Release of `add`: the records before the request are visible.
        self.requested.load(Ordering::Acquire)
    }

    /// Marks the requests up to `number` as done by all sinks.
    pub fn done(&self, number: u64) {
        // ORDERING: Relaxed: a handler reads nothing of what the sinks have written.
        self.done.store(number, Ordering::Relaxed);
    }

    /// Call before a caller waits because the process ends.
    pub fn begin_end(&self) {
        // ORDERING: Relaxed: publishes nothing.
        self.ends.fetch_add(1, Ordering::Relaxed);
    }

    /// Call when the wait that [`begin_end`](Self::begin_end) announced is over.
    pub fn finish_end(&self) {
        // ORDERING: Relaxed: publishes nothing.
        self.ends.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns whether a caller waits because the process ends.
    pub fn is_end_awaited(&self) -> bool {
        // ORDERING: Relaxed: publishes nothing.
        self.ends.load(Ordering::Relaxed) > 0 || !self.is_answered()
    }

    fn is_answered(&self) -> bool {
        // ORDERING: Relaxed: only the numbers count, and they publish nothing.
        self.done.load(Ordering::Relaxed) >= self.rung.load(Ordering::Relaxed)
    }
}
