//! How the back end sleeps and is woken: by callers, and by timeouts at its [`Pace`].

mod pace;

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::OnceLock;
use std::thread::{self, Thread};
use std::time::Instant;

use self::pace::{Pace, Rest};

/// How long the back end stays parked if it is not woken. Nobody wakes it to open files again, to
/// write again to a sink that failed, or to free memory.
const PARKED: Duration = Duration::from_secs(1);

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
        // ORDERING: Relaxed: the lock of the queues orders it. The caller has registered its queue
        // under that lock, and the back end looks there before it parks.
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

/// Whether the next record wakes a back end that is parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WakeUp {
    Certain,
    /// A record may be on its way whose call does not know that the back end is parked.
    Uncertain,
}

impl WakeUp {
    /// Returns how long the back end stays parked before it looks again.
    fn parked_for(self, interval: Duration) -> Duration {
        match self {
            Self::Certain => PARKED,
            Self::Uncertain => interval,
        }
    }
}

pub(crate) struct Sleep {
    pace: Pace,
    interval: Duration,
}

impl Sleep {
    /// Makes the calling thread the one that `waker` wakes.
    pub(crate) fn new(waker: &Waker, interval: Duration) -> Self {
        let _already_set = waker.back_end.set(thread::current());
        WOKEN_BY.set(waker.address());
        Self { pace: Pace::new(interval, Instant::now()), interval }
    }

    /// Sleeps after a round, which found records or none. Parks only if `fall_asleep` says that a
    /// caller wakes it.
    pub(crate) fn sleep(
        &mut self,
        waker: &Waker,
        has_found: bool,
        fall_asleep: impl FnOnce() -> Option<WakeUp>,
    ) {
        match self.pace.rest(Instant::now(), has_found) {
            Rest::Nap(time) => thread::park_timeout(time),
            Rest::Park => {
                // ORDERING: Relaxed, as in `notify`.
                waker.is_parked.store(true, Ordering::Relaxed);
                if let Some(wake_up) = fall_asleep() {
                    thread::park_timeout(wake_up.parked_for(self.interval));
                    self.pace.woke_up(Instant::now());
                }
                waker.is_parked.store(false, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_wakes_nobody_waits_for_the_interval_at_most() {
        let interval = Duration::from_millis(5);
        assert_eq!(WakeUp::Certain.parked_for(interval), PARKED);
        assert_eq!(WakeUp::Uncertain.parked_for(interval), interval);
    }
}
