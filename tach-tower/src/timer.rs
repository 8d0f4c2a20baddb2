//! Wakes a task when its budget ends.

#[cfg(feature = "tokio")]
mod driver;
#[cfg(feature = "tokio")]
mod runtimes;
#[cfg(feature = "tokio")]
mod shared;
#[cfg(feature = "tokio")]
mod wheel;

#[cfg(feature = "tokio")]
use core::pin::Pin;
use core::task::{Context, Poll};
#[cfg(feature = "tokio")]
use core::time::Duration;

use tach_core::Budget;
#[cfg(feature = "tokio")]
use tokio::time::{Sleep, sleep};

#[cfg(feature = "tokio")]
use self::shared::Place;

/// The shortest sleep. Tokio's timer ticks in milliseconds, so a shorter sleep could spin.
#[cfg(feature = "tokio")]
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);

/// The wake-up of one future at the end of its budget.
///
/// The requests of a runtime share one timer. A budget by another clock has a sleep of its own,
/// since the shared timer reads the system's clock, and so has a request of a runtime that is
/// shutting down: tokio's sleep knows when to panic.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    #[cfg(feature = "tokio")]
    set: Set,
}

/// An alarm that is set. Each response carries one, so it is as small as a place in the timer.
#[cfg(feature = "tokio")]
#[derive(Debug)]
enum Set {
    Shared(Place),
    /// `None` before the future waits.
    Own(Option<Pin<Box<Sleep>>>),
}

#[cfg(feature = "tokio")]
impl Default for Set {
    fn default() -> Self {
        Self::Own(None)
    }
}

impl Alarm {
    /// Returns `Ready` if the budget is exhausted by its clock. Nothing wakes the task.
    #[cfg(not(feature = "tokio"))]
    #[expect(clippy::unused_self, reason = "there is no timer")]
    pub(crate) fn poll_end(&mut self, budget: &Budget, _: &mut Context<'_>) -> Poll<()> {
        if budget.is_exhausted() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Returns `Ready` if the budget is exhausted by its clock. Otherwise registers the task to be
    /// woken at the budget's end.
    #[cfg(feature = "tokio")]
    pub(crate) fn poll_end(&mut self, budget: &Budget, cx: &mut Context<'_>) -> Poll<()> {
        if budget.total() == Duration::MAX {
            return Poll::Pending;
        }
        let (start, None) = budget.start() else { return self.poll_sleep(budget, cx) };
        // The first time needs no look at the clock: the timer sees a time that is past.
        match &self.set {
            Set::Shared(place) => {
                if budget.is_exhausted() {
                    return Poll::Ready(());
                }
                if place.renew(cx.waker()) {
                    return Poll::Pending;
                }
            }
            Set::Own(None) => {}
            Set::Own(Some(_)) => return self.poll_sleep(budget, cx),
        }
        match runtimes::take(start, budget.total(), cx.waker()) {
            Some(place) => {
                self.set = Set::Shared(place);
                Poll::Pending
            }
            None => self.poll_sleep(budget, cx),
        }
    }

    /// Sleeps by tokio's time, and again if the sleep ends too early by the budget's clock.
    #[cfg(feature = "tokio")]
    fn poll_sleep(&mut self, budget: &Budget, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let remaining = budget.remaining();
            if remaining.is_zero() {
                return Poll::Ready(());
            }
            if let Set::Own(Some(armed)) = &mut self.set {
                core::task::ready!(armed.as_mut().poll(cx));
            }
            self.set = Set::Own(Some(Box::pin(sleep(remaining.max(SHORTEST_SLEEP)))));
        }
    }
}

#[cfg(all(test, not(feature = "tokio")))]
mod tests {
    use core::task::Waker;

    use super::*;

    #[test]
    fn without_a_timer_a_poll_sees_the_end() {
        let mut cx = Context::from_waker(Waker::noop());
        let mut poll = |total| Alarm::default().poll_end(&Budget::new(total), &mut cx);
        assert_eq!(poll(core::time::Duration::ZERO), Poll::Ready(()));
        assert_eq!(poll(core::time::Duration::MAX), Poll::Pending);
    }
}
