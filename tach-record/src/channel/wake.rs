//! Lets the back end sleep, and wakes it. Callers wake the back end, or the timeout of its sleep
//! ends, which `Pace` chooses.

mod pace;

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::time::Instant;

use self::pace::{Pace, Rest};
use super::bell::Bell;

thread_local! {
    /// The address of this thread's waker. An address, because unlike `thread::current` it has no
    /// destructor and can be read until the very end of the thread.
    static WOKEN_BY: Cell<usize> = const { Cell::new(0) };
}

/// Returns whether the calling thread is the back end of some pipeline.
pub fn is_any_back_end() -> bool {
    WOKEN_BY.try_with(Cell::get).is_ok_and(|address| address != 0)
}

/// Wakes the back end.
#[derive(Debug)]
pub struct Waker {
    is_parked: AtomicBool,
    bell: &'static Bell,
}

impl Waker {
    pub(super) fn new(bell: &'static Bell) -> Self {
        Self { is_parked: AtomicBool::new(false), bell }
    }

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
    pub fn wake(&self) {
        // Clear the flag first, so that other callers need not wake the back end again.
        // ORDERING: Relaxed: `nap.wake` publishes what the caller did.
        self.is_parked.store(false, Ordering::Relaxed);
        self.bell.nap.wake();
    }

    /// Sleeps until a call wakes the back end, or for `longest`.
    pub fn nap(&self, longest: Duration) {
        self.bell.nap.sleep(longest);
    }

    /// Marks the calling thread as the thread of a sink. Calls of such a thread never wait for the
    /// back end.
    pub fn mark_thread(&self) {
        WOKEN_BY.set(self.address());
    }

    /// Returns whether the calling thread is the back end or the thread of one of its sinks.
    pub fn is_back_end(&self) -> bool {
        WOKEN_BY.try_with(Cell::get) == Ok(self.address())
    }

    /// Returns a number that identifies the waker as long as the waker lives.
    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }
}

/// Whether the next record wakes a back end that is parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeUp {
    /// The next record wakes it.
    Certain,
    /// A concurrent call may add a record without noticing that the back end is parked.
    Uncertain,
}

impl WakeUp {
    /// Returns how long the back end stays parked before it reads the queues again.
    fn parked_for(self, longest: Duration, interval: Duration) -> Duration {
        match self {
            Self::Certain => longest,
            Self::Uncertain => interval,
        }
    }
}

/// The sleep of a back end between two rounds.
pub struct Sleep {
    pace: Pace,
}

impl Sleep {
    /// Makes the calling thread the thread that `waker` wakes.
    pub fn new(waker: &Waker, interval: Duration) -> Self {
        waker.mark_thread();
        Self { pace: Pace::new(interval, Instant::now()) }
    }

    /// Sleeps after a round. `has_found` tells whether the round found records. Parks only if
    /// `fall_asleep` returns a [`WakeUp`]: for `longest` at most, or for the interval if a call may
    /// add a record without a wake-up.
    pub fn sleep(
        &mut self,
        waker: &Waker,
        has_found: bool,
        longest: Duration,
        fall_asleep: impl FnOnce() -> Option<WakeUp>,
    ) {
        match self.pace.rest(Instant::now(), has_found) {
            Rest::Nap(time) => waker.nap(time),
            Rest::Park => {
                // ORDERING: Relaxed: `fall_asleep` looks for new queues under their lock. It finds
                // a queue that was registered before. A thread that registers a queue later sees
                // the flag.
                waker.is_parked.store(true, Ordering::Relaxed);
                if let Some(wake_up) = fall_asleep() {
                    waker.nap(wake_up.parked_for(longest, self.pace.interval));
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
        let (longest, interval) = (Duration::from_secs(1), Duration::from_millis(5));
        assert_eq!(WakeUp::Certain.parked_for(longest, interval), longest);
        assert_eq!(WakeUp::Uncertain.parked_for(longest, interval), interval);
    }
}
