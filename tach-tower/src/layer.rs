//! The layer and its service, around servers and around clients.

use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;

use tower_layer::Layer;
use tower_service::Service;

use crate::call::{Wait, Waits};
use crate::counts::{Counts, Outcome};
use crate::future::ResponseFuture;
use crate::limited::Limited;
use crate::settings::{Limits, Settings};
use crate::shared::{Counted, Shared};
use crate::side::Side;
use crate::stats::Stats;

/// A layer that gives each request a [`Budget`](crate::Budget), and ends the request with it.
///
/// [`server`](Self::server) is for the services of a server, [`client`](Self::client) for clients.
/// Each says how it works; [`Settings`] are the same for both.
///
/// # Waiting
///
/// The service is always ready. It waits for the inner service within the call, so that the time in
/// queues inside of the layer counts, and needs an inner service that is `Clone`. A request that is
/// refused leaves nothing behind in the inner service, such as a permit or a place in a queue.
/// Since it always looks ready, `tower::load_shed` and `tower::balance` belong inside of the layer.
///
/// # Layers around layers
///
/// A request whose budget comes from an outer layer of the same task ends with that layer, which
/// counts it. The inner one counts a request that it ended by a limit of its own.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{BudgetLayer, Settings};
///
/// let server = BudgetLayer::server(Settings::new().cap(Duration::from_secs(30)));
/// let client = BudgetLayer::client(Settings::new().reserve(Duration::from_millis(10)));
/// ```
pub struct BudgetLayer<K> {
    shared: Arc<Shared>,
    side: PhantomData<fn(K)>,
}

impl<K> BudgetLayer<K> {
    pub(crate) fn new(settings: Settings, side: &'static str) -> Self {
        let counts = Counts::new(side);
        Self { shared: Arc::new(Shared { settings, counts }), side: PhantomData }
    }

    /// Returns the counts of all services of this layer and its clones.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tower::{BudgetLayer, Settings};
    ///
    /// let stats = BudgetLayer::server(Settings::new()).stats();
    /// println!("{} headers were invalid", stats.unparsable_headers());
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats(self.shared.clone())
    }
}

impl<K> Clone for BudgetLayer<K> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), side: PhantomData }
    }
}

impl<K> fmt::Debug for BudgetLayer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BudgetLayer").field("shared", &self.shared).finish()
    }
}

impl<S, K> Layer<S> for BudgetLayer<K> {
    type Service = BudgetService<S, K>;

    fn layer(&self, inner: S) -> Self::Service {
        BudgetService { inner: Waits::new(inner), shared: self.shared.clone(), side: PhantomData }
    }
}

/// A service whose requests have budgets. [`BudgetLayer`] creates it.
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
pub struct BudgetService<S, K> {
    pub(crate) inner: Waits<S>,
    pub(crate) shared: Arc<Shared>,
    side: PhantomData<fn(K)>,
}

impl<S, K> BudgetService<S, K> {
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

    /// Sends a request with its budget, or refuses it if that can't be announced.
    #[expect(
        clippy::inline_always,
        reason = "otherwise a response or a request is copied once more"
    )]
    #[inline(always)]
    pub(crate) fn send<R>(
        &mut self,
        request: R,
        limits: Limits,
        is_grpc: bool,
        is_sent: bool,
    ) -> ResponseFuture<S, R, K>
    where
        S: Service<R> + Clone,
        K: Side<R>,
    {
        let Limits { budget, whole, parent } = limits;
        let mut counted = Counted::new(self.shared.clone());
        let call = if is_sent && !self.shared.settings.refuses(budget.total()) {
            let wait = || {
                let (shared, whole) = (self.shared.clone(), budget.lasting(whole));
                Wait { shared, whole, is_grpc, side: PhantomData }
            };
            Some(self.inner.call(request, budget, wait))
        } else {
            counted.outcome = Outcome::Refused;
            self.inner.refuse();
            None
        };
        ResponseFuture {
            call: Limited::new(call, budget, parent),
            whole,
            is_grpc,
            counted: Some(counted),
        }
    }
}

impl<S: Clone, K> Clone for BudgetService<S, K> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), shared: self.shared.clone(), side: PhantomData }
    }
}

impl<S: fmt::Debug, K> fmt::Debug for BudgetService<S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BudgetService").field("inner", &self.inner).finish_non_exhaustive()
    }
}
