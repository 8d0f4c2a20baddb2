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
use crate::counts::Outcome;
use crate::exhausted::{Exhausted, Spent};
use crate::limited::Limited;
use crate::shared::Counted;
use crate::side::Side;

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

impl<S: Service<R>, R, K: Side<R>> ResponseFuture<S, R, K> {
    /// Returns the inner result, or `None` if the budget ended first.
    #[expect(
        clippy::inline_always,
        reason = "otherwise a response or a request is copied once more"
    )]
    #[inline(always)]
    pub(crate) fn poll_result(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<S::Response, S::Error>>> {
        let mut this = self.project();
        let spent = |call: &Call<S, R, K>| {
            if call.is_waiting() { Spent::Waiting } else { Spent::Running }
        };
        let result = ready!(this.call.as_mut().poll_until(cx, spent));
        if let Some(counted) = this.counted {
            counted.shared.settings.attributes.record(&this.call.budget);
        }
        if let Some(None) = result {
            this.call.as_mut().note(Spent::Waiting);
        }
        Poll::Ready(result.flatten())
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

    /// Counts a request that its budget ended, and returns its error.
    #[cold]
    pub(crate) fn exhausted(self: Pin<&mut Self>) -> (Exhausted, Counted) {
        let exhausted = self.call.exhausted();
        let mut counted = self.counted(None);
        if counted.outcome == Outcome::Abandoned {
            counted.outcome = Outcome::Exhausted;
        }
        (exhausted, counted)
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
