//! The timer that the requests of a runtime share.

use core::cell::Cell;
use core::task::Waker;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tach_core::adapter::uptime_at;
use tach_core::{Instant, uptime};
use tokio::runtime::{Handle, Id};

use super::driver::Driver;
use super::wheel::{Key, Wheel};

/// Nanoseconds of a tick. Tokio's own timer is no finer.
pub(super) const TICK_NS: u64 = 1_000_000;

/// One timer of each runtime. A timer outlives its runtime and serves another one, so there are no
/// more than there were runtimes at the same time.
static TIMERS: Mutex<Vec<(Option<Id>, &'static Timer)>> = Mutex::new(Vec::new());

thread_local! {
    /// The timer that this thread used last.
    static LAST: Cell<Option<(Id, &'static Timer)>> = const { Cell::new(None) };
}

#[derive(Debug)]
pub(super) struct Timer {
    state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) wheel: Wheel,
    /// The runtime whose task drives the timer.
    runtime: Option<Id>,
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
    /// Sees to it that `waker` is woken once `total` has passed since `start`: never earlier, and
    /// at once if it has passed.
    pub(super) fn take(start: Instant, total: Duration, waker: &Waker) -> Self {
        let (runtime, waker) = (Handle::current().id(), waker.clone());
        let tick = tick_of(start, total);
        let known = LAST.get().filter(|(id, _)| *id == runtime);
        let timer = known.map_or_else(|| find(runtime), |(_, timer)| timer);
        let state = timer.lock();
        if state.runtime != Some(runtime) {
            drop(state);
            let timer = find(runtime);
            // A driver that is shut down now wakes the task, which comes back.
            return timer.insert(timer.lock(), tick, waker);
        }
        timer.insert(state, tick, waker)
    }

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
    fn new() -> Self {
        let state = State { wheel: Wheel::new(), runtime: None, next_look: 0, driver: None };
        Self { state: Mutex::new(state) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn insert(&'static self, mut state: MutexGuard<'_, State>, tick: u64, waker: Waker) -> Place {
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

/// Returns the first tick that is not before the end of `total`. Ticks are counted from the first
/// use of tach, since the conversion of an instant of its own would look for an ever older line.
fn tick_of(start: Instant, total: Duration) -> u64 {
    nanos(uptime_at(start)).saturating_add(nanos(total)).div_ceil(TICK_NS)
}

/// Returns the last tick that has begun.
pub(super) fn tick_now() -> u64 {
    nanos(uptime()) / TICK_NS
}

/// Nanoseconds of 584 years fit, and nothing waits longer.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Finds the runtime's timer, or gives it one and spawns its driver.
#[cold]
fn find(runtime: Id) -> &'static Timer {
    // Before anything is changed, for this panics in a runtime without time.
    let driver = Driver::new();
    let mut timers = TIMERS.lock().unwrap_or_else(PoisonError::into_inner);
    let own = timers.iter().find(|(id, _)| *id == Some(runtime)).map(|&(_, timer)| timer);
    let timer = own.unwrap_or_else(|| {
        let unused = timers.iter_mut().find(|(id, _)| id.is_none());
        let timer = if let Some((id, timer)) = unused {
            *id = Some(runtime);
            *timer
        } else {
            let timer: &'static Timer = Box::leak(Box::new(Timer::new()));
            timers.push((Some(runtime), timer));
            timer
        };
        let mut state = timer.lock();
        state.runtime = Some(runtime);
        state.next_look = 0;
        timer
    });
    // A runtime that is shutting down drops the driver at once, which locks the list.
    drop(timers);
    LAST.set(Some((runtime, timer)));
    if own.is_none() {
        driver.spawn(timer);
    }
    timer
}
