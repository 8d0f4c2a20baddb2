//! The future of a response, or of the answer to an exhausted request.

use core::fmt;
use core::marker::PhantomData;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::sync::Arc;

use http::{Request, Response};
use pin_project_lite::pin_project;
use tach_core::Budget;
use tower_service::Service;

use crate::body::{BudgetBody, End, Rest};
use crate::call::{Call, CallNow, Sends};
use crate::counts::Outcome;
use crate::current::{Entered, Limits, Woken};
use crate::exhausted::{Exhausted, Spent};
use crate::grpc::{Head, Protocol};
use crate::limited::Limited;
use crate::shared::{Counted, Shared};
use crate::side::Side;

pin_project! {
    /// The response future of a [`BudgetService`](crate::BudgetService).
    ///
    /// If the inner future is ready, returns its response, even if the budget is exhausted, and a
    /// server's error likewise. A failure within 2 ms of the budget's end (an eighth of the budget,
    /// if that is less) or past it is replaced by [`Exhausted`], because it most likely comes from
    /// another timer of the same end: an error of a client that reads the header, and a server's
    /// answer whose head has the status 500 to 599, or gRPC's status 1, 2, 4, 13 or 14. If that is
    /// the end of the request that the call is made for, too, the future waits a moment, so that
    /// the request's layer answers. If only the budget is exhausted, drops the inner future, and
    /// answers for it.
    ///
    /// # Panics
    ///
    /// If it must wait outside a tokio runtime with time enabled, and the request has a budget.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::{HeaderMap, Request, Response, StatusCode};
    /// use tach_tower::{BudgetService, ResponseFuture, ServerSide};
    /// use tower::Service;
    ///
    /// type Future<S> = ResponseFuture<S, Request<String>, ServerSide>;
    ///
    /// fn start<S, B>(service: &mut BudgetService<S, ServerSide>) -> Future<S>
    /// where
    ///     S: Service<Request<String>, Response = Response<B>> + Clone,
    /// {
    ///     service.call(Request::default())
    /// }
    /// ```
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S, R, K>
    where
        S: Service<R>,
    {
        #[pin]
        call: Limited<Call<S, R>>,
        protocol: Protocol,
        pub(crate) counted: Counted,
        side: PhantomData<fn(K)>,
    }
}

impl<S: Service<R>, R: Sends, K: Side<S::Error>> ResponseFuture<S, R, K> {
    #[inline]
    pub(crate) fn new(
        call: Option<Call<S, R>>,
        limits: Limits,
        protocol: Protocol,
        counted: Counted,
    ) -> Self {
        Self { call: Limited::new(call, limits), protocol, counted, side: PhantomData }
    }

    /// Polls the call, and converts its result by `done`: here, because each function that a
    /// response passes through copies it. Returns `Pending` also if the call is over without an
    /// answer.
    #[inline]
    pub(crate) fn poll_call<T>(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        head: impl FnOnce(&S::Response) -> Head<'_>,
        done: impl FnOnce(Pin<&mut Self>, Poll<Result<S::Response, S::Error>>) -> Poll<T>,
    ) -> Poll<T> {
        let this = self.as_mut().project().call.project();
        let Some(mut call) = this.future.as_pin_mut() else { return Poll::Pending };
        let mut outer = None;
        let entered = Entered::new(&mut outer, *this.limits, K::IS_CLIENT, Woken::of(cx.waker()));
        if let CallNow::Waiting { waiting } = call.as_mut().project() {
            match ready!(waiting.poll_start(cx)) {
                Ok(Some(future)) => call.set(Call::Running { future }),
                Ok(None) => {
                    self.project().call.end(Spent::Waiting);
                    return Poll::Pending;
                }
                Err(error) => {
                    drop(entered);
                    let call = self.as_mut().project().call;
                    let is_over = K::IS_CLIENT && call.leave(Spent::Waiting, false);
                    return done(
                        self,
                        if is_over { Poll::Pending } else { Poll::Ready(Err(error)) },
                    );
                }
            }
        }
        let CallNow::Running { future } = call.project() else { return Poll::Pending };
        let polled = future.poll(cx);
        drop(entered);
        // A client that reads the header, such as tonic's channel, may fail at the end of the budget
        // by itself. Its peer may answer at that moment, and a server's handler may answer that its
        // own call has just failed.
        let is_ended = match &polled {
            Poll::Ready(Ok(response)) if K::IS_CLIENT => self.protocol.is_end(head(response)),
            Poll::Ready(Ok(response)) => self.protocol.is_failure(head(response)),
            Poll::Ready(Err(_)) => K::IS_CLIENT,
            Poll::Pending => false,
        };
        if is_ended {
            let is_of_peer = K::IS_CLIENT && matches!(polled, Poll::Ready(Ok(_)));
            if self.as_mut().project().call.leave(Spent::Running, is_of_peer) {
                return Poll::Pending;
            }
        }
        done(self, polled)
    }

