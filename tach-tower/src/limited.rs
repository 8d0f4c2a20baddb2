//! A future that ends with a budget.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use pin_project_lite::pin_project;
use tach_core::Budget;

use crate::alarm::Alarm;
use crate::current::{Entered, Limits, Woken, grace, is_ended_by_current};
use crate::exhausted::{Exhausted, Spent};

/// Returns how long before the end of a budget a failure counts as the end: a client's error, a
/// peer's answer that its own time is over, and a server's answer of failure. Client and peer know
/// the end from a header that was rounded down. The time is shorter for a short call, so that most
/// of its failures stay failures.
fn early(head: &Budget) -> Duration {
    Duration::from_millis(2).min(head.total() / 8)
}

pin_project! {
    pub(crate) struct Limited<F> {
        // `None` after the end of the budget, or if there was no time to begin.
        #[pin]
        pub(crate) future: Option<F>,
        pub(crate) limits: Limits,
        pub(crate) alarm: Alarm,
        // What the budget was spent on. Set at its end.
        spent: Spent,
        // Whether this future waits until an outer future, which ends no later, has answered.
        // `None` before the end.
        is_left: Option<bool>,
    }
}

impl<F> Limited<F> {
    #[inline]
    pub(crate) fn new(future: Option<F>, limits: Limits) -> Self {
        Self { future, limits, alarm: Alarm::default(), spent: Spent::Before, is_left: None }
    }

    /// Returns `Ready` once the budget of the future, which is pending or was not begun, has ended.
    /// The future is dropped then. `spent` says what it did.
    #[inline]
    pub(crate) fn poll_end(
        mut self: Pin<&mut Self>,
        spent: fn(&F) -> Spent,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let this = self.as_mut().project();
        if let Some(future) = this.future.as_ref().get_ref() {
            // The outer layer ends together with this future: it drops the future, and counts the
            // end.
            if this.alarm.is_set_for(cx) || is_ended_by_current(&this.limits.head, cx) {
                return Poll::Pending;
            }
            ready!(this.alarm.poll_end(&this.limits.head, cx));
            let spent = spent(future);
            self.as_mut().end(spent);
        }
        self.poll_left(cx)
    }

    /// Drops the future, and sets what the budget was spent on.
    #[cold]
    pub(crate) fn end(self: Pin<&mut Self>, spent: Spent) {
        let mut this = self.project();
        *this.spent = spent;
        // The future may hold a resource that others wait for, so drop it before the response.
        this.future.set(None);
    }

    /// Ends a call that is over at the end of its budget, or shortly before, and returns `true`. A
    /// peer's answer is kept, unless an outer future ends no later.
    #[cold]
    pub(crate) fn leave(self: Pin<&mut Self>, spent: Spent, is_of_peer: bool) -> bool {
        let head = &self.limits.head;
        let left = head.total().saturating_sub(self.alarm.elapsed(head));
        let is_over = left <= early(head) && (!is_of_peer || grace(head).is_some());
        if is_over {
            self.end(spent);
        }
        is_over
    }

    /// Returns `Ready` once an outer future that ends no later had the time to answer: only the
    /// outer future knows with what.
    #[cold]
    fn poll_left(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let head = &this.limits.head;
        // Don't wait a second time: another task may poll the future by now, and no outer future
        // answers for it.
        let Some(grace) = grace(head) else { return Poll::Ready(()) };
        if this.is_left.is_none() {
            let elapsed = this.alarm.elapsed(head);
            let left = head.total().saturating_sub(elapsed);
            if left > early(head) {
                return Poll::Ready(());
            }
            *this.is_left = Some(true);
            // If the call was refused, its handler may have outlived the request, so lateness
            // counts against the grace. A call that was begun may be late only because the thread
            // was busy.
            let is_late = *this.spent == Spent::Before;
            let late = if is_late { elapsed.saturating_sub(head.total()) } else { Duration::ZERO };
            this.alarm.set((left + grace).saturating_sub(late));
        }
        if *this.is_left == Some(true) {
            ready!(this.alarm.poll(cx));
            // The grace is over. But if the thread was busy meanwhile, the outer future was not
            // polled yet, and is polled only after this one. So wait once more. Set the alarm for
            // that instead of waking the task: a combinator would poll this future again first.
            *this.is_left = Some(false);
            this.alarm.set(Duration::from_millis(1));
        }
        this.alarm.poll(cx)
    }

    /// Returns the error of the budget that has ended.
    #[cold]
    pub(crate) fn exhausted(&self) -> Exhausted {
        Exhausted::new(self.limits.head.total(), self.spent)
    }
}

/// Ends a future with a budget: a query, a call, or any other.
///
/// While the future runs, `budget` is the [`current`](crate::current()) one. A result that is ready
/// when the budget ends is returned. If the budget is exhausted already, the future is not polled.
///
/// # Errors
///
/// Fails if the budget ends first. The future is dropped then.
///
/// # Panics
///
/// If the future must wait outside a tokio runtime with time enabled, and `budget` has an end.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{Exhausted, current, enforce};
///
/// async fn rows() -> Result<u64, Exhausted> {
///     let query = async { 7 };
///     match current() {
///         // A tenth of a second is left for the answer.
///         Some(request) => {
///             enforce(request.child(Duration::MAX, Duration::from_millis(100)), query).await
///         }
///         None => Ok(query.await),
///     }
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// assert_eq!(rows().await, Ok(7));
/// # }
/// ```
pub fn enforce<F: Future>(
    budget: Budget,
    future: F,
) -> impl Future<Output = Result<F::Output, Exhausted>> {
    let future = (!budget.is_exhausted()).then_some(future);
    Limited::new(future, Limits::of(budget))
}

impl<F: Future> Future for Limited<F> {
    type Output = Result<F::Output, Exhausted>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.as_mut().project();
        if let Some(future) = this.future.as_pin_mut() {
            let mut outer = None;
            let entered = Entered::new(&mut outer, *this.limits, false, Woken::of(cx.waker()));
            if let Poll::Ready(output) = future.poll(cx) {
                return Poll::Ready(Ok(output));
            }
            drop(entered);
            // Don't leave this end to an outer budget, even to the same one: the caller asked for
            // it.
            ready!(this.alarm.poll_end(&this.limits.head, cx));
            self.as_mut().end(Spent::Running);
        }
        Poll::Ready(Err(self.exhausted()))
    }
}
