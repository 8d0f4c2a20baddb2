//! Calls of reqwest.

#[cfg(feature = "reqwest-middleware")]
mod middleware;

use core::fmt::Display;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use reqwest::{Body, Request, Response, ResponseBuilderExt as _};
use tach_tower::ClientSide;
use tach_tower::adapter::Protocol;
use tower_service::Service;

use crate::address::Target;
use crate::client::{announce, start};
use crate::future::{ResponseFuture, with_body};
use crate::open::Open;
use crate::options::Options;
use crate::service::RequestService;

/// The span ends with the response's body. Redirects are a part of it, and its `url.full` is the
/// first address.
impl<S> Service<Request> for RequestService<S, ClientSide>
where
    S: Service<Request, Response = Response>,
    S::Error: Display + 'static,
{
    type Response = Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, Request>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let open = open(&mut request, &self.options);
        ResponseFuture::start(open, || self.inner.call(request))
    }
}

/// Opens a request's span, and writes its headers.
fn open(request: &mut Request, options: &Options) -> Option<Box<Open>> {
    let url = request.url();
    let authority = Some(url.authority()).filter(|it| !it.is_empty());
    let target = Target { scheme: Some(url.scheme()), authority, path: url.path() };
    let open = start(request.method(), Protocol::Http, &target);
    announce(open.as_deref(), request.headers_mut(), options);
    open
}

impl<F, E> Future for ResponseFuture<F, Request>
where
    F: Future<Output = Result<Response, E>>,
    E: Display + 'static,
{
    type Output = Result<Response, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (output, open) = ready!(self.poll_call(cx));
        let Some(open) = open else { return Poll::Ready(output) };
        Poll::Ready(match output {
            Ok(response) => Ok(with_span(response, open)),
            Err(error) => {
                open.failed(&error);
                Err(error)
            }
        })
    }
}

/// Records the head of the response, whose body ends the span.
fn with_span(response: Response, open: Box<Open>) -> Response {
    let url = response.url().clone();
    let response = with_body(http::Response::<Body>::from(response), Some(open));
    // reqwest reads the address of a response from an extension, which only a builder sets.
    let with_url = http::Response::builder().url(url).body(()).map(http::Response::into_parts);
    let mut response = response.map(Body::wrap);
    if let Ok((parts, ())) = with_url {
        response.extensions_mut().extend(parts.extensions);
    }
    response.into()
}
