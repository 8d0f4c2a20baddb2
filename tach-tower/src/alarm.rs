//! Wakes a task when its budget ends: a sleep of tokio's for each call that waits.

use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};
use core::time::Duration;

use pin_project_lite::pin_project;
use tach_core::Budget;
use tokio::runtime::Handle;
use tokio::task::coop::unconstrained;
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// tokio shortens a sleep that the range of its clock can't hold to 30 years. Ten years are exact.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 86_400);

pin_project! {
    /// A sleep, and the waker that it wakes.
    #[derive(Debug)]
    struct Timer {
        #[pin]
        sleep: Sleep,
        waker: Option<Waker>,
    }
}

impl Timer {
    fn new(sleep: Sleep) -> Self {
        Self { sleep, waker: None }
    }

    fn reset(self: Pin<&mut Self>, end: Instant) {
        let this = self.project();
        // Firing takes the waker out of the sleep, so it must be set again.
        *this.waker = None;
        this.sleep.reset(end);
    }

    /// Polls the sleep, unless it has not fired and has this waker already.
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let is_set = this.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        if is_set && !this.sleep.is_elapsed() {
            return Poll::Pending;
        }
        *this.waker = Some(cx.waker().clone());
        // For a task that has used up its turn, tokio reports each sleep as pending. That would
        // hide the end.
        Pin::new(&mut unconstrained(&mut this.sleep)).poll(cx)
    }
}

pin_project! {
    /// The end of one future. The timer is created when the future is first found pending, so a
    /// future that is ready at once needs none.
    #[derive(Debug, Default)]
    pub(crate) struct Alarm {
        #[pin]
        timer: Option<Timer>,
    }
}

impl Alarm {
    /// Returns `Ready` once the budget has ended. Until then, the task is woken at its end.
    ///
    /// Under tokio's paused time, the sleep follows that time. Its end is the end of the budget,
    /// whatever the budget's own clock shows. A manual clock can only end the budget earlier.
    #[inline]
    pub(crate) fn poll_end(
        self: Pin<&mut Self>,
        budget: &Budget,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if budget.total() == Duration::MAX {
            return Poll::Pending;
        }
        let mut timer = self.project().timer;
        if timer.is_none() || budget.clock.is_some() {
            let left = match budget.clock {
                // Order across threads would cost time, and nothing here needs it.
                None => budget.total.saturating_sub(budget.start.elapsed()),
                Some(_) => budget.remaining(),
            };
            if left.is_zero() {
                return Poll::Ready(());
            }
            if timer.is_none() {
                timer.set(Some(Timer::new(sleep(left))));
            }
        }
        timer.as_pin_mut().map_or(Poll::Pending, |timer| timer.poll(cx))
    }

    /// Returns the time since the start of `budget`: by its own clock if that is not the system's,
    /// or else by tokio's clock if there is a timer.
    pub(crate) fn elapsed(&self, budget: &Budget) -> Duration {
        let timer = self.exact(budget).filter(|_| budget.clock.is_none());
        let Some(timer) = timer else { return budget.elapsed() };
        let left = timer.sleep.deadline().saturating_duration_since(Instant::now());
        budget.total().saturating_sub(left)
    }

    /// Returns the end of `other` by tokio's clock, or `None` if there is no timer. `own` is the
    /// budget of this alarm, and has the same start.
    #[inline]
    pub(crate) fn end_of(&self, other: &Budget, own: &Budget) -> Option<Instant> {
        let end = self.exact(own)?.sleep.deadline();
        let (own, other) = (own.total(), other.total());
        match other.checked_sub(own) {
            Some(more) => end.checked_add(more),
            None => end.checked_sub(own.saturating_sub(other)),
        }
    }

    /// Returns the timer, unless its end may be earlier than the budget's.
    #[inline]
    fn exact(&self, budget: &Budget) -> Option<&Timer> {
        self.timer.as_ref().filter(|_| budget.total() < LONGEST)
    }
}

/// The end of a body. The timer is boxed, because few bodies wait and all are moved.
#[derive(Debug)]
pub(crate) struct BodyAlarm {
    /// By tokio's clock. `None` before the body first waits, or if its budget never ends.
    end: Option<Instant>,
    timer: Option<Pin<Box<Timer>>>,
}

impl BodyAlarm {
    /// Creates an alarm. The end is known if the head of the response had to wait.
    #[inline]
    pub(crate) fn new(end: Option<Instant>) -> Self {
        Self { end, timer: None }
    }

    /// Returns `Ready(false)` at the end of the budget, `Ready(true)` after a pause of `idle`,
    /// which begins now if `is_new`.
    pub(crate) fn poll_end(
        &mut self,
        budget: &Budget,
        idle: Duration,
        is_new: bool,
        cx: &mut Context<'_>,
    ) -> Poll<bool> {
        let is_by_clock = budget.clock.is_some() || self.timer.is_none();
        if is_by_clock && budget.is_exhausted() {
            return Poll::Ready(false);
        }
        if is_new {
            let now = Instant::now();
            if self.end.is_none() && budget.total() < Duration::MAX {
                self.end = now.checked_add(budget.remaining());
            }
            let pause = now.checked_add(idle);
            let Some(end) = pause.into_iter().chain(self.end).min() else { return Poll::Pending };
            match &mut self.timer {
                Some(timer) if timer.sleep.deadline() == end => {}
                Some(timer) => timer.as_mut().reset(end),
                // Nothing can wake the task, and the next poll looks at the clock.
                None if Handle::try_current().is_err() => return Poll::Pending,
                None => self.timer = Some(Box::pin(Timer::new(sleep_until(end)))),
            }
        }
        let Some(timer) = &mut self.timer else { return Poll::Pending };
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(self.end.is_none_or(|end| timer.sleep.deadline() < end))
    }
}
