//! How the back end sleeps and is woken.
//!
//! A wake-up costs the caller a system call. So a back end with recent records takes short naps,
//! which only a full queue interrupts; after a second without records it parks until the next one.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::OnceLock;
use std::thread::{self, Thread};
use std::time::Instant;

const SHORTEST_NAP: Duration = Duration::from_micros(50);
const LONGEST_NAP: Duration = Duration::from_millis(5);
/// How long the back end is idle before it parks.
const IDLE: Duration = Duration::from_secs(1);
/// How long it stays parked if it is not woken. A record that is pushed at the moment of parking
/// may wait as long: a fence would rule that out, at a cost to every call.
const PARKED: Duration = Duration::from_millis(250);

thread_local! {
    /// The address of this back end's waker. It has no destructor, so unlike `thread::current` it
    /// can be read until the thread has ended.
    static WOKEN_BY: Cell<usize> = const { Cell::new(0) };
}

/// Returns whether the calling thread is the back end of some pipeline.
pub(crate) fn is_any_back_end() -> bool {
    WOKEN_BY.try_with(Cell::get).is_ok_and(|address| address != 0)
}

/// Wakes the back end.
#[derive(Debug, Default)]
pub(crate) struct Waker {
    is_parked: AtomicBool,
    back_end: OnceLock<Thread>,
}

impl Waker {
    #[inline]
    pub(crate) fn notify(&self) {
        // ORDERING: Relaxed: the queues publish the records. If it is seen late, parking times out.
        if self.is_parked.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    /// Wakes the back end, even from a nap.
    #[cold]
    pub(crate) fn wake(&self) {
        // ORDERING: Relaxed, as in `notify`. One caller is enough to wake it.
        self.is_parked.store(false, Ordering::Relaxed);
        if let Some(back_end) = self.back_end.get() {
            back_end.unpark();
        }
    }

    /// Makes the calling thread one that writes for the back end: its calls never wait.
    pub(crate) fn mark_thread(&self) {
        WOKEN_BY.set(self.address());
    }

    /// Returns whether the calling thread is the back end, or one that writes for it.
    pub(crate) fn is_back_end(&self) -> bool {
        WOKEN_BY.try_with(Cell::get) == Ok(self.address())
    }

    /// Returns a number that no other waker has as long as this one lives.
    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }
}

#[derive(Debug)]
pub(crate) struct Sleep {
    nap: Duration,
    last_record: Instant,
}

impl Sleep {
    /// Makes the calling thread the one that `waker` wakes.
    pub(crate) fn new(waker: &Waker) -> Self {
        let _already_set = waker.back_end.set(thread::current());
        WOKEN_BY.set(waker.address());
        Self { nap: SHORTEST_NAP, last_record: Instant::now() }
    }

    /// Makes the next nap a short one, since there were records.
    pub(crate) fn had_records(&mut self) {
        self.nap = SHORTEST_NAP;
        self.last_record = Instant::now();
    }

    /// Sleeps, longer after each round without records. Parks only if `is_idle`.
    pub(crate) fn sleep(&mut self, waker: &Waker, is_idle: impl FnOnce() -> bool) {
        if self.last_record.elapsed() < IDLE {
            thread::park_timeout(self.nap);
            self.nap = (self.nap * 2).min(LONGEST_NAP);
            return;
        }
        // ORDERING: Relaxed, as in `notify`.
        waker.is_parked.store(true, Ordering::Relaxed);
        if is_idle() {
            thread::park_timeout(PARKED);
        }
        waker.is_parked.store(false, Ordering::Relaxed);
    }
}
