//! The future of a call's response.

use core::error::Error as StdError;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use http::{Request, Response};
use pin_project_lite::pin_project;
use tach_core::adapter;
use tower_service::Service;

use super::layer::Settings;
use crate::body::BudgetBody;
use crate::call::Call;
use crate::grpc;
use crate::observe::Unanswered;

pub(super) type BoxError = Box<dyn StdError + Send + Sync>;

pin_project! {
    /// The response future of a [`PropagateBudget`](crate::PropagateBudget).
    ///
    /// # Panics
    ///
    /// If it must wait outside a tokio runtime with time enabled, and the call has a budget.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::Request;
    /// use tach_tower::{PropagateBudget, PropagateFuture};
    /// use tower::Service;
    ///
    /// fn start<S, B>(client: &mut PropagateBudget<S>) -> PropagateFuture<S, Request<String>>
    /// where
    ///     S: Service<Request<String>, Response = http::Response<B>> + Clone,
    ///     S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    /// {
    ///     client.call(Request::default())
    /// }
    /// ```
    #[must_use = "futures do nothing unless polled"]
    pub struct PropagateFuture<S, R>
    where
        S: Service<R>,
    {
        #[pin]
        call: Call<S, R, Settings>,
        has_endless_body: bool,
        is_grpc: bool,
        unanswered: Unanswered,
    }
}

impl<S: Service<R>, R> PropagateFuture<S, R> {
    pub(super) fn new(call: Call<S, R, Settings>, settings: &Settings, is_grpc: bool) -> Self {
        let unanswered = Unanswered(Some(settings.stats.clone()));
        Self { call, has_endless_body: settings.has_endless_bodies, is_grpc, unanswered }
    }
}

impl<S, Q, B> Future for PropagateFuture<S, Request<Q>>
where
    S: Service<Request<Q>, Response = Response<B>>,
    S::Error: Into<BoxError>,
{
    type Output = Result<Response<BudgetBody<B>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let result = ready!(this.call.as_mut().poll(cx));
        let (budget, stats) = (this.call.budget(), this.unanswered.0.take());
        // A client that reads the header, such as tonic's channel, may end the call at the same
        // moment, with an error of its own.
        let result = result.filter(|result| result.is_ok() || !budget.is_exhausted());
        let Some(result) = result else {
            stats.as_ref().inspect(|stats| stats.count_exhausted());
            let error = adapter::exhausted(budget.total());
            return Poll::Ready(if *this.is_grpc {
                Ok(grpc::response(&error).map(BudgetBody::own))
            } else {
                Err(error.into())
            });
        };
        stats.as_ref().inspect(|stats| stats.count_answered());
        Poll::Ready(result.map_err(Into::into).map(|response| {
            response.map(|body| {
                if *this.has_endless_body {
                    BudgetBody::endless(body)
                } else {
                    BudgetBody::of_response(body, budget, *this.is_grpc, stats)
                }
            })
        }))
    }
}

impl<S: Service<R>, R> fmt::Debug for PropagateFuture<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PropagateFuture")
            .field("budget", &self.call.budget())
            .finish_non_exhaustive()
    }
}
