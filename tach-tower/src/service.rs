//! The service, around servers and around clients.

use core::marker::PhantomData;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::Arc;

use http::{Request, Response, Version};
use tach_core::Budget;
use tower_service::Service;

use crate::body::BudgetBody;
use crate::call::{Announce, Wait, Waits};
use crate::counts::Outcome;
use crate::current::{Current, current};
use crate::future::ResponseFuture;
use crate::grpc;
use crate::limited::Limited;
use crate::limits::Limits;
use crate::shared::{Counted, Shared};
use crate::side::Side;

/// A service whose requests have budgets. A [`BudgetLayer`](crate::BudgetLayer) creates it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{BudgetLayer, BudgetService, Server, Settings};
/// use tower::Layer;
///
/// fn limited<S>(inner: S) -> BudgetService<S, Server> {
///     BudgetLayer::server(Settings::new().cap(Duration::from_secs(30))).layer(inner)
/// }
///
/// assert_eq!(limited(7).get_ref(), &7);
/// ```
#[derive(Debug, Clone)]
pub struct BudgetService<S, K> {
    pub(crate) inner: Waits<S>,
    pub(crate) shared: Arc<Shared>,
    side: PhantomData<fn(K)>,
}

impl<S, K> BudgetService<S, K> {
    pub(crate) fn new(inner: S, shared: Arc<Shared>) -> Self {
        Self { inner: Waits::new(inner), shared, side: PhantomData }
    }

    /// Returns the inner service.
    pub fn get_ref(&self) -> &S {
        &self.inner.inner
    }

    /// Returns the inner service, to be changed.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.inner.inner
    }

    /// Takes the inner service out.
    pub fn into_inner(self) -> S {
        self.inner.inner
    }

    /// Calls the inner service. Refuses the request if it has too little time, or if the time can't
    /// be announced.
    #[inline]
    pub(crate) fn send<R>(
        &mut self,
        mut request: R,
        limits: Limits,
        is_grpc: bool,
        announce: Option<Announce<R>>,
    ) -> ResponseFuture<S, R, K>
    where
        S: Service<R> + Clone,
    {
        let Current { budget, whole, .. } = limits.current;
        let mut counted = Counted { shared: self.shared.clone(), outcome: Outcome::Abandoned };
        let settings = &self.shared.settings;
        let is_sent = !settings.refuses(budget.total())
            && announce.is_none_or(|write| write(settings, whole, &mut request, is_grpc));
        let call = if is_sent {
            let wait = || Wait {
                shared: self.shared.clone(),
                whole: Budget { total: whole, ..budget },
                is_grpc,
                announce,
            };
            Some(self.inner.call(request, &limits.current, wait))
        } else {
            counted.outcome = Outcome::Refused;
            self.inner.refuse();
            None
        };
        let (call, counted) = (Limited::new(call, limits), Some(counted));
        ResponseFuture { call, is_grpc, counted, side: PhantomData }
    }
}

impl<S, Q, B, K> Service<Request<Q>> for BudgetService<S, K>
where
    S: Service<Request<Q>, Response = Response<B>> + Clone,
    K: Side<S::Error>,
{
    type Response = Response<BudgetBody<B>>;
    type Error = K::Error;
    type Future = ResponseFuture<S, Request<Q>, K>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), K::Error>> {
        self.inner.poll_ready(cx).map_err(K::error)
    }

    #[inline]
    fn call(&mut self, mut request: Request<Q>) -> Self::Future {
        let settings = &self.shared.settings;
        // A client chooses the protocol later: the version of its request says nothing.
        let may_be_grpc = K::IS_CLIENT || request.version() >= Version::HTTP_2;
        let is_grpc = may_be_grpc && grpc::is_content(request.headers());
        let own = request.extensions().get::<Budget>().copied();
        let asked = settings.asked(request.headers(), is_grpc, &self.shared.counts);
        // A header that a client's request has already is for the call alone: nothing is reserved.
        let is_reserved = !K::IS_CLIENT && asked < Duration::MAX;
        let asked = if is_reserved { asked.saturating_sub(settings.reserve) } else { asked };
        let cap = settings.cap_of(request.method(), || request.uri().path(), request.headers());
        let limits = settings.start(asked, cap, own.or_else(current), K::IS_CLIENT);
        // A client behind a `tower::buffer` runs in another task, which has no current budget.
        if K::IS_CLIENT || settings.has_extension || own.is_some() {
            request.extensions_mut().insert(limits.current.budget);
        }
        let announce: Announce<Request<Q>> =
            |settings, left, request, is_grpc| settings.write(left, request.headers_mut(), is_grpc);
        self.send(request, limits, is_grpc, K::IS_CLIENT.then_some(announce))
    }
}
