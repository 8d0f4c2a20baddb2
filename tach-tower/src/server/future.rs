//! The future of a response, or of the answer to an exhausted request.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::layer::{Ending, Settings};
use crate::body::BudgetBody;
use crate::call::Call;
use crate::observe::{EnteredStages, Stages, Unanswered};

pin_project! {
    /// The response future of a [`BudgetService`](crate::BudgetService).
    ///
    /// If the inner future is ready, returns its response or error, even if the budget is
    /// exhausted. If only the budget is exhausted, drops the inner future and returns the answer
    /// for exhausted requests.
    ///
    /// # Panics
    ///
    /// If it must wait outside a tokio runtime with time enabled. Without the feature `tokio` it
    /// needs no runtime, and nothing wakes it at the end of the budget.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::Request;
    /// use tach_tower::{BudgetService, ResponseFuture};
    /// use tower::Service;
    ///
    /// fn start<S, B>(service: &mut BudgetService<S>) -> ResponseFuture<S, Request<String>>
    /// where
    ///     S: Service<Request<String>, Response = http::Response<B>> + Clone,
    /// {
    ///     service.call(Request::default())
    /// }
    /// ```
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S, R>
    where
        S: Service<R>,
    {
        #[pin]
        call: Call<S, R, Settings>,
        ending: Ending,
        stages: Option<Stages>,
        is_grpc: bool,
        unanswered: Unanswered,
    }
}

impl<S: Service<R>, R> ResponseFuture<S, R> {
    #[inline]
    pub(super) fn new(
        call: Call<S, R, Settings>,
        settings: &Settings,
        stages: Option<Stages>,
        is_grpc: bool,
    ) -> Self {
        let unanswered = Unanswered(Some(settings.stats.clone()));
        Self { call, ending: settings.ending.clone(), stages, is_grpc, unanswered }
    }
}

impl<S, R, B> Future for ResponseFuture<S, R>
where
    S: Service<R, Response = Response<B>>,
{
    type Output = Result<Response<BudgetBody<B>>, S::Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let entered = this.stages.as_ref().map(EnteredStages::new);
        let result = ready!(this.call.as_mut().poll(cx));
        drop(entered);
        let (ending, budget) = (&*this.ending, this.call.budget());
        let stats = this.unanswered.0.take();
        ending.attributes.record(&budget);
        let mut response = if let Some(result) = result {
            stats.as_ref().inspect(|stats| stats.count_answered());
            result?.map(|body| {
                if ending.has_endless_bodies {
                    return BudgetBody::endless(body);
                }
                BudgetBody::of_response(body, budget, *this.is_grpc, stats)
            })
        } else {
            stats.as_ref().inspect(|stats| stats.count_exhausted());
            ending.answer(&budget, *this.is_grpc)
        };
        if let Some(stages) = this.stages {
            stages.write(response.headers_mut());
        }
        Poll::Ready(Ok(response))
    }
}

impl<S: Service<R>, R> fmt::Debug for ResponseFuture<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("budget", &self.call.budget())
            .finish_non_exhaustive()
    }
}
