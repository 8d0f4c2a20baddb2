//! A future that ends with a budget.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tach_core::Budget;

use crate::alarm::Alarm;
use crate::current::{Entered, OuterEnd};
use crate::exhausted::{Exhausted, Spent};
use crate::limits::Whole;

pin_project! {
    pub(crate) struct Limited<F> {
        // `None` after the end of the budget, or if there was no time to begin.
        #[pin]
        future: Option<F>,
        pub(crate) budget: Budget,
        // The end of the outer budget, if this one has no earlier end of its own.
        parent: Option<OuterEnd>,
        // What the budget was spent on. Set at its end.
        spent: Spent,
        #[pin]
        pub(crate) alarm: Alarm,
    }
}

impl<F> Limited<F> {
    #[inline]
    pub(crate) fn new(future: Option<F>, budget: Budget, parent: Option<OuterEnd>) -> Self {
        Self { future, budget, parent, spent: Spent::Before, alarm: Alarm::default() }
    }

    /// Sets what the budget was spent on.
    #[cold]
    pub(crate) fn note(self: Pin<&mut Self>, spent: Spent) {
        *self.project().spent = spent;
    }

    /// Returns the error of the budget that has ended.
    #[cold]
    pub(crate) fn exhausted(&self) -> Exhausted {
        Exhausted::new(&self.budget, self.parent, self.spent)
    }
}

impl<F: Future> Limited<F> {
    /// Polls the future, and returns its result even if the budget is exhausted by then. If the
    /// budget ends first, drops the future, keeps the value of `spent`, and returns `None`. `whole` is
    /// the time for a response with its body.
    #[inline(always)]
    pub(crate) fn poll_until(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        whole: Option<&Whole>,
        spent: impl FnOnce(&F) -> Spent,
    ) -> Poll<Option<F::Output>> {
        let mut this = self.project();
        let Some(future) = this.future.as_mut().as_pin_mut() else {
            return Poll::Ready(None);
        };
        let entered = Entered::new(*this.budget, whole, Some(cx.waker()));
        if let Poll::Ready(output) = future.poll(cx) {
            return Poll::Ready(Some(output));
        }
        // The outer layer ends together with this future: it drops the future, and counts the end.
        let is_ended = entered.is_ended_by(*this.parent, this.budget, cx);
        drop(entered);
        if is_ended {
            return Poll::Pending;
        }
        ready!(this.alarm.poll_end(this.budget, cx));
        if let Some(future) = this.future.as_ref().as_pin_ref() {
            *this.spent = spent(&future);
        }
        // The future may hold a resource that others wait for, so drop it before the response.
        this.future.set(None);
        Poll::Ready(None)
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
    // The caller asked for this end, so it is not left to an outer budget, even to the same one.
    Limited::new(future, budget, None)
}

impl<F: Future> Future for Limited<F> {
    type Output = Result<F::Output, Exhausted>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = ready!(self.as_mut().poll_until(cx, None, |_| Spent::Running));
        Poll::Ready(result.ok_or_else(|| self.exhausted()))
    }
}
