//! The layer, around servers and around clients.

use core::marker::PhantomData;
use core::time::Duration;
use std::sync::Arc;

use tower_layer::Layer;

use crate::counts::Counts;
use crate::drain::Drain;
use crate::service::BudgetService;
use crate::settings::Settings;
use crate::shared::Shared;
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
/// # Clocks
///
/// A `tokio::time::Sleep` ends a call that waits, as with tower's `Timeout`.
/// [`Budget::remaining`](crate::Budget::remaining) reads tach's clock, because a budget also works
/// without a runtime. With tokio's paused time, requests, bodies and `enforce` end as they do in
/// real time, and only `remaining` stands still: `ManualClock::during` of tach-core puts a clock in
/// place that a test moves by hand.
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
///
/// `Router::layer` of axum takes the layer as it is. Around a whole router, with its fallback, the
/// response needs axum's body again:
///
/// ```no_run
/// use std::time::Duration;
/// use axum::Router;
/// use axum::body::Body;
/// use tach_tower::{BudgetBody, BudgetLayer, Settings};
/// use tower::{ServiceBuilder, make::Shared};
///
/// # async fn serve(app: Router) -> std::io::Result<()> {
/// let budgets = BudgetLayer::server(Settings::new().cap(Duration::from_secs(30)));
/// let app = ServiceBuilder::new()
///     .map_response(|response: http::Response<BudgetBody<Body>>| response.map(Body::new))
///     .layer(budgets)
///     .service(app);
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
/// axum::serve(listener, Shared::new(app)).await
/// # }
/// ```
///
/// A policy of `tower::retry` inside or outside of a layer is an `impl<B> Policy<_, Response<B>,
/// _>`: the body of the response has another type outside.
#[derive(Debug, Clone)]
pub struct BudgetLayer<K> {
    pub(crate) shared: Arc<Shared>,
    side: PhantomData<fn(K)>,
}

impl<K> BudgetLayer<K> {
    pub(crate) fn new(settings: Settings) -> Self {
        let (counts, drain) = (Counts::default(), Drain::default());
        Self { shared: Arc::new(Shared { settings, counts, drain }), side: PhantomData }
    }

    /// Ends the responses' bodies that something limits, at the latest after `grace`: for a service
    /// that stops. A stream of events with keep-alive messages would hold its connection open, and
    /// a graceful shutdown waits for connections. The first call counts. gRPC's clients get the
    /// status 14, `UNAVAILABLE`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::{BudgetLayer, ServerSide};
    ///
    /// /// For `axum::serve(..).with_graceful_shutdown(..)`.
    /// async fn stop(signal: impl Future<Output = ()>, layer: BudgetLayer<ServerSide>) {
    ///     signal.await;
    ///     layer.drain(Duration::from_secs(5));
    /// }
    /// ```
    pub fn drain(&self, grace: Duration) {
        self.shared.drain.begin(grace);
    }

    /// Returns the counts of all services of this layer and its clones.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tower::{BudgetLayer, Settings};
    ///
    /// let stats = BudgetLayer::server(Settings::new()).stats();
    /// println!("{} headers were invalid", stats.unparsable_headers);
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.counts.read()
    }
}

impl<S, K> Layer<S> for BudgetLayer<K> {
    type Service = BudgetService<S, K>;

    fn layer(&self, inner: S) -> Self::Service {
        BudgetService::new(inner, self.shared.clone())
    }
}
