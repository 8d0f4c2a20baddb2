//! A future that ends with a budget.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tach_core::Budget;

use crate::alarm::Alarm;
use crate::current::{Current, Entered};
use crate::exhausted::{Exhausted, Spent};
use crate::limits::Limits;

pin_project! {
    pub(crate) struct Limited<F> {
        // `None` after the end of the budget, or if there was no time to begin.
        #[pin]
        pub(crate) future: Option<F>,
        pub(crate) limits: Limits,
        // What the budget was spent on. Set at its end.
        spent: Spent,
        #[pin]
        pub(crate) alarm: Alarm,
    }
}

impl<F> Limited<F> {
    #[inline]
    pub(crate) fn new(future: Option<F>, limits: Limits) -> Self {
        Self { future, limits, spent: Spent::Before, alarm: Alarm::default() }
    }

    /// Returns `Ready` once the budget of the future, which is pending, has ended. The future is
    /// dropped then.
    #[inline]
    pub(crate) fn poll_end(
        mut self: Pin<&mut Self>,
        entered: Entered<'_>,
        spent: Spent,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let this = self.as_mut().project();
        let Limits { current, parent, .. } = this.limits;
        // The outer layer ends together with this future: it drops the future, and counts the end.
        let is_ended = entered.is_ended_by(*parent, &current.budget, cx);
        drop(entered);
        if is_ended {
            return Poll::Pending;
        }
        ready!(this.alarm.poll_end(&current.budget, cx));
        self.end(spent);
        Poll::Ready(())
    }

    /// Drops the future, and sets what the budget was spent on.
    #[cold]
    pub(crate) fn end(self: Pin<&mut Self>, spent: Spent) {
        let mut this = self.project();
        *this.spent = spent;
        // The future may hold a resource that others wait for, so drop it before the response.
        this.future.set(None);
    }

    /// Returns the error of the budget that has ended.
    #[cold]
    pub(crate) fn exhausted(&self) -> Exhausted {
        Exhausted::new(&self.limits.current.budget, self.limits.parent, self.spent)
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
    let limits = Limits { current: Current::of(budget), parent: None, whole_parent: None };
    Limited::new(future, limits)
}

impl<F: Future> Future for Limited<F> {
    type Output = Result<F::Output, Exhausted>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.as_mut().project();
        if let Some(future) = this.future.as_pin_mut() {
            let mut outer = None;
            let entered = Entered::new(&mut outer, &this.limits.current, Some(cx.waker()));
            if let Poll::Ready(output) = future.poll(cx) {
                return Poll::Ready(Ok(output));
            }
            ready!(self.as_mut().poll_end(entered, Spent::Running, cx));
        }
        Poll::Ready(Err(self.exhausted()))
    }
}
