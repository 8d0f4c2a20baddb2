//! The future of a response, or of the answer to an exhausted request.

use core::fmt;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use http::{Request, Response};
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::alarm::BodyAlarm;
use crate::body::{BudgetBody, End};
use crate::call::Call;
use crate::counts::Outcome;
use crate::exhausted::{Exhausted, Spent};
use crate::grpc;
use crate::limited::Limited;
use crate::limits::Whole;
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
        call: Limited<Call<S, R>>,
        // The time for the response with its body.
        whole: Whole,
        is_grpc: bool,
        // `None` once the response is ready.
        counted: Option<Counted>,
        side: PhantomData<fn(K)>,
    }
}

impl<S: Service<R>, R, K> ResponseFuture<S, R, K> {
    #[inline]
    pub(crate) fn new(
        call: Limited<Call<S, R>>,
        whole: Whole,
        is_grpc: bool,
        counted: Counted,
    ) -> Self {
        Self { call, whole, is_grpc, counted: Some(counted), side: PhantomData }
    }

    /// Returns the inner result, or `None` if the budget ended first.
    #[inline(always)]
    pub(crate) fn poll_result(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<S::Response, S::Error>>> {
        let mut this = self.project();
        let spent = |call: &Call<S, R>| match call {
            Call::Waiting { .. } => Spent::Waiting,
            _ => Spent::Running,
        };
        let result = ready!(this.call.as_mut().poll_until(cx, Some(this.whole), spent));
        if let Some(None) = result {
            this.call.as_mut().note(Spent::Waiting);
        }
        Poll::Ready(result.flatten())
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
            if !K::IS_CLIENT || !self.call.budget.is_exhausted() {
                drop(self.counted(Outcome::Answered));
                return Ok(K::error(error));
            }
            self.as_mut().project().call.note(Spent::Running);
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

    /// Wraps the body of a response in the rest of the time. The request is counted when its body
    /// is over.
    #[inline]
    fn limit<B>(mut self: Pin<&mut Self>, response: Response<B>) -> Response<BudgetBody<B>> {
        let counted = self.as_mut().counted(Outcome::Answered);
        let (call, whole, is_grpc) = (&self.call, self.whole, self.is_grpc);
        let budget = counted.shared.settings.of_body(call.budget, whole.total, &call.alarm);
        let end = budget.map(|budget| {
            let alarm = BodyAlarm::new(call.alarm.end_of(&budget, &call.budget));
            let parent = whole.parent.filter(|_| budget.total() == whole.total);
            let counted = Some(counted);
            End { budget, parent, alarm, has_begun: false, is_grpc, counted }
        });
        response.map(|body| BudgetBody::with_end(body, end))
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
        let failed = match ready!(self.as_mut().poll_result(cx)) {
            Some(Ok(response)) => return Poll::Ready(Ok(self.limit(response))),
            Some(Err(error)) => Some(error),
            None => None,
        };
        let is_grpc = self.is_grpc;
        let answer = match self.ended(failed) {
            Ok(error) => Err(error),
            Err((exhausted, _)) if is_grpc => Ok(grpc::response(&exhausted)),
            Err((exhausted, counted)) => K::ended(exhausted, &counted.shared.settings),
        };
        Poll::Ready(answer.map(|response| response.map(BudgetBody::own)))
    }
}

impl<S: Service<R>, R, K> fmt::Debug for ResponseFuture<S, R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").field("budget", &self.call.budget).finish_non_exhaustive()
    }
}
