//! The task that drives a runtime's timer.

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use super::shared::{TICK_NS, Timer, tick_now};

/// Sleeps until something is due, and wakes it. It ends with its runtime.
pub(super) struct Driver {
    sleep: Pin<Box<Sleep>>,
}

struct Driving {
    timer: &'static Timer,
    sleep: Pin<Box<Sleep>>,
    due: Vec<Waker>,
}

impl Driver {
    /// # Panics
    ///
    /// If the current runtime has no time enabled: here, where a request waits, since nobody would
    /// see the task panic.
    pub(super) fn new() -> Self {
        Self { sleep: Box::pin(sleep(Duration::ZERO)) }
    }

    pub(super) fn spawn(self, timer: &'static Timer) {
        tokio::spawn(Driving { timer, sleep: self.sleep, due: Vec::new() });
    }
}

impl Future for Driving {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        loop {
            let own = cx.waker().clone();
            let mut state = this.timer.lock();
            let now = tick_now();
            state.wheel.expire(now, &mut this.due);
            let next = state.wheel.next();
            state.next_look = next.unwrap_or(u64::MAX);
            state.driver = Some(own);
            drop(state);
            this.due.drain(..).for_each(Waker::wake);
            let Some(next) = next else { return Poll::Pending };
            let wait = Duration::from_nanos((next - now).saturating_mul(TICK_NS));
            // Without an end that tokio can represent, the next entry wakes the driver.
            let Some(end) = Instant::now().checked_add(wait) else { return Poll::Pending };
            this.sleep.as_mut().reset(end);
            core::task::ready!(this.sleep.as_mut().poll(cx));
        }
    }
}

impl Drop for Driving {
    fn drop(&mut self) {
        self.timer.orphan();
    }
}
