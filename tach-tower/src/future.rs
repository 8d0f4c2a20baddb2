//! The response, or 504 if it comes too late.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use http::{Response, StatusCode};
use pin_project_lite::pin_project;
use tach_core::Budget;
use tokio::time::{Sleep, sleep};

use crate::Stats;

/// The shortest sleep. Tokio's timer ticks in milliseconds; to ask for less could spin.
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);

pin_project! {
    /// The response of a [`BudgetService`](crate::BudgetService).
    ///
    /// It is that of the inner service, its error included, if it is ready when the budget is
    /// looked at: what is finished is not thrown away. Otherwise it is 504 Gateway Timeout with an
    /// empty body, and the inner future is dropped before it is given.
    ///
    /// # Panics
    ///
    /// When it has to wait outside of a tokio runtime, or in one whose time is not enabled.
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
        // Absent when the budget was gone before the inner service could be called.
        #[pin]
        inner: Option<F>,
        budget: Budget,
        // Absent until there is something to wait for.
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
        // The inner future may hold what others wait for: it goes before the answer does.
        this.inner.set(None);
        this.stats.count_exhausted();
        Poll::Ready(Ok(gateway_timeout()))
    }
}

/// Ready as soon as tach's clock says that the budget is gone. Until then `timer` is armed to wake
/// the task; should it do so too early by that clock, it is armed again with what remains.
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
