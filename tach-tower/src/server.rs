//! The layer around a server's services.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use http::{Request, Response};
use tach_core::Budget;
use tower_service::Service;

use crate::body::BudgetBody;
use crate::counts::Outcome;
use crate::current::current;
use crate::future::ResponseFuture;
use crate::grpc;
use crate::layer::{BudgetLayer, BudgetService};
use crate::settings::Settings;
use crate::side::Side;

/// The side of a [`BudgetLayer`] around the services of a server.
///
/// # Examples
///
/// ```
/// use tach_tower::{BudgetLayer, Server, Settings};
///
/// let layer: BudgetLayer<Server> = BudgetLayer::server(Settings::new());
/// ```
#[derive(Debug, Clone, Copy)]
pub enum Server {}

impl BudgetLayer<Server> {
    /// Creates a layer that answers for the service when the budget of a request is exhausted:
    /// with 504 Gateway Timeout, or with the status 4, `DEADLINE_EXCEEDED`, if the request speaks
    /// gRPC. The response's body [ends](BudgetBody) with the budget, too.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::{BudgetLayer, Settings};
    ///
    /// let layer = BudgetLayer::server(Settings::new().cap(Duration::from_secs(30)));
    /// ```
    #[must_use]
    pub fn server(settings: Settings) -> Self {
        Self::new(settings, "server")
    }
}

/// The budget's first instant is that of the call. Time before it counts if the request's
/// extensions hold a budget, such as one of [`Budget::since`].
impl<S, Q, B> Service<Request<Q>> for BudgetService<S, Server>
where
    S: Service<Request<Q>, Response = Response<B>> + Clone,
{
    type Response = Response<BudgetBody<B>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, Request<Q>, Server>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    #[inline]
    fn call(&mut self, mut request: Request<Q>) -> Self::Future {
        let settings = &self.shared.settings;
        let is_grpc = grpc::is_spoken(request.version(), request.headers());
        let own = request.extensions().get::<Budget>().copied();
        let asked = settings.asked(request.headers(), is_grpc, &self.shared.counts);
        let cap = settings.cap_of(request.method(), request.uri().path(), request.headers());
        let limits = settings.start(settings.reserved(asked), cap, own.or_else(current));
        if settings.has_extension || own.is_some() {
            request.extensions_mut().insert(limits.budget);
        }
        self.send(request, limits, is_grpc, true)
    }
}

impl<Q> Side<Request<Q>> for Server {
    /// A handler asks the budget.
    #[inline]
    fn announce(_: &Settings, _: Duration, _: &mut Request<Q>, _: bool) -> bool {
        true
    }
}

impl<S, Q, B> Future for ResponseFuture<S, Request<Q>, Server>
where
    S: Service<Request<Q>, Response = Response<B>>,
{
    type Output = Result<Response<BudgetBody<B>>, S::Error>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match ready!(self.as_mut().poll_result(cx)) {
            Some(Ok(response)) => Ok(self.limit(response)),
            Some(Err(error)) => {
                drop(self.counted(Some(Outcome::Answered)));
                Err(error)
            }
            None => {
                let is_grpc = self.is_grpc;
                let (exhausted, counted) = self.exhausted();
                Ok(counted.shared.settings.answer(&exhausted, is_grpc).map(BudgetBody::own))
            }
        })
    }
}
