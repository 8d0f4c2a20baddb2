//! The future of a response.

use core::fmt::Display;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;

use crate::body::ResponseBody;
use crate::headers;
use crate::open::Open;

pin_project! {
    /// The response future of a [`RequestService`](crate::RequestService).
    ///
    /// If it is dropped before the response, the span is an error of the type `cancelled`. If the
    /// handler panics, it is one of the type `panic`, and the panic goes on.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::{Request, Response};
    /// use tach_http::{RequestService, ResponseFuture, ServerSide};
    /// use tower::Service;
    ///
    /// fn start<S>(service: &mut RequestService<S, ServerSide>) -> ResponseFuture<S::Future, Request<String>>
    /// where
    ///     S: Service<Request<String>, Response = Response<String>, Error = std::io::Error>,
    /// {
    ///     service.call(Request::default())
    /// }
    /// ```
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, R> {
        #[pin]
        future: F,
        // `None` without a span, and once there is a response.
        open: Option<Box<Open>>,
        request: PhantomData<fn(R)>,
    }
}

impl<F: Future, R> ResponseFuture<F, R> {
    /// Calls the service within the request.
    #[inline]
    pub(crate) fn start(mut open: Option<Box<Open>>, call: impl FnOnce() -> F) -> Self {
        let future = match &mut open {
            Some(open) => open.during(call),
            None => call(),
        };
        Self { future, open, request: PhantomData }
    }

    /// Polls the call. The request is taken out meanwhile, so that a panic drops it.
    #[inline]
    pub(crate) fn poll_call(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<(F::Output, Option<Box<Open>>)> {
        let this = self.project();
        let Some(mut open) = this.open.take() else {
            return this.future.poll(cx).map(|output| (output, None));
        };
        match open.during(|| this.future.poll(cx)) {
            Poll::Ready(output) => Poll::Ready((output, Some(open))),
            Poll::Pending => {
                *this.open = Some(open);
                Poll::Pending
            }
        }
    }
}

impl<F, Q, B, E> Future for ResponseFuture<F, Request<Q>>
where
    F: Future<Output = Result<Response<B>, E>>,
    B: Body,
    E: Display + 'static,
{
    type Output = Result<Response<ResponseBody<B>>, E>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (output, open) = ready!(self.poll_call(cx));
        Poll::Ready(match (output, open) {
            (Ok(response), open) => Ok(with_body(response, open)),
            (Err(error), open) => {
                if let Some(open) = open {
                    open.failed(&error);
                }
                Err(error)
            }
        })
    }
}

/// Records the head of the response, and hands the rest of the request to the body.
#[inline]
pub(crate) fn with_body<B: Body>(
    response: Response<B>,
    open: Option<Box<Open>>,
) -> Response<ResponseBody<B>> {
    let open = open.and_then(|mut open| {
        let is_over = open.answered(&response) || response.body().is_end_stream();
        if is_over {
            open.end();
            None
        } else {
            Some(open)
        }
    });
    let left = open.as_ref().and_then(|_| headers::bytes_to_send(response.headers()));
    response.map(|body| ResponseBody::new(body, open, left))
}
