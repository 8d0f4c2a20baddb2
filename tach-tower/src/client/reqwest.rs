//! Calls of reqwest.

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use reqwest::{Request, Response};
use tower_service::Service;

use super::Client;
use crate::body::BoxError;
use crate::call::Announce;
use crate::counts::Outcome;
use crate::current::current;
use crate::future::ResponseFuture;
use crate::service::BudgetService;

/// The request finds its budget by [`current`](crate::current()), since reqwest hides extensions,
/// and its own timeout is a limit, too. The response's body ends with that timeout, which is set to
/// the time left, and is not counted.
///
/// A `tower::buffer` calls the client in a task of its own, which has no budget: put a second layer
/// around the buffer.
impl<S> Service<Request> for BudgetService<S, Client>
where
    S: Service<Request, Response = Response> + Clone,
    S::Error: Into<BoxError>,
{
    type Response = Response;
    type Error = BoxError;
    type Future = ResponseFuture<S, Request, Client>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let settings = &self.shared.settings;
        let asked = settings.asked(request.headers(), false, &self.shared.counts);
        let asked = request.timeout().map_or(asked, |own| asked.min(*own));
        let cap = settings.cap_of(request.method(), || request.url().path(), request.headers());
        let limits = settings.start(asked, cap, current(), true);
        let announce: Announce<Request> = |settings, left, request, _| {
            if left < Duration::MAX {
                *request.timeout_mut() = Some(left);
            }
            settings.write(left, request.headers_mut(), false)
        };
        self.send(request, limits, false, Some(announce))
    }
}

impl<S> Future for ResponseFuture<S, Request, Client>
where
    S: Service<Request, Response = Response>,
    S::Error: Into<BoxError>,
{
    type Output = Result<Response, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = |future: Pin<&mut Self>, response| {
            drop(future.counted(Outcome::Answered));
            Ok(response)
        };
        self.poll_by(cx, answer, |future, failed| {
            Err(future.ended(failed).unwrap_or_else(|(exhausted, _)| exhausted.into()))
        })
    }
}
