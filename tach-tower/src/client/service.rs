//! The service around a client.

use core::fmt;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::Arc;

use http::{Request, Response};
use tower_service::Service;

use super::PropagateFuture;
use super::future::BoxError;
use super::layer::Settings;
use crate::body::BudgetBody;
use crate::call::{Rules, Waits};
use crate::grpc;

/// A client whose calls announce the time left, and end with it.
/// [`PropagateBudgetLayer`](crate::PropagateBudgetLayer) creates it.
///
/// It is always ready, and waits for the inner client within the call, as
/// [`BudgetService`](crate::BudgetService) does. A client that can't be cloned, such as one of
/// `tower::hedge`, needs a `tower::buffer` around it.
///
/// # Examples
///
/// ```
/// use tach_tower::{PropagateBudget, PropagateBudgetLayer};
/// use tower::Layer;
///
/// fn limited<S>(client: S) -> PropagateBudget<S> {
///     PropagateBudgetLayer::new().layer(client)
/// }
/// ```
#[derive(Clone)]
pub struct PropagateBudget<S> {
    pub(super) inner: Waits<S>,
    pub(super) settings: Arc<Settings>,
}

impl<S> PropagateBudget<S> {
    pub(super) fn new(inner: S, settings: Arc<Settings>) -> Self {
        Self { inner: Waits::new(inner), settings }
    }
}

impl<S: fmt::Debug> fmt::Debug for PropagateBudget<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PropagateBudget").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<S, Q, B> Service<Request<Q>> for PropagateBudget<S>
where
    S: Service<Request<Q>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
{
    type Response = Response<BudgetBody<B>>;
    type Error = BoxError;
    type Future = PropagateFuture<S, Request<Q>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<Q>) -> Self::Future {
        let settings = &self.settings;
        let budget = settings.budget(request.extensions().get(), Duration::MAX, request.headers());
        let is_grpc = grpc::is_content(request.headers());
        let call = if settings.refuses(budget.total()) {
            settings.stats.count_refused();
            self.inner.refuse(budget)
        } else {
            settings.announce(budget.total(), &mut request);
            request.extensions_mut().insert(budget);
            self.inner.call(request, budget, settings)
        };
        PropagateFuture::new(call, settings, is_grpc)
    }
}
