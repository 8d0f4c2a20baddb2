//! Calls of reqwest.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use http::request;
use reqwest::{Request, Response};
use tach_core::Budget;
use tower_service::Service;

use super::ClientSide;
use crate::body::BoxError;
use crate::call::Sends;
use crate::current::{GRACE, current};
use crate::future::ResponseFuture;
use crate::grpc::Protocol;
use crate::service::{BudgetService, send};
use crate::settings::{Settings, ns};

/// The request finds its budget by [`current`](crate::current()), since reqwest hides extensions,
/// and its own timeout is a limit, too. The response's body ends with that timeout, which is set to
/// the time left and 5 ms, and is not counted.
///
/// A `tower::buffer` calls the client in a task of its own, which has no budget: put a second layer
/// around the buffer.
impl<S> Service<Request> for BudgetService<S, ClientSide>
where
    S: Service<Request, Response = Response> + Clone,
    S::Error: Into<BoxError>,
{
    type Response = Response;
    type Error = BoxError;
    type Future = ResponseFuture<S, Request, ClientSide>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let settings = &self.shared.settings;
        let asked_ns = settings.asked(request.headers(), false, &self.shared.counts);
        let asked_ns = request.timeout().map_or(asked_ns, |own| asked_ns.min(ns(*own)));
        let cap_ns = match &settings.cap_by {
            Some(_) => settings.cap_of(&parts(&request)),
            None => settings.cap_ns,
        };
        let started = settings.start(asked_ns, cap_ns, current(), true);
        send!(self, request, started, Protocol::Http, true)
    }
}

impl Sends for Request {
    fn budget(&self) -> Option<Budget> {
        None
    }

    fn announce(&mut self, settings: &Settings, left_ns: u64) -> bool {
        // Only reqwest's own timer can end the body. Add a grace, so that this timer never ends the
        // head first.
        let end = Duration::from_nanos(left_ns).saturating_add(GRACE);
        let timeout = self.timeout_mut();
        if left_ns < u64::MAX && timeout.is_none_or(|own| end < own) {
            *timeout = Some(end);
        }
        settings.write(left_ns, self.headers_mut(), false)
    }
}

/// Returns the parts of a request in the types of the crate `http`.
fn parts(request: &Request) -> request::Parts {
    let (mut parts, ()) = http::Request::new(()).into_parts();
    parts.method = request.method().clone();
    parts.uri = request.url().as_str().parse().unwrap_or_default();
    parts.headers = request.headers().clone();
    parts
}

impl<S> Future for ResponseFuture<S, Request, ClientSide>
where
    S: Service<Request, Response = Response>,
    S::Error: Into<BoxError>,
{
    type Output = Result<Response, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let done = |this: Pin<&mut Self>, polled: Poll<Result<Response, S::Error>>| {
            if polled.is_ready() {
                this.answered();
            }
            polled.map_err(Into::into)
        };
        match self.as_mut().poll_call(cx, |it| (it.status(), it.headers(), it.extensions()), done) {
            Poll::Ready(answer) => return Poll::Ready(answer),
            Poll::Pending => ready!(self.as_mut().poll_end(cx)),
        }
        Poll::Ready(Err(self.exhausted().0.into()))
    }
}
