//! The body of a response, with which the span ends.

use core::fmt::Display;
use core::pin::Pin;
use core::task::{Context, Poll};

use bytes::Buf as _;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::open::Open;

pin_project! {
    /// The body of a response, with which the request's span ends.
    ///
    /// The span is entered while the body is polled. It ends with the last frame or the trailers,
    /// or when the body is dropped. An error of the body is the span's, and so is a server's body
    /// that is dropped before its end: the caller has gone away.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::Response;
    /// use http_body_util::{BodyExt as _, Full};
    /// use tach_http::ResponseBody;
    ///
    /// /// Reads a response, with which the span of the call ends.
    /// async fn read(response: Response<ResponseBody<Full<bytes::Bytes>>>) -> usize {
    ///     response.into_body().collect().await.map_or(0, |body| body.to_bytes().len())
    /// }
    /// ```
    #[derive(Debug)]
    pub struct ResponseBody<B> {
        #[pin]
        body: B,
        // `None` without a span, and after its end.
        open: Option<Box<Open>>,
        left: Option<u64>,
    }

    impl<B> PinnedDrop for ResponseBody<B> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if let Some(open) = this.open.take() {
                open.end_dropped(*this.left == Some(0));
            }
        }
    }
}

impl<B> ResponseBody<B> {
    /// `left` is the number of bytes after which the body may be dropped, if that is known.
    #[inline]
    pub(crate) fn new(body: B, open: Option<Box<Open>>, left: Option<u64>) -> Self {
        Self { body, open, left }
    }

    /// Returns the inner body.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_http::ResponseBody;
    ///
    /// assert_eq!(ResponseBody::<String>::default().get_ref(), "");
    /// ```
    pub fn get_ref(&self) -> &B {
        &self.body
    }
}

/// An empty body without a span. Layers around this one answer with it.
impl<B: Default> Default for ResponseBody<B> {
    fn default() -> Self {
        Self::new(B::default(), None, None)
    }
}

impl<B> Body for ResponseBody<B>
where
    B: Body<Error: Display + 'static>,
{
    type Data = B::Data;
    type Error = B::Error;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        // Take the request out during the poll, so that a panic drops it.
        let Some(mut open) = this.open.take() else { return this.body.poll_frame(cx) };
        let polled = open.during(|| this.body.as_mut().poll_frame(cx));
        match &polled {
            Poll::Ready(Some(Err(error))) => open.failed(error),
            Poll::Ready(None) => open.end(),
            Poll::Ready(Some(Ok(frame))) => {
                let trailers = frame.trailers_ref();
                if let Some(trailers) = trailers {
                    open.trailers(trailers);
                }
                if let (Some(left), Some(data)) = (this.left.as_mut(), frame.data_ref()) {
                    *left = left.saturating_sub(data.remaining() as u64);
                }
                if trailers.is_some() || this.body.is_end_stream() {
                    open.end();
                } else {
                    *this.open = Some(open);
                }
            }
            Poll::Pending => *this.open = Some(open),
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
