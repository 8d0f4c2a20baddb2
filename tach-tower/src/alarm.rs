//! Wakes a task when its budget ends: a sleep of tokio's for each call or body that waits.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use pin_project_lite::pin_project;
use tach_core::Budget;
use tokio::runtime::Handle;
use tokio::sync::futures::OwnedNotified;
use tokio::task::coop::{has_budget_remaining, unconstrained};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::current::Woken;
use crate::drain::Drain;

/// tokio shortens a sleep that the range of its clock can't hold to 30 years. A budget of more than
/// ten years, in ns, has no alarm.
const LONGEST_NS: u64 = 10 * 365 * 86_400 * 1_000_000_000;

pin_project! {
    /// A sleep, and the waker that it wakes.
    #[derive(Debug)]
    struct Timer {
        #[pin]
        sleep: Sleep,
        // The end of the budget by tokio's clock, if the budget has one. The sleep of a body may
        // end earlier, for a pause between frames.
        end: Option<Instant>,
        waker: Woken,
        // Wakes the task when the layer is drained. `None` before a body waits.
        drained: Option<Pin<Box<OwnedNotified>>>,
    }
}

/// The end of one future and of the body that it returns. The timer is created when one of them
/// first waits, and boxed, because few wait and all are moved.
#[derive(Debug, Default)]
pub(crate) struct Alarm(Option<Pin<Box<Timer>>>);

impl Drop for Alarm {
    #[inline]
    fn drop(&mut self) {
        // Stop the timer out of line, so that a drop without a timer is short.
        if let Some(timer) = self.0.take() {
            stop(timer);
        }
    }
}

#[cold]
#[inline(never)]
fn stop(timer: Pin<Box<Timer>>) {
    drop(timer);
}

impl Alarm {
    /// Returns `Ready` once the budget has ended. Until then, the task is woken at its end.
    ///
    /// Under tokio's paused time, the sleep follows that time.
    pub(crate) fn poll_end(&mut self, budget: &Budget, cx: &mut Context<'_>) -> Poll<()> {
        if self.0.is_none() {
            if budget.total_ns > LONGEST_NS {
                return Poll::Pending;
            }
            // An ordered read of the clock would cost more, and no time of another thread is
            // compared here.
            let left = budget.total().saturating_sub(budget.start.elapsed());
            if left.is_zero() {
                return Poll::Ready(());
            }
            self.set(left);
        }
        self.poll(cx)
    }

    /// Lets the alarm ring after the time `left`.
    #[inline]
    pub(crate) fn set(&mut self, left: Duration) {
        let end = Instant::now() + left;
        self.ring_at(end, Some(end));
    }

    #[inline]
    fn ring_at(&mut self, next: Instant, end: Option<Instant>) {
        let Some(timer) = &mut self.0 else {
            let (waker, drained) = (Woken::NONE, None);
            self.0 = Some(Box::pin(Timer { sleep: sleep_until(next), end, waker, drained }));
            return;
        };
        let timer = timer.as_mut().project();
        if timer.sleep.deadline() != next {
            // Firing takes the waker out of the sleep, so it must be set again.
            *timer.waker = Woken::NONE;
            timer.sleep.reset(next);
        }
    }

    /// Returns whether there is a timer that has this waker already, and has not fired.
    #[inline]
    pub(crate) fn is_set_for(&self, cx: &Context<'_>) -> bool {
        let is_for = |waker: Woken| waker == Woken::of(cx.waker());
        self.0.as_ref().is_some_and(|timer| is_for(timer.waker) && !timer.sleep.is_elapsed())
    }

    /// Polls the sleep.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_set_for(cx) {
            return Poll::Pending;
        }
        let Some(timer) = &mut self.0 else { return Poll::Pending };
        let mut timer = timer.as_mut().project();
        *timer.waker = Woken::of(cx.waker());
        // For a task that has used up its turn, tokio reports each sleep as pending. That would
        // hide the end.
        if has_budget_remaining() {
            return timer.sleep.poll(cx);
        }
        Pin::new(&mut unconstrained(&mut timer.sleep)).poll(cx)
    }

    /// Moves the end of the budget by tokio's clock, if there is a timer, from the total `from_ns`
    /// to the total `to_ns`. The sleep itself is set when the body first waits.
    #[inline]
    pub(crate) fn move_end(&mut self, from_ns: u64, to_ns: u64) {
        if let Some(timer) = self.0.as_mut().filter(|_| from_ns != to_ns) {
            let timer = timer.as_mut().project();
            let end = timer.end.and_then(|end| end.checked_sub(Duration::from_nanos(from_ns)));
            let end = end.and_then(|start| start.checked_add(Duration::from_nanos(to_ns)));
            *timer.end = end.filter(|_| to_ns <= LONGEST_NS);
        }
    }

    /// Returns the time since the start of `budget`, by the clock that is ahead: tokio's, if there
    /// is a timer, since a test may have paused that, or tach's.
    pub(crate) fn elapsed(&self, budget: &Budget) -> Duration {
        let end = self.0.as_ref().and_then(|timer| timer.end);
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let by_tokio = left.map_or(Duration::ZERO, |left| budget.total().saturating_sub(left));
        by_tokio.max(budget.elapsed())
    }

    /// Returns `Ready(false)` at the end of a body's budget or of `drain`, and `Ready(true)` after
    /// a pause of `idle`. If `is_new`, the pause begins now.
    pub(crate) fn poll_body(
        &mut self,
        budget: &Budget,
        idle: Duration,
        is_new: bool,
        drain: Option<&Drain>,
        cx: &mut Context<'_>,
    ) -> Poll<bool> {
        if self.0.is_none() && budget.is_exhausted() {
            return Poll::Ready(false);
        }
        if is_new {
            let now = Instant::now();
            let end = match &self.0 {
                Some(timer) => timer.end,
                None if budget.total_ns > LONGEST_NS => None,
                None => now.checked_add(budget.remaining()),
            };
            let pause = now.checked_add(idle);
            let Some(next) = pause.into_iter().chain(end).min() else { return Poll::Pending };
            // Without a runtime no timer can be set. Each poll looks at the clock instead.
            if self.0.is_none() && Handle::try_current().is_err() {
                return Poll::Pending;
            }
            self.ring_at(next, end);
        }
        if let (Some(timer), Some(drain)) = (&mut self.0, drain) {
            let (end, drained) = (timer.end, drain.poll_end(timer.as_mut().project().drained, cx));
            if let Some(drained) = drained.filter(|drained| end.is_none_or(|end| *drained < end)) {
                *timer.as_mut().project().end = Some(drained);
                let next = drained.min(timer.sleep.deadline());
                self.ring_at(next, Some(drained));
            }
        }
        ready!(self.poll(cx));
        let Some(timer) = &self.0 else { return Poll::Pending };
        Poll::Ready(timer.end.is_none_or(|end| timer.sleep.deadline() < end))
    }
}
