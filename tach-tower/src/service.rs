//! The service, around servers and around clients.

use core::marker::PhantomData;
use core::mem;
use core::task::{Context, Poll};
use std::sync::Arc;

use http::request::Parts;
use http::{Request, Response};
use tach_core::Budget;
use tower_service::Service;

use crate::body::BudgetBody;
use crate::call::{Sends, Waits};
use crate::counts::Outcome;
use crate::current::current;
use crate::future::ResponseFuture;
use crate::grpc::Protocol;
use crate::limits::Started;
use crate::settings::Settings;
use crate::shared::{Counted, Shared};
use crate::side::Side;

/// A service whose requests have budgets. A [`BudgetLayer`](crate::BudgetLayer) creates it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{BudgetLayer, BudgetService, ServerSide, Settings};
/// use tower::Layer;
///
/// fn limited<S>(inner: S) -> BudgetService<S, ServerSide> {
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

    /// Announces the time of a request. Returns `Refused` if it has too little, or if the time
    /// can't be announced. The request stays where it is: each move is a copy.
    #[inline]
    pub(crate) fn begin<R: Sends>(
        &self,
        request: &mut R,
        started: Started,
        is_client: bool,
    ) -> Counted {
        let settings = &self.shared.settings;
        let is_sent = !settings.refuses(started.head_left_ns)
            && (!is_client || request.announce(settings, started.whole_left_ns));
        let outcome = if is_sent { Outcome::Abandoned } else { Outcome::Refused };
        Counted { shared: Some(self.shared.clone()), outcome }
    }
}

/// Calls the inner service, unless the request is refused. A macro, because a request is copied at
/// each function that it passes through.
macro_rules! send {
    ($service:ident, $request:ident, $started:expr, $protocol:expr, $is_client:expr) => {{
        let (limits, is_client) = ($started.limits, $is_client);
        let counted = $service.begin(&mut $request, $started, is_client);
        let call = if counted.outcome == $crate::counts::Outcome::Refused {
            $service.inner.refuse();
            None
        } else if $service.inner.is_ready() {
            let (mut outer, other) = (None, $crate::current::Woken::OTHER);
            let _entered = $crate::current::Entered::new(&mut outer, limits, is_client, other);
            Some($crate::call::Call::Running { future: $service.inner.inner.call($request) })
        } else {
            let (shared, whole) = ($service.shared.clone(), limits.whole());
            let wait = $crate::call::Wait { shared, whole, is_client };
            Some($service.inner.wait($request, wait))
        };
        $crate::future::ResponseFuture::new(call, limits, $protocol, counted)
    }};
}

#[cfg(feature = "reqwest")]
pub(crate) use send;

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
        let protocol = Protocol::of(request.method(), request.headers());
        let is_grpc = protocol.is_grpc();
        let own = request.extensions().get::<Budget>().copied();
        let asked_ns = settings.asked(request.headers(), is_grpc, &self.shared.counts);
        // Reserve nothing if a client's request has a header already: the header's time is for the
        // call alone.
        let is_reserved = !K::IS_CLIENT && asked_ns < u64::MAX;
        let asked_ns = asked_ns.saturating_sub(if is_reserved { settings.reserve_ns } else { 0 });
        let cap_ns = match &settings.cap_by {
            Some(_) => cap_of(settings, &mut request),
            None => settings.cap_ns,
        };
        let started = settings.start(asked_ns, cap_ns, own.or_else(current), K::IS_CLIENT);
        // A client behind a `tower::buffer` runs in another task, which has no current budget.
        if K::IS_CLIENT || own.is_some() {
            request.extensions_mut().insert(started.limits.head);
        }
        send!(self, request, started, protocol, K::IS_CLIENT)
    }
}

impl<Q> Sends for Request<Q> {
    fn budget(&self) -> Option<Budget> {
        self.extensions().get().copied()
    }

    #[inline]
    fn announce(&mut self, settings: &Settings, left_ns: u64) -> bool {
        let is_grpc = Protocol::of(self.method(), self.headers()).is_grpc();
        settings.write(left_ns, self.headers_mut(), is_grpc)
    }
}

/// Returns the cap of a request. Its parts are swapped out and back, because a request that is
/// taken apart is copied twice.
#[cold]
fn cap_of<Q>(settings: &Settings, request: &mut Request<Q>) -> u64 {
    fn swap<Q>(parts: &mut Parts, request: &mut Request<Q>) {
        mem::swap(&mut parts.method, request.method_mut());
        mem::swap(&mut parts.uri, request.uri_mut());
        mem::swap(&mut parts.version, request.version_mut());
        mem::swap(&mut parts.headers, request.headers_mut());
        mem::swap(&mut parts.extensions, request.extensions_mut());
    }
    let (mut parts, ()) = Request::new(()).into_parts();
    swap(&mut parts, request);
    let cap_ns = settings.cap_of(&parts);
    swap(&mut parts, request);
    cap_ns
}
