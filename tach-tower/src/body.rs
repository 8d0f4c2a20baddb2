//! Bodies that end with a budget.

use core::error::Error as StdError;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::sync::Arc;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tach_core::Budget;

use crate::alarm::Alarm;
use crate::counts::Outcome;
use crate::current::{Entered, Limits, Woken, is_ended_by_current};
use crate::exhausted::{Exhausted, Spent};
use crate::grpc::{self, Protocol};
use crate::shared::Shared;

pub(crate) type BoxError = Box<dyn StdError + Send + Sync>;

pin_project! {
    /// A body that ends with a budget, or the answer to a request whose budget was exhausted.
    ///
    /// Once the budget is exhausted, the body that is wrapped is dropped, and the reader gets an
    /// error, a boxed [`Exhausted`]. The reader of a gRPC response gets trailers with the status 4,
    /// `DEADLINE_EXCEEDED`, instead, or 14, `UNAVAILABLE`, if the service stops.
    ///
    /// A first frame that is ready is passed on even if the budget is exhausted. While the body is
    /// polled, its budget is the [`current`](crate::current()) one.
    ///
    /// Outside a tokio runtime nothing wakes the reader at the end of the budget, and no pause is
    /// limited. The body then ends when it is polled after the end.
    ///
    /// # Panics
    ///
    /// If it must wait in a runtime without time enabled, or in one that shuts down, and its budget
    /// has an end.
    ///
    /// # A reader that is slow
    ///
    /// A body ends when it is polled. hyper does not poll the body of a response while its peer
    /// reads nothing and the buffers are full, and hyper 1 has no timeout for writes: such a
    /// response lives on until the connection ends. What ends that is outside of hyper's
    /// `serve_connection`: a limit of the connection's time, `http2().keep_alive_interval` for a
    /// peer that is gone, the socket's `TCP_USER_TIMEOUT`, or a transport that limits its writes.
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
        // `None` after the body's end, and in an answer to an exhausted request.
        #[pin]
        body: Option<B>,
        rest: Rest,
    }
}

/// What belongs to a body beside its own bytes. A response grows by these 40 bytes.
#[derive(Debug)]
pub(crate) enum Rest {
    Nothing,
    End(End),
    /// The answer to an exhausted request.
    Own(Box<Bytes>),
}

/// The end of a body.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) budget: Budget,
    pub(crate) alarm: Alarm,
    pub(crate) shared: Option<Arc<Shared>>,
    pub(crate) protocol: Protocol,
    has_begun: bool,
    is_in_pause: bool,
    is_cut: bool,
}

const _: () = assert!(size_of::<Rest>() == 40);

impl End {
    #[inline]
    pub(crate) fn new(
        budget: Budget,
        alarm: Alarm,
        shared: Option<Arc<Shared>>,
        protocol: Protocol,
    ) -> Self {
        let (has_begun, is_in_pause, is_cut) = (false, false, false);
        Self { budget, alarm, shared, protocol, has_begun, is_in_pause, is_cut }
    }
}

impl Drop for End {
    #[inline]
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.counts.add(if self.is_cut { Outcome::EndedBody } else { Outcome::Answered });
        }
    }
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
    /// assert_eq!(body.into_inner().unwrap(), "text");
    /// ```
    #[must_use]
    pub fn new(body: B, budget: Budget) -> Self {
        let end = End::new(budget, Alarm::default(), None, Protocol::Http);
        Self::with_rest(body, Rest::End(end))
    }

    #[inline]
    pub(crate) fn with_rest(body: B, rest: Rest) -> Self {
        Self { body: Some(body), rest }
    }

    pub(crate) fn own(bytes: Bytes) -> Self {
        let rest = if bytes.is_empty() { Rest::Nothing } else { Rest::Own(Box::new(bytes)) };
        Self { body: None, rest }
    }

    /// Returns the inner body; `None` if it has ended, or if there was none.
    pub fn get_ref(&self) -> Option<&B> {
        self.body.as_ref()
    }

    /// Takes the inner body out, which no budget ends any more; `None` if it has ended, or if there
    /// was none.
    pub fn into_inner(self) -> Option<B> {
        self.body
    }
}

