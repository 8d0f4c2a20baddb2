//! Calls of reqwest.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use pin_project_lite::pin_project;
use reqwest::{Request, Response};
use tach_core::adapter;
use tower_service::Service;

use super::PropagateBudget;
use super::future::BoxError;
use super::layer::Settings;
use crate::call::{Call, Rules};
use crate::observe::{Stats, Unanswered};

/// The request finds its budget by [`current`](crate::current), since reqwest hides extensions, and
/// its own timeout is a limit, too. The response's body ends with that timeout, which is set to the
/// time left, and is not counted.
///
/// A `tower::buffer` calls the client in a task of its own, which has no budget: put a second layer
/// around the buffer.
impl<S> Service<Request> for PropagateBudget<S>
where
    S: Service<Request, Response = Response> + Clone,
    S::Error: Into<BoxError>,
{
    type Response = Response;
    type Error = BoxError;
    type Future = ReqwestFuture<S>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let settings = &self.settings;
        let own = request.timeout().copied().unwrap_or(Duration::MAX);
        let budget = settings.budget(None, own, request.headers());
        let call = if settings.refuses(budget.total()) {
            settings.stats.count_refused();
            self.inner.refuse(budget)
        } else {
            settings.announce(budget.total(), &mut request);
            self.inner.call(request, budget, settings)
        };
        ReqwestFuture { call, unanswered: Unanswered(Some(settings.stats.clone())) }
    }
}

impl Rules<Request> for Settings {
    fn refuses(&self, left: Duration) -> bool {
        self.refuses(left)
    }

    fn announce(&self, left: Duration, request: &mut Request) {
        self.write(left, request.headers_mut());
        if !self.has_endless_bodies && left < Duration::MAX {
            *request.timeout_mut() = Some(left);
        }
    }
}

pin_project! {
    /// The response future of a [`PropagateBudget`] around a client of reqwest.
    ///
    /// # Panics
    ///
    /// If it must wait outside a tokio runtime with time enabled, and the call has a budget.
    ///
    /// # Examples
    ///
    /// ```
    /// use reqwest::{Client, Request};
    /// use tach_tower::{PropagateBudget, ReqwestFuture};
    /// use tower::Service;
    ///
    /// fn send(client: &mut PropagateBudget<Client>, request: Request) -> ReqwestFuture<Client> {
    ///     client.call(request)
    /// }
    /// ```
    #[must_use = "futures do nothing unless polled"]
    pub struct ReqwestFuture<S>
    where
        S: Service<Request>,
    {
        #[pin]
        call: Call<S, Request, Settings>,
        unanswered: Unanswered,
    }
}

impl<S> Future for ReqwestFuture<S>
where
    S: Service<Request, Response = Response>,
    S::Error: Into<BoxError>,
{
    type Output = Result<Response, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let result = ready!(this.call.as_mut().poll(cx));
        let (budget, stats) = (this.call.budget(), this.unanswered.0.take());
        // Reqwest's own timeout may end the call at the same moment, with an error of its own.
        let result = result.filter(|result| result.is_ok() || !budget.is_exhausted());
        let Some(result) = result else {
            stats.inspect(Stats::count_exhausted);
            return Poll::Ready(Err(adapter::exhausted(budget.total()).into()));
        };
        stats.inspect(Stats::count_answered);
        Poll::Ready(result.map_err(Into::into))
    }
}

impl<S: Service<Request>> fmt::Debug for ReqwestFuture<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReqwestFuture").field("budget", &self.call.budget()).finish_non_exhaustive()
    }
}
