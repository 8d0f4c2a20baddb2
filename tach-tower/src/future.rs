//! The future of a response, or of the answer to an exhausted request.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use http::Response;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::alarm::BodyAlarm;
use crate::body::{BudgetBody, End};
use crate::call::Call;
use crate::exhausted::{Exhausted, Spent};
use crate::layer::Side;
use crate::limited::Limited;
use crate::stats::{Counted, Outcome};

pin_project! {
    /// The response future of a [`BudgetService`](crate::BudgetService).
    ///
    /// If the inner future is ready, returns its response or error, even if the budget is
    /// exhausted. If only the budget is exhausted, drops the inner future, and answers for it.
    ///
    /// # Panics
    ///
    /// If it must wait outside a tokio runtime with time enabled, and the request has a budget.
    /// Without the feature `tokio` it needs no runtime, and nothing wakes it at the end of the
    /// budget.
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
        pub(crate) call: Limited<Call<S, R, K>>,
        // The time for the response with its body.
        pub(crate) whole: Duration,
        pub(crate) is_grpc: bool,
        // `None` once the response is ready.
        pub(crate) counted: Option<Counted>,
    }
}

type ResultOf<S, R> = Result<<S as Service<R>>::Response, <S as Service<R>>::Error>;

impl<S: Service<R>, R, K: Side<R>> ResponseFuture<S, R, K> {
    /// Returns the inner result, or the error of the budget if that ended first.
    #[expect(
        clippy::inline_always,
        reason = "otherwise a response or a request is copied once more"
    )]
    #[inline(always)]
    pub(crate) fn poll_result(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<ResultOf<S, R>, Exhausted>> {
        let mut this = self.project();
        let spent = |call: &Call<S, R, K>| {
            if call.is_waiting() { Spent::Waiting } else { Spent::Running }
        };
        let result = ready!(this.call.as_mut().poll_until(cx, spent));
        if let Some(counted) = this.counted {
            counted.shared.settings.attributes.record(&this.call.budget);
        }
        let spent = match result {
            Ok(Some(result)) => return Poll::Ready(Ok(result)),
            Ok(None) => Spent::Waiting,
            Err(spent) => spent,
        };
        if let Some(counted) = this.counted {
            counted.outcome = match counted.outcome {
                Outcome::Abandoned => Outcome::Exhausted,
                refused => refused,
            };
        }
        Poll::Ready(Err(Exhausted::new(&this.call.budget, spent)))
    }
}

impl<S: Service<R>, R, K> ResponseFuture<S, R, K> {
    /// Takes the request out of the future, to be counted.
    #[inline]
    pub(crate) fn counted(self: Pin<&mut Self>, outcome: Option<Outcome>) -> Counted {
        let counted = self.project().counted;
        let mut counted = counted.take().expect("no future is polled after it was ready");
        counted.outcome = outcome.unwrap_or(counted.outcome);
        counted
    }

    /// Gives the body of the response, which is ready, the rest of the time. The request is counted
    /// once its body has ended.
    #[inline]
    pub(crate) fn limit<B>(
        mut self: Pin<&mut Self>,
        response: Response<B>,
    ) -> Response<BudgetBody<B>> {
        let counted = self.as_mut().counted(Some(Outcome::Answered));
        let budget =
            counted.shared.settings.of_body(self.call.budget, self.whole, &self.call.alarm);
        let end = budget.map(|budget| {
            let end = self.call.alarm.end_of(&budget, &self.call.budget);
            End::new(budget, self.call.parent, BodyAlarm::new(end), self.is_grpc, Some(counted))
        });
        response.map(|body| BudgetBody::with_end(body, end))
    }

    /// Returns the error of a client. A client that reads the header, such as tonic's channel, may
    /// end the call at the same moment as its budget, with an error of its own.
    pub(crate) fn failed(self: Pin<&mut Self>, error: S::Error) -> Result<S::Error, Exhausted> {
        let budget = self.call.budget;
        let is_exhausted = budget.is_exhausted();
        let outcome = if is_exhausted { Outcome::Exhausted } else { Outcome::Answered };
        drop(self.counted(Some(outcome)));
        if is_exhausted { Err(Exhausted::new(&budget, Spent::Running)) } else { Ok(error) }
    }
}

impl<S: Service<R>, R, K> fmt::Debug for ResponseFuture<S, R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").field("budget", &self.call.budget).finish_non_exhaustive()
    }
}
