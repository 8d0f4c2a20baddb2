//! The task that drives a runtime's timer.

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use tokio::time::{Sleep, sleep};

use super::shared::{Armed, Timer, wake_all};

/// Wakes what is due whenever the timer's sleep ends. It ends with its runtime.
pub(super) struct Driver {
    sleep: Pin<Box<Sleep>>,
}

struct Driving {
    timer: &'static Timer,
    /// Until the first poll. Then the timer has it, so that also others can set it.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Driver {
    /// # Panics
    ///
    /// If the current runtime has no time enabled. The panic belongs here, in the request's poll:
    /// nobody would see one in the driver's task.
    pub(super) fn new() -> Self {
        Self { sleep: Box::pin(sleep(Duration::ZERO)) }
    }

    /// Spawns the driver in the current runtime. If that has ended, the timer is orphaned at once.
    pub(super) fn spawn(self, timer: &'static Timer) {
        tokio::spawn(Driving { timer, sleep: Some(self.sleep) });
        // A worker keeps the last task that it spawned for itself, and the request that spawns the
        // driver may block its worker next. Other workers can take the driver if another is last.
        tokio::spawn(async {});
    }
}

impl Future for Driving {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut due = Vec::new();
        let mut state = self.timer.lock();
        match (&mut state.armed, self.sleep.take()) {
            (Some(armed), _) => armed.driver = waker,
            (armed, Some(sleep)) => *armed = Some(Armed { sleep, driver: waker }),
            (None, None) => {}
        }
        state.look(&mut due);
        drop(state);
        wake_all(&mut due);
        Poll::Pending
    }
}

impl Drop for Driving {
    fn drop(&mut self) {
        self.timer.orphan();
    }
}
