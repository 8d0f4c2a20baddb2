//! A sleep of tokio's for each call that waits.

use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use pin_project_lite::pin_project;
use tach_core::Budget;
use tokio::task::coop::{has_budget_remaining, unconstrained};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

pin_project! {
    /// The end of one future. It is set when the future is first found pending, so that a future
    /// which is ready at once has no timer.
    #[derive(Debug, Default)]
    pub(crate) struct Alarm {
        #[pin]
        sleep: Option<Sleep>,
    }
}

impl Alarm {
    /// Returns `Ready` once the budget has ended. Until then, the task is woken at its end.
    ///
    /// If tokio's time is paused, the sleep ends by that time, and the budget with it, whatever the
    /// budget's clock shows. A clock that a test moves by hand can only end it earlier.
    #[inline]
    pub(crate) fn poll_end(
        self: Pin<&mut Self>,
        budget: &Budget,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if budget.total() == Duration::MAX {
            return Poll::Pending;
        }
        let mut this = self.project();
        if this.sleep.is_none() || budget.start().1.is_some() {
            let left = match budget.start() {
                // Needs no order across threads, which costs time.
                (start, None) => budget.total().saturating_sub(start.elapsed()),
                _ => budget.remaining(),
            };
            if left.is_zero() {
                return Poll::Ready(());
            }
            if this.sleep.is_none() {
                this.sleep.set(Some(sleep(left)));
            }
        }
        this.sleep.as_pin_mut().map_or(Poll::Pending, |sleep| poll(sleep, cx))
    }

    /// Returns the time since the start of `budget`, by tokio's time if the alarm was set.
    pub(crate) fn elapsed(&self, budget: &Budget) -> Duration {
        let Some(sleep) = &self.sleep else { return budget.elapsed() };
        let left = sleep.deadline().saturating_duration_since(Instant::now());
        budget.total().saturating_sub(left)
    }

    /// Returns the end of `other`, which began with the budget of this alarm, by tokio's time.
    /// `None` if the alarm was never set.
    #[inline]
    pub(crate) fn end_of(&self, other: &Budget, own: &Budget) -> Option<Instant> {
        let end = self.sleep.as_ref()?.deadline();
        let (own, other) = (own.total(), other.total());
        match other.checked_sub(own) {
            Some(more) => end.checked_add(more),
            None => end.checked_sub(own.saturating_sub(other)),
        }
    }
}

/// The end of a body. Few bodies wait, and all are moved, so the sleep is boxed.
#[derive(Debug)]
pub(crate) struct BodyAlarm {
    /// `None` before the body waits, or if its budget never ends.
    end: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
    is_in_pause: bool,
}

impl BodyAlarm {
    /// If the response had to wait, its end is known by tokio's time.
    #[inline]
    pub(crate) fn new(end: Option<Instant>) -> Self {
        Self { end, sleep: None, is_in_pause: false }
    }

    /// Ends a pause: a frame came.
    #[inline]
    pub(crate) fn resume(&mut self) {
        self.is_in_pause = false;
    }

    /// Returns `Ready` once the budget has ended, or a pause of more than `idle`: then with true.
    pub(crate) fn poll_end(
        &mut self,
        budget: &Budget,
        idle: Duration,
        cx: &mut Context<'_>,
    ) -> Poll<bool> {
        if budget.start().1.is_some() && budget.is_exhausted() {
            return Poll::Ready(false);
        }
        if !mem::replace(&mut self.is_in_pause, true) {
            let now = Instant::now();
            if self.end.is_none() && budget.total() < Duration::MAX {
                self.end = now.checked_add(budget.remaining());
            }
            let pause = now.checked_add(idle);
            let Some(end) = pause.into_iter().chain(self.end).min() else { return Poll::Pending };
            match &mut self.sleep {
                Some(sleep) if sleep.deadline() == end => {}
                Some(sleep) => sleep.as_mut().reset(end),
                None => self.sleep = Some(Box::pin(sleep_until(end))),
            }
        }
        let Some(sleep) = &mut self.sleep else { return Poll::Pending };
        ready!(poll(sleep.as_mut(), cx));
        Poll::Ready(self.end.is_none_or(|end| sleep.deadline() < end))
    }
}

/// A task that has used up its turn by tokio's count must not miss the end.
#[inline]
fn poll(mut sleep: Pin<&mut Sleep>, cx: &mut Context<'_>) -> Poll<()> {
    if has_budget_remaining() {
        sleep.poll(cx)
    } else {
        Pin::new(&mut unconstrained(&mut sleep)).poll(cx)
    }
}
