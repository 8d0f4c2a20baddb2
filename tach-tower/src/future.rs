//! The future of a response, or of 504.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use http::{Response, StatusCode};
use pin_project_lite::pin_project;
use tach_core::Budget;
use tokio::time::{Sleep, sleep};

use crate::Stats;

/// The shortest sleep. Tokio's timer ticks in milliseconds, so a shorter sleep could spin.
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);

pin_project! {
    /// The response future of a [`BudgetService`](crate::BudgetService).
    ///
    /// If the inner future is ready, returns its response or error, even if the budget is
    /// exhausted. If only the budget is exhausted, drops the inner future and returns 504 Gateway
    /// Timeout with an empty body.
    ///
    /// # Panics
    ///
    /// If it must wait outside a tokio runtime with time enabled.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::{Ready, ready};
    /// use std::time::Duration;
    /// use http::{Request, Response};
    /// use tach_tower::{BudgetLayer, ResponseFuture};
    /// use tower::{Layer, Service, service_fn};
    ///
    /// type Inner = Ready<Result<Response<String>, std::io::Error>>;
    ///
    /// let inner = service_fn(|_: Request<()>| -> Inner { ready(Ok(Response::default())) });
    /// let mut service = BudgetLayer::new(Duration::from_secs(30)).layer(inner);
    /// let future: ResponseFuture<Inner> = service.call(Request::new(()));
    /// ```
    #[derive(Debug)]
    pub struct ResponseFuture<F> {
        // `None` if the budget was exhausted before the inner service could be called.
        #[pin]
        inner: Option<F>,
        budget: Budget,
        // `None` until the future must wait.
        #[pin]
        timer: Option<Sleep>,
        stats: Stats,
    }
}

impl<F> ResponseFuture<F> {
    pub(crate) fn new(inner: Option<F>, budget: Budget, stats: Stats) -> Self {
        Self { inner, budget, timer: None, stats }
    }
}

impl<F, B, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
    B: Default,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some(inner) = this.inner.as_mut().as_pin_mut() {
            if let Poll::Ready(result) = inner.poll(cx) {
                return Poll::Ready(result);
            }
            ready!(poll_exhausted(this.budget, this.timer, cx));
        }
        // Others may wait for a resource that the inner future holds: drop it before the response.
        this.inner.set(None);
        this.stats.count_exhausted();
        Poll::Ready(Ok(gateway_timeout()))
    }
}

/// Returns `Ready` if the budget is exhausted by its clock. Otherwise sets `timer` to wake the
/// task, again if the timer fires too early by that clock.
fn poll_exhausted(
    budget: &Budget,
    mut timer: Pin<&mut Option<Sleep>>,
    cx: &mut Context<'_>,
) -> Poll<()> {
    loop {
        let remaining = budget.remaining();
        if remaining.is_zero() {
            return Poll::Ready(());
        }
        if let Some(armed) = timer.as_mut().as_pin_mut() {
            ready!(armed.poll(cx));
        }
        timer.set(Some(sleep(remaining.max(SHORTEST_SLEEP))));
    }
}

fn gateway_timeout<B: Default>() -> Response<B> {
    let mut response = Response::new(B::default());
    *response.status_mut() = StatusCode::GATEWAY_TIMEOUT;
    response
}