/// An empty body without an end. Layers around the layer of a budget, such as those of
/// `tower_http`, answer with it.
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
        let Some(body) = this.body.as_mut().as_pin_mut() else {
            return Poll::Ready(match mem::replace(this.rest, Rest::Nothing) {
                Rest::Own(bytes) => Some(Ok(Frame::data((*bytes).into()))),
                _ => None,
            });
        };
        let Rest::End(end) = this.rest else { return body.poll_frame(cx).map_err(Into::into) };
        // The budget is checked before each frame but the first, so a body that is always ready
        // ends, too. The first frame is exempt: it is often the whole body, and without it a server
        // would abort the connection.
        let mut is_pause = false;
        if !end.has_begun || !end.is_over() || body.is_end_stream() {
            let mut outer = None;
            let limits = Limits::of(end.budget);
            let entered = Entered::new(&mut outer, limits, false, Woken::of(cx.waker()));
            if let Poll::Ready(frame) = body.poll_frame(cx).map_err(Into::into) {
                end.has_begun = true;
                end.is_in_pause = false;
                if frame.as_ref().is_none_or(|frame| frame.as_ref().is_ok_and(Frame::is_trailers)) {
                    // The body is over, so its budget can't end it.
                    *this.rest = Rest::Nothing;
                }
                return Poll::Ready(frame);
            }
            drop(entered);
            let is_ended_by_outer = is_ended_by_current(&end.budget, cx);
            let (drain, idle) = (end.shared.as_ref().map(|shared| &shared.drain), end.idle());
            if is_ended_by_outer && drain.is_none() {
                return Poll::Pending;
            }
            let is_new = !mem::replace(&mut end.is_in_pause, true);
            is_pause = ready!(end.alarm.poll_body(&end.budget, idle, is_new, drain, cx));
            // The outer body ends together with this one, drops it, and counts the end.
            if is_ended_by_outer && !is_pause && !end.is_drained() {
                return Poll::Pending;
            }
        }
        let last = end.last_frame(is_pause);
        this.body.set(None);
        *this.rest = Rest::Nothing;
        Poll::Ready(Some(last))
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            Some(body) => body.is_end_stream(),
            None => !matches!(self.rest, Rest::Own(_)),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match (&self.body, &self.rest) {
            (Some(body), _) => body.size_hint(),
            (None, Rest::Own(bytes)) => SizeHint::with_exact(bytes.len() as u64),
            (None, _) => SizeHint::with_exact(0),
        }
    }
}

impl End {
    fn is_over(&self) -> bool {
        self.budget.is_exhausted() || self.is_drained()
    }

    fn is_drained(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.drain.is_over())
    }

    /// Returns the longest pause that the settings allow.
    fn idle(&self) -> Duration {
        match self.shared.as_ref().map_or(u64::MAX, |shared| shared.settings.idle_ns) {
            u64::MAX => Duration::MAX,
            idle_ns => Duration::from_nanos(idle_ns),
        }
    }

    /// Counts the body as cut off. Returns its last frame: trailers for gRPC, or else an error.
    fn last_frame<D>(&mut self, is_pause: bool) -> Result<Frame<D>, BoxError> {
        self.is_cut = true;
        let error = if is_pause {
            Exhausted::pause(self.idle())
        } else if self.is_drained() {
            Exhausted::new(self.budget.total(), Spent::Drain)
        } else {
            Exhausted::new(self.budget.total(), Spent::Body)
        };
        match self.protocol {
            Protocol::Grpc => Ok(Frame::trailers(grpc::trailers(&error))),
            _ => Err(error.into()),
        }
    }
}
