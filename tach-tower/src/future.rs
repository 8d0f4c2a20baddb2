//! The future of a response, or of the answer to an exhausted request.

use core::fmt;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use http::{Request, Response};
use pin_project_lite::pin_project;
use tach_core::Budget;
use tower_service::Service;

use crate::alarm::BodyAlarm;
use crate::body::{BudgetBody, End};
use crate::call::{Call, CallNow};
use crate::counts::Outcome;
use crate::current::{Current, Entered};
use crate::exhausted::{Exhausted, Spent};
use crate::grpc;
use crate::limited::Limited;
use crate::limits::Limits;
use crate::shared::Counted;
use crate::side::Side;

pin_project! {
    /// The response future of a [`BudgetService`](crate::BudgetService).
    ///
    /// If the inner future is ready, returns its response, even if the budget is exhausted, and a
    /// server's error likewise. A client's error after the end of the budget is replaced by
    /// [`Exhausted`]: a client that reads the header may end the call by itself. If only the budget
    /// is exhausted, drops the inner future, and answers for it.
    ///
    /// # Panics
    ///
    /// If it must wait outside a tokio runtime with time enabled, and the request has a budget.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::{Request, Response};
    /// use tach_tower::{BudgetService, ResponseFuture, Server};
    /// use tower::Service;
    ///
    /// type Future<S> = ResponseFuture<S, Request<String>, Server>;
    ///
    /// fn start<S, B>(service: &mut BudgetService<S, Server>) -> Future<S>
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
        pub(crate) call: Limited<Call<S, R>>,
        pub(crate) is_grpc: bool,
        // `None` once the response is ready.
        pub(crate) counted: Option<Counted>,
        pub(crate) side: PhantomData<fn(K)>,
    }
}

impl<S: Service<R>, R, K> ResponseFuture<S, R, K> {
    /// Polls the call. Returns `answer` of a response, or `fail` of an error, or of `None` if the
    /// budget ended first. Both return what this future returns, so that no response is wrapped in
    /// another enum, which would copy it.
    #[inline]
    pub(crate) fn poll_by<T>(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        answer: impl FnOnce(Pin<&mut Self>, S::Response) -> T,
        fail: impl FnOnce(Pin<&mut Self>, Option<S::Error>) -> T,
    ) -> Poll<T> {
        let mut limited = self.as_mut().project().call;
        let this = limited.as_mut().project();
        let Some(mut call) = this.future.as_pin_mut() else {
            return Poll::Ready(fail(self, None));
        };
        let mut outer = None;
        let entered = Entered::new(&mut outer, &this.limits.current, Some(cx.waker()));
        let (failed, spent) = loop {
            let called = match call.as_mut().project() {
                CallNow::Running { future } => match future.poll(cx) {
                    Poll::Ready(Ok(response)) => {
                        drop(entered);
                        return Poll::Ready(answer(self, response));
                    }
                    Poll::Ready(Err(error)) => break (Some(error), Spent::Running),
                    Poll::Pending => break (None, Spent::Running),
                },
                CallNow::Waiting { waiting } => match waiting.poll_start(cx) {
                    Poll::Ready(Ok(called)) => called,
                    Poll::Ready(Err(error)) => break (Some(error), Spent::Waiting),
                    Poll::Pending => break (None, Spent::Waiting),
                },
            };
            // Drops the service that waited. If it was not called, that releases its permit.
            let Some(future) = called else {
                drop(entered);
                limited.end(Spent::Waiting);
                return Poll::Ready(fail(self, None));
            };
            call.set(Call::Running { future });
        };
        match failed {
            Some(_) => drop(entered),
            None => ready!(limited.poll_end(entered, spent, cx)),
        }
        Poll::Ready(fail(self, failed))
    }

    /// Counts a request that has no response. Returns the inner error, or in `Err` the end of the
    /// budget.
    #[cold]
    pub(crate) fn ended(
        mut self: Pin<&mut Self>,
        failed: Option<S::Error>,
    ) -> Result<K::Error, (Exhausted, Counted)>
    where
        K: Side<S::Error>,
    {
        if let Some(error) = failed {
            // A client that reads the header, such as tonic's channel, may end the call at the same
            // moment as its budget, with an error of its own.
            if !K::IS_CLIENT || !self.call.limits.current.budget.is_exhausted() {
                drop(self.counted(Outcome::Answered));
                return Ok(K::error(error));
            }
            self.as_mut().project().call.end(Spent::Running);
        }
        let exhausted = self.call.exhausted();
        Err((exhausted, self.counted(Outcome::Exhausted)))
    }

    /// Takes the count of the request out of the future. Sets its outcome, unless it was refused.
    #[inline]
    pub(crate) fn counted(self: Pin<&mut Self>, outcome: Outcome) -> Counted {
        let counted = self.project().counted;
        let mut counted = counted.take().expect("no future is polled after it was ready");
        if counted.outcome == Outcome::Abandoned {
            counted.outcome = outcome;
        }
        counted
    }

    /// Returns the end of the response's body; `None` if nothing limits it. The request is counted
    /// when its body is over.
    #[inline]
    fn end(mut self: Pin<&mut Self>) -> Option<End> {
        let counted = self.as_mut().counted(Outcome::Answered);
        let Limits { current: Current { budget: head, whole, .. }, whole_parent, .. } =
            &self.call.limits;
        let alarm = &self.call.alarm;
        let total = counted.shared.settings.of_body(*whole, || alarm.elapsed(head))?;
        let budget = Budget { total, ..*head };
        let parent = if total == *whole { *whole_parent } else { None };
        let alarm = BodyAlarm::new(alarm.end_of(&budget, head));
        let (is_grpc, counted) = (self.is_grpc, Some(counted));
        Some(End { budget, parent, alarm, has_begun: false, is_in_pause: false, is_grpc, counted })
    }
}

impl<S, Q, B, K> Future for ResponseFuture<S, Request<Q>, K>
where
    S: Service<Request<Q>, Response = Response<B>>,
    K: Side<S::Error>,
{
    type Output = Result<Response<BudgetBody<B>>, K::Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = |future: Pin<&mut Self>, response: Response<B>| {
            let end = future.end();
            Ok(response.map(|body| BudgetBody::with_end(body, end)))
        };
        self.poll_by(cx, answer, |future, failed| {
            let is_grpc = future.is_grpc;
            let answer = match future.ended(failed) {
                Ok(error) => Err(error),
                Err((exhausted, _)) if is_grpc => Ok(grpc::response(&exhausted)),
                Err((exhausted, counted)) => K::ended(exhausted, &counted.shared.settings),
            };
            answer.map(|response| response.map(BudgetBody::own))
        })
    }
}

impl<S: Service<R>, R, K> fmt::Debug for ResponseFuture<S, R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("budget", &self.call.limits.current.budget)
            .finish_non_exhaustive()
    }
}