    /// Returns `Ready` once the budget of a call that is pending has ended.
    #[inline]
    pub(crate) fn poll_end(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let spent = |call: &Call<S, R>| match call {
            Call::Waiting { .. } => Spent::Waiting,
            Call::Running { .. } => Spent::Running,
        };
        self.project().call.poll_end(spent, cx)
    }

    /// Counts a response, or an error, of the inner service.
    pub(crate) fn answered(self: Pin<&mut Self>) {
        self.project().counted.count(Outcome::Answered);
    }

    /// Counts a request whose budget has ended.
    #[cold]
    pub(crate) fn exhausted(self: Pin<&mut Self>) -> (Exhausted, Arc<Shared>) {
        let exhausted = self.call.exhausted();
        let counted = self.project().counted;
        let outcome = match counted.outcome {
            Outcome::Abandoned => Outcome::Exhausted,
            refused => refused,
        };
        (exhausted, counted.count(outcome))
    }

    /// Counts the response, unless something limits its body: then the request is counted when its
    /// body is over.
    #[inline]
    fn rest(self: Pin<&mut Self>) -> Rest {
        let this = self.project();
        let limited = this.call.project();
        let (head, whole_ns) = (limited.limits.head, limited.limits.whole_ns);
        let Some(shared) = this.counted.shared.take() else { return Rest::Nothing };
        let elapsed = || limited.alarm.elapsed(&head);
        let Some(total_ns) = shared.settings.of_body(whole_ns, elapsed) else {
            shared.counts.add(Outcome::Answered);
            return Rest::Nothing;
        };
        let mut alarm = mem::take(limited.alarm);
        alarm.move_end(head.total_ns, total_ns);
        Rest::End(End::new(Budget { total_ns, ..head }, alarm, Some(shared), *this.protocol))
    }
}

impl<S, Q, B, K> Future for ResponseFuture<S, Request<Q>, K>
where
    S: Service<Request<Q>, Response = Response<B>>,
    K: Side<S::Error>,
{
    type Output = Result<Response<BudgetBody<B>>, K::Error>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let done = |this: Pin<&mut Self>, polled| match polled {
            Poll::Ready(Ok(response)) => {
                let wrap = |body| BudgetBody::with_rest(body, this.rest());
                Poll::Ready(Ok(Response::map(response, wrap)))
            }
            Poll::Ready(Err(error)) => {
                this.answered();
                Poll::Ready(Err(K::error(error)))
            }
            Poll::Pending => Poll::Pending,
        };
        match self.as_mut().poll_call(cx, |it| (it.status(), it.headers(), it.extensions()), done) {
            Poll::Ready(answer) => return Poll::Ready(answer),
            Poll::Pending => ready!(self.as_mut().poll_end(cx)),
        }
        let protocol = self.protocol;
        let (exhausted, shared) = self.exhausted();
        let answer = if protocol.is_grpc() {
            Ok(protocol.response(&exhausted))
        } else {
            K::ended(exhausted, &shared.settings)
        };
        Poll::Ready(answer.map(|mut response| {
            // Mark the answer as the layer's. Otherwise an outer layer would take it for an answer
            // of the service.
            response.extensions_mut().insert(exhausted);
            response.map(BudgetBody::own)
        }))
    }
}

impl<S: Service<R>, R, K> fmt::Debug for ResponseFuture<S, R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("budget", &self.call.limits.head)
            .finish_non_exhaustive()
    }
}
