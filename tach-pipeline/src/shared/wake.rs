//! How the back end sleeps, and who wakes it.
//!
//! A wake-up costs the caller a system call, so a back end that has had records lately naps for times that no
//! caller cuts short, unless its queue is full. Only after a second without any does it park, to be woken
//! by the next record.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::OnceLock;
use std::thread::{self, Thread};
use std::time::Instant;

const SHORTEST_NAP: Duration = Duration::from_micros(50);
const LONGEST_NAP: Duration = Duration::from_millis(5);
/// How long without a record until it parks.
const IDLE: Duration = Duration::from_secs(1);
/// How long it stays parked unless it is woken. A record that is pushed at the very moment of parking may
/// go unseen until then; the fence that would rule it out were a cost to every call.
const PARKED: Duration = Duration::from_millis(250);

thread_local! {
    /// The waker of the back end that the thread is. Without a destructor, it is there until the thread has
    /// ended, where `thread::current` is not.
    static WOKEN_BY: Cell<usize> = const { Cell::new(0) };
}

/// Whether the calling thread is the back end of some pipeline.
pub(crate) fn is_any_back_end() -> bool {
    WOKEN_BY.try_with(Cell::get).is_ok_and(|address| address != 0)
}

/// The side of those who wake.
#[derive(Debug, Default)]
pub(crate) struct Waker {
    is_parked: AtomicBool,
    back_end: OnceLock<Thread>,
}

impl Waker {
    /// Wakes the back end if it is parked.
    #[inline]
    pub(crate) fn notify(&self) {
        // ORDERING: publishes nothing: the queues do. Should it be seen late, parking ends by itself.
        if self.is_parked.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    /// Wakes the back end, also from a nap.
    #[cold]
    pub(crate) fn wake(&self) {
        // ORDERING: as in `notify`. One caller is enough to wake it.
        self.is_parked.store(false, Ordering::Relaxed);
        if let Some(back_end) = self.back_end.get() {
            back_end.unpark();
        }
    }

    /// Whether the calling thread is the back end.
    pub(crate) fn is_back_end(&self) -> bool {
        WOKEN_BY.try_with(Cell::get) == Ok(self.address())
    }

    /// What tells it from the others, as long as it lives.
    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }
}

/// The side of the one who sleeps.
#[derive(Debug)]
pub(crate) struct Sleep {
    nap: Duration,
    last_record: Instant,
}

impl Sleep {
    /// Has the calling thread be the one that is woken.
    pub(crate) fn new(waker: &Waker) -> Self {
        let _already_set = waker.back_end.set(thread::current());
        WOKEN_BY.set(waker.address());
        Self { nap: SHORTEST_NAP, last_record: Instant::now() }
    }

    /// There were records: the next nap is a short one.
    pub(crate) fn had_records(&mut self) {
        self.nap = SHORTEST_NAP;
        self.last_record = Instant::now();
    }

    /// Sleeps, the longer the longer there was nothing to do. Parks only as long as `is_idle`.
    pub(crate) fn sleep(&mut self, waker: &Waker, is_idle: impl FnOnce() -> bool) {
        if self.last_record.elapsed() < IDLE {
            thread::park_timeout(self.nap);
            self.nap = (self.nap * 2).min(LONGEST_NAP);
            return;
        }
        // ORDERING: as in `notify`.
        waker.is_parked.store(true, Ordering::Relaxed);
        if is_idle() {
            thread::park_timeout(PARKED);
        }
        waker.is_parked.store(false, Ordering::Relaxed);
    }
}
