//! The service, around servers and around clients.

use core::fmt::Display;
use core::marker::PhantomData;
use core::task::{Context, Poll};

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use crate::body::ResponseBody;
use crate::client;
use crate::future::ResponseFuture;
use crate::options::Options;
use crate::server;

/// A service whose requests have spans. A [`RequestLayer`](crate::RequestLayer) creates it.
///
/// # Examples
///
/// ```
/// use tach_http::{RequestLayer, RequestService, ServerSide};
/// use tower::Layer;
///
/// fn traced<S>(inner: S) -> RequestService<S, ServerSide> {
///     RequestLayer::server().layer(inner)
/// }
///
/// assert_eq!(traced(7).into_inner(), 7);
/// ```
#[derive(Debug, Clone)]
pub struct RequestService<S, K> {
    pub(crate) inner: S,
    pub(crate) options: Options,
    side: PhantomData<fn(K)>,
}

impl<S, K> RequestService<S, K> {
    pub(crate) fn new(inner: S, options: Options) -> Self {
        Self { inner, options, side: PhantomData }
    }

    /// Returns the inner service.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Returns a mutable reference to the inner service.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// Takes the inner service out.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, Q, B, K> Service<Request<Q>> for RequestService<S, K>
where
    S: Service<Request<Q>, Response = Response<B>>,
    S::Error: Display + 'static,
    B: Body<Error: Display + 'static>,
{
    type Response = Response<ResponseBody<B>>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, Request<Q>>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    #[inline]
    fn call(&mut self, mut request: Request<Q>) -> Self::Future {
        let open = if self.options.is_client {
            client::open(&mut request, &self.options)
        } else {
            server::open(&request, &self.options)
        };
        ResponseFuture::start(open, || self.inner.call(request))
    }
}
