//! A timer that the requests of a runtime share.

use core::task::Waker;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tach_core::uptime;
use tokio::runtime::Id;

use super::wheel::{Key, Wheel};

/// Nanoseconds of a tick. Tokio's own timer is no finer.
pub(super) const TICK_NS: u64 = 1_000_000;

/// One timer of each runtime. A timer outlives its runtime and serves another one, so there are no
/// more than there were runtimes at the same time.
pub(super) static TIMERS: Mutex<Vec<(Option<Id>, &'static Timer)>> = Mutex::new(Vec::new());

#[derive(Debug)]
pub(super) struct Timer {
    state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) wheel: Wheel,
    /// The runtime whose task drives the timer.
    pub(super) runtime: Option<Id>,
    /// The tick at which the driver looks again.
    pub(super) next_look: u64,
    pub(super) driver: Option<Waker>,
}

/// An entry in a timer. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Place {
    timer: &'static Timer,
    key: Key,
}

impl Place {
    /// Sees to it that this waker is woken. Returns whether the entry is still there.
    pub(super) fn renew(&self, waker: &Waker) -> bool {
        let mut state = self.timer.lock();
        let Some(old) = state.wheel.waker(self.key) else { return false };
        if old.will_wake(waker) {
            return true;
        }
        drop(state);
        // Cloning and dropping a waker runs foreign code, which must not find the timer locked.
        let mut waker = waker.clone();
        let mut state = self.timer.lock();
        let Some(old) = state.wheel.waker(self.key) else { return false };
        core::mem::swap(old, &mut waker);
        drop(state);
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let waker = self.timer.lock().wheel.remove(self.key);
        // After the lock: dropping a waker may drop its task.
        drop(waker);
    }
}

impl Timer {
    pub(super) fn new() -> Self {
        let state = State { wheel: Wheel::new(), runtime: None, next_look: 0, driver: None };
        Self { state: Mutex::new(state) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(
        &'static self,
        mut state: MutexGuard<'_, State>,
        tick: u64,
        waker: Waker,
    ) -> Place {
        let key = state.wheel.insert(tick, waker);
        let driver = if tick < state.next_look { state.driver.take() } else { None };
        drop(state);
        if let Some(driver) = driver {
            driver.wake();
        }
        Place { timer: self, key }
    }

    /// Wakes every task, for the runtime that drove the timer is gone. Those that wait in another
    /// runtime take a place there.
    pub(super) fn orphan(&self) {
        let mut due = Vec::new();
        let mut state = self.lock();
        state.runtime = None;
        state.driver = None;
        state.wheel.expire(u64::MAX, &mut due);
        drop(state);
        let mut timers = TIMERS.lock().unwrap_or_else(PoisonError::into_inner);
        for (runtime, timer) in timers.iter_mut() {
            if core::ptr::eq(*timer, self) {
                *runtime = None;
            }
        }
        drop(timers);
        due.into_iter().for_each(Waker::wake);
    }
}

/// Returns the last tick that has begun.
pub(super) fn tick_now() -> u64 {
    nanos(uptime()) / TICK_NS
}

/// Nanoseconds of 584 years fit, and nothing waits longer.
pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
