//! The timer of each runtime.

use core::cell::Cell;
use core::task::Waker;
use core::time::Duration;
use std::sync::PoisonError;

use tach_core::Instant;
use tach_core::adapter::uptime_at;
use tokio::runtime::{Handle, Id};

use super::driver::Driver;
use super::shared::{Place, TIMERS, Timer};
use super::wheel::first_tick_from;

thread_local! {
    /// The timer that this thread used last.
    static LAST: Cell<Option<(Id, &'static Timer)>> = const { Cell::new(None) };
}

/// Registers `waker` with the current runtime's timer, to be woken when `total` has passed since
/// `start`, or at once if it has passed already. Returns `None` if the runtime is shutting down.
pub(super) fn take(start: Instant, total: Duration, waker: &Waker) -> Option<Place> {
    let (runtime, waker) = (Handle::current().id(), waker.clone());
    let tick = tick_of(start, total);
    let known = LAST.get().filter(|(id, _)| *id == runtime);
    let timer = known.map_or_else(|| find(runtime), |(_, timer)| timer);
    let mut state = timer.lock();
    if state.runtime == Some(runtime) {
        return Some(timer.insert(state, tick, waker));
    }
    // The timer that this thread used last serves another runtime by now.
    drop(state);
    let timer = find(runtime);
    state = timer.lock();
    (state.runtime == Some(runtime)).then(|| timer.insert(state, tick, waker))
}

/// Returns the first tick that is not before the end of `total`. Ticks count from the process's
/// first use of tach. An origin of the timer's own would grow old, and the conversion of an old
/// instant searches the history.
fn tick_of(start: Instant, total: Duration) -> u64 {
    let begun = uptime_at(start);
    let end = if begun.is_zero() {
        // The start may be older than the first use of tach.
        let now = Instant::now();
        uptime_at(now).saturating_add(total.saturating_sub(now.saturating_duration_since(start)))
    } else {
        begun.saturating_add(total)
    };
    first_tick_from(end)
}

/// Finds the runtime's timer, or gives it one and spawns its driver.
#[cold]
fn find(runtime: Id) -> &'static Timer {
    // Created first: this panics in a runtime without time, and nothing may be half registered
    // then.
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
