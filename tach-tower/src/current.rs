//! The budget of the code that runs, for code that has no request.

use core::cell::Cell;
use core::pin::Pin;
use core::task::{Context, Poll};

use pin_project_lite::pin_project;
use tach_core::Budget;

thread_local! {
    /// Set while a future with a budget is polled.
    static CURRENT: Cell<Option<Budget>> = const { Cell::new(None) };
}

/// Returns the budget of the request that the current task works for.
///
/// A layer of this crate sets it while it polls the service inside, so it is there on every thread
/// that the task moves to. A spawned task has none: give it one with [`within`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{Budget, current, within};
///
/// /// Has no request at hand.
/// async fn query() -> Duration {
///     current().map_or(Duration::MAX, |budget| budget.remaining())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// assert_eq!(query().await, Duration::MAX);
/// assert!(within(Budget::new(Duration::from_secs(1)), query()).await <= Duration::from_secs(1));
/// # }
/// ```
#[must_use]
#[inline]
pub fn current() -> Option<Budget> {
    CURRENT.get()
}

/// Makes `budget` the [`current`] one of a future: for spawned tasks. It does not end the
/// future.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{Budget, current, within};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let budget = Budget::new(Duration::from_secs(1));
/// let task = tokio::spawn(within(budget, async { current() }));
/// assert_eq!(task.await.unwrap(), Some(budget));
/// # }
/// ```
pub fn within<F: Future>(budget: Budget, future: F) -> Within<F> {
    Within { future, budget }
}

pin_project! {
    /// A future with a [`current`] budget. [`within`] creates it.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::Ready;
    /// use tach_tower::{Budget, Within, within};
    ///
    /// fn at_once(budget: Budget) -> Within<Ready<u8>> {
    ///     within(budget, std::future::ready(1))
    /// }
    /// ```
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Within<F> {
        #[pin]
        future: F,
        budget: Budget,
    }
}

impl<F: Future> Future for Within<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _entered = Entered::new(*this.budget);
        this.future.poll(cx)
    }
}

/// Sets the current budget until it is dropped.
pub(crate) struct Entered(Option<Budget>);

impl Entered {
    #[inline]
    pub(crate) fn new(budget: Budget) -> Self {
        Self(CURRENT.replace(Some(budget)))
    }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}
