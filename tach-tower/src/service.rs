//! The service that the layer wraps around another.

use core::task::{Context, Poll};

use http::{Request, Response};
use tower_service::Service;

use crate::{BudgetLayer, ResponseFuture};

/// A service that gives each request a budget. [`BudgetLayer`] creates it.
///
/// If a request's budget is exhausted on arrival, the inner service is not called. It stays ready,
/// and keeps its reservations, such as a concurrency limit's permit, for the next call.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{BudgetLayer, BudgetService};
/// use tower::Layer;
///
/// fn limited<S>(inner: S) -> BudgetService<S> {
///     BudgetLayer::new(Duration::from_secs(30)).layer(inner)
/// }
/// ```
#[derive(Debug, Clone)]
pub struct BudgetService<S> {
    inner: S,
    layer: BudgetLayer,
}

impl<S> BudgetService<S> {
    pub(crate) fn new(inner: S, layer: BudgetLayer) -> Self {
        Self { inner, layer }
    }
}

impl<S, Q, B> Service<Request<Q>> for BudgetService<S>
where
    S: Service<Request<Q>, Response = Response<B>>,
    B: Default,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Q>) -> Self::Future {
        let budget = self.layer.budget(request.headers(), request.extensions());
        let inner = if budget.is_exhausted() {
            None
        } else {
            request.extensions_mut().insert(budget);
            Some(self.inner.call(request))
        };
        ResponseFuture::new(inner, budget, self.layer.stats())
    }
}
