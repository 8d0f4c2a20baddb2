//! Bodies that end with a budget.

use core::error::Error as StdError;
use core::pin::Pin;
use core::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tach_core::{Budget, adapter};

use crate::current::Entered;
use crate::grpc;
use crate::observe::Stats;
use crate::timer::Alarm;

type BoxError = Box<dyn StdError + Send + Sync>;

pin_project! {
    /// A body that ends with a budget, or the answer to a request whose budget was exhausted.
    ///
    /// Once the budget is exhausted, the body that is wrapped is dropped, and the reader gets an
    /// error: an [`Error`](crate::Error) whose `is_exhausted` returns true. The reader of a gRPC
    /// response gets trailers with the status 4, `DEADLINE_EXCEEDED`, instead.
    ///
    /// A first frame that is ready is passed on even if the budget is exhausted. While the body is
    /// polled, its budget is the [`current`](crate::current) one.
    ///
    /// *Not* promised: that a body ends which nobody polls. A server does not poll a response's
    /// body while its client reads nothing. The server's own write timeout limits that.
    ///
    /// # Examples
    ///
    /// A request's body that trickles:
    ///
    /// ```
    /// use std::time::Duration;
    /// use http::Request;
    /// use http_body::Body;
    /// use tach_tower::{Budget, BudgetBody};
    ///
    /// fn limited<B: Body>(request: Request<B>) -> Request<BudgetBody<B>> {
    ///     let left = request.extensions().get::<Budget>().copied();
    ///     let budget = left.unwrap_or_else(|| Budget::new(Duration::from_secs(5)));
    ///     request.map(|body| BudgetBody::new(body, budget))
    /// }
    /// ```
    #[derive(Debug)]
    pub struct BudgetBody<B> {
        #[pin]
        content: Content<B>,
        end: Option<End>,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = ContentNow]
    enum Content<B> {
        Inner {
            #[pin]
            body: B,
        },
        Own { bytes: Bytes },
    }
}

/// The end of a body.
#[derive(Debug)]
struct End {
    budget: Budget,
    alarm: Alarm,
    has_begun: bool,
    is_grpc: bool,
    stats: Option<Stats>,
}

impl<B> BudgetBody<B> {
    /// Creates a body that ends with `budget`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::{Budget, BudgetBody};
    ///
    /// let body = BudgetBody::new("text".to_owned(), Budget::new(Duration::from_secs(1)));
    /// ```
    #[must_use]
    pub fn new(body: B, budget: Budget) -> Self {
        Self::of_response(body, budget, false, None)
    }

    #[inline]
    pub(crate) fn of_response(
        body: B,
        budget: Budget,
        is_grpc: bool,
        stats: Option<Stats>,
    ) -> Self {
        let end = End { budget, alarm: Alarm::default(), has_begun: false, is_grpc, stats };
        Self { content: Content::Inner { body }, end: Some(end) }
    }

    pub(crate) fn endless(body: B) -> Self {
        Self { content: Content::Inner { body }, end: None }
    }

    pub(crate) fn own(bytes: Bytes) -> Self {
        Self { content: Content::Own { bytes }, end: None }
    }
}

/// An empty body without an end. Layers around a budget's, such as those of `tower_http`, answer
/// with it.
impl<B> Default for BudgetBody<B> {
    fn default() -> Self {
        Self::own(Bytes::new())
    }
}

impl<B> Body for BudgetBody<B>
where
    B: Body,
    B::Data: From<Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let mut this = self.project();
        let body = match this.content.as_mut().project() {
            ContentNow::Inner { body } => body,
            ContentNow::Own { bytes } if bytes.is_empty() => return Poll::Ready(None),
            ContentNow::Own { bytes } => {
                return Poll::Ready(Some(Ok(Frame::data(core::mem::take(bytes).into()))));
            }
        };
        let Some(end) = this.end else { return poll_inner(body, cx) };
        // The budget is checked before each frame but the first, so a body that is always ready
        // ends, too. The first frame is exempt: it is often the whole body, and without it a server
        // would abort the connection.
        if !end.has_begun || !end.budget.is_exhausted() || body.is_end_stream() {
            let entered = Entered::new(end.budget);
            if let Poll::Ready(frame) = poll_inner(body, cx) {
                end.has_begun = true;
                if is_last(frame.as_ref()) {
                    // Nothing is left to end.
                    *this.end = None;
                }
                return Poll::Ready(frame);
            }
            drop(entered);
            core::task::ready!(end.alarm.poll_end(&end.budget, cx));
        }
        let last = end.last_frame();
        this.content.set(Content::Own { bytes: Bytes::new() });
        *this.end = None;
        Poll::Ready(Some(last))
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Inner { body } => body.is_end_stream(),
            Content::Own { bytes } => bytes.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Inner { body } => body.size_hint(),
            Content::Own { bytes } => SizeHint::with_exact(bytes.len() as u64),
        }
    }
}

type FrameResult<D> = Option<Result<Frame<D>, BoxError>>;

/// Returns whether no frame can follow.
fn is_last<D>(frame: Option<&Result<Frame<D>, BoxError>>) -> bool {
    match frame {
        None => true,
        Some(Ok(frame)) => frame.is_trailers(),
        Some(Err(_)) => false,
    }
}

fn poll_inner<B>(body: Pin<&mut B>, cx: &mut Context<'_>) -> Poll<FrameResult<B::Data>>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    body.poll_frame(cx).map_err(Into::into)
}

impl End {
    /// Returns the frame that a reader gets instead of the rest, and counts it.
    fn last_frame<D>(&self) -> Result<Frame<D>, BoxError> {
        if let Some(stats) = &self.stats {
            stats.count_ended_body();
        }
        let error = adapter::exhausted(self.budget.total());
        if self.is_grpc { Ok(Frame::trailers(grpc::trailers(&error))) } else { Err(error.into()) }
    }
}
