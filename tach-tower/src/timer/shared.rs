//! A timer that the requests of a runtime share.

use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::task::{Context, Waker};
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tach_core::uptime;
use tokio::runtime::Id;
use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep};

use super::wheel::{Key, TICK_NS, Wheel, last_tick_by};

/// The timers, one for each runtime. The timer of a runtime that has ended serves the next one, so
/// the list is as long as the most runtimes that lived at once.
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
    /// `None` until the driver has begun.
    pub(super) armed: Option<Armed>,
}

/// The sleep that wakes the driver.
#[derive(Debug)]
pub(super) struct Armed {
    pub(super) sleep: Pin<Box<Sleep>>,
    pub(super) driver: Waker,
}

/// An entry in a timer. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Place {
    timer: &'static Timer,
    key: Key,
}

impl Place {
    /// Replaces the entry's waker if it would wake another task. Returns false if the entry is
    /// gone.
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
        let state = State { wheel: Wheel::new(), runtime: None, next_look: 0, armed: None };
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
        if tick < state.next_look {
            // Not the driver, which may have to wait until the current task returns from its poll.
            let mut due = Vec::new();
            state.look(&mut due);
            drop(state);
            wake_all(&mut due);
        }
        Place { timer: self, key }
    }

    /// Wakes every task, for the runtime that drove the timer is gone. Those that wait in another
    /// runtime take a place there.
    pub(super) fn orphan(&self) {
        let mut due = Vec::new();
        let mut state = self.lock();
        state.runtime = None;
        let armed = state.armed.take();
        state.wheel.expire(u64::MAX, &mut due);
        drop(state);
        drop(armed);
        let mut timers = TIMERS.lock().unwrap_or_else(PoisonError::into_inner);
        for (runtime, timer) in timers.iter_mut() {
            if core::ptr::eq(*timer, self) {
                *runtime = None;
            }
        }
        drop(timers);
        wake_all(&mut due);
    }
}

impl State {
    /// Moves the wakers that are due to `due`, and sets the driver's sleep for the next one.
    ///
    /// This may wake the driver, but runs no foreign code, so the timer can stay locked.
    pub(super) fn look(&mut self, due: &mut Vec<Waker>) {
        let Some(Armed { sleep, driver }) = &mut self.armed else { return };
        loop {
            let now = last_tick_by(uptime());
            self.wheel.expire(now, due);
            let next = self.wheel.next();
            self.next_look = next.unwrap_or(u64::MAX);
            let Some(next) = next else { return };
            let wait = Duration::from_nanos((next - now).saturating_mul(TICK_NS));
            // Without an end that tokio can represent, the next entry sets the sleep.
            let Some(end) = Instant::now().checked_add(wait) else { return };
            sleep.as_mut().reset(end);
            // A request that has used up its turn by tokio's count must not leave the sleep unset.
            let mut polled = unconstrained(sleep.as_mut());
            if Pin::new(&mut polled).poll(&mut Context::from_waker(driver)).is_pending() {
                return;
            }
        }
    }
}

/// Wakes all. One that panics, which is its own code's fault, doesn't stop the others.
pub(super) fn wake_all(due: &mut Vec<Waker>) {
    for waker in due.drain(..) {
        let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Most requests end long before their budgets, and must leave nothing behind.
    #[test]
    fn a_place_that_is_dropped_leaves_the_wheel() {
        let timer: &'static Timer = Box::leak(Box::new(Timer::new()));
        let place = timer.insert(timer.lock(), 7, Waker::noop().clone());
        assert_eq!(timer.lock().wheel.next(), Some(7));
        drop(place);
        assert_eq!(timer.lock().wheel.next(), None);
    }
}
