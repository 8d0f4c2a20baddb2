//! The service that the layer wraps around another.

use core::fmt;
use core::task::{Context, Poll};
use std::sync::Arc;

use http::{Request, Response};
use tach_core::Budget;
use tower_service::Service;

use super::ResponseFuture;
use super::layer::Settings;
use crate::body::BudgetBody;
use crate::call::{Rules, Waits};
use crate::grpc;
use crate::observe::{EnteredStages, Stages};

/// A service that gives each request a budget. [`BudgetLayer`](crate::BudgetLayer) creates it.
///
/// It is always ready. The response future waits for the inner service, so that waiting counts. If
/// the inner service isn't ready, the future takes it and leaves a clone. If a request is refused
/// on arrival, the inner service is not called, and gives up its reservations for the call, such as
/// a concurrency limit's permit.
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
#[derive(Clone)]
pub struct BudgetService<S> {
    inner: Waits<S>,
    settings: Arc<Settings>,
}

impl<S> BudgetService<S> {
    pub(super) fn new(inner: S, settings: Arc<Settings>) -> Self {
        Self { inner: Waits::new(inner), settings }
    }
}

impl<S: fmt::Debug> fmt::Debug for BudgetService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BudgetService").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<S, Q, B> Service<Request<Q>> for BudgetService<S>
where
    S: Service<Request<Q>, Response = Response<B>> + Clone,
{
    type Response = Response<BudgetBody<B>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, Request<Q>>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    #[inline]
    fn call(&mut self, mut request: Request<Q>) -> Self::Future {
        let settings = &self.settings;
        let outer = request.extensions().get::<Budget>();
        let has_outer = outer.is_some();
        let budget = settings.budget(request.headers(), outer);
        let is_grpc = grpc::is_spoken(request.version(), request.headers());
        let stages = settings.has_server_timing.then(|| Stages::new(budget));
        let call = if Rules::<Request<Q>>::refuses(&**settings, budget.total()) {
            settings.stats.count_refused();
            self.inner.refuse(budget)
        } else {
            if settings.has_extension || has_outer {
                request.extensions_mut().insert(budget);
            }
            if let Some(stages) = &stages {
                request.extensions_mut().insert(stages.clone());
            }
            let _entered = stages.as_ref().map(EnteredStages::new);
            self.inner.call(request, budget, settings)
        };
        ResponseFuture::new(call, settings, stages, is_grpc)
    }
}
