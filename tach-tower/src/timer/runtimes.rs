//! The timer of each runtime.

use core::cell::Cell;
use core::task::Waker;
use core::time::Duration;
use std::sync::PoisonError;

use tach_core::Instant;
use tach_core::adapter::uptime_at;
use tokio::runtime::{Handle, Id};

use super::driver::Driver;
use super::shared::{Place, TICK_NS, TIMERS, Timer, nanos};

thread_local! {
    /// The timer that this thread used last.
    static LAST: Cell<Option<(Id, &'static Timer)>> = const { Cell::new(None) };
}

/// Sees to it that `waker` is woken once `total` has passed since `start`: never earlier, and
/// at once if it has passed.
pub(super) fn take(start: Instant, total: Duration, waker: &Waker) -> Place {
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

/// Returns the first tick that is not before the end of `total`. Ticks are counted from the first
/// use of tach, since the conversion of an instant of its own would look for an ever older line.
fn tick_of(start: Instant, total: Duration) -> u64 {
    nanos(uptime_at(start)).saturating_add(nanos(total)).div_ceil(TICK_NS)
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
