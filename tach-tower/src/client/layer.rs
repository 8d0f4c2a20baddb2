//! The layer's settings, and the budget of an outgoing call.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, Request};
use tach_core::{Budget, Clock};
use tower_layer::Layer;

use super::PropagateBudget;
use crate::call::Rules;
use crate::current::current;
use crate::header::Syntax;
use crate::observe::Stats;
use crate::settings::Headers;

/// A layer around a client that announces the time left for a call, and ends the call with it.
///
/// The call's budget is a child of the budget in the request's extensions, or of
/// [`current`](crate::current), or begins with the [default](Self::with_default). If the request
/// has one of the [headers](Self::with_header) already, that time is a limit, too. A call with none
/// of these is passed on as it is. When the inner client is called, the time left is written into
/// all headers.
///
/// If the budget ends, the inner future is dropped and the call fails with an
/// [`Error`](crate::Error) whose `is_exhausted` returns true. A gRPC request is answered with the
/// status 4, `DEADLINE_EXCEEDED`, instead, so that a client of tonic sees that code. The response's
/// body [ends](crate::BudgetBody) with the budget, too.
///
/// # Retries and hedges
///
/// Inside `tower::retry` or `tower::hedge`, each attempt gets the time that its budget has left
/// then, and fails at once if none is. A default, a cap and the request's own header count for each
/// attempt. Around them the layer ends the whole call, also between two attempts. Use it twice for
/// both, and give the reserve to the outer one only. `RetryBudget` stops retries that have no time
/// to succeed.
///
/// The client always looks ready, so `tower::load_shed` and `tower::balance` belong inside.
///
/// # Examples
///
/// ```
/// use std::convert::Infallible;
/// use std::time::Duration;
/// use http::{Request, Response};
/// use tach_tower::{Budget, GRPC_TIMEOUT, PropagateBudgetLayer, Syntax};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// // Stands for a client of hyper or a channel of tonic.
/// let client = service_fn(|request: Request<String>| async move {
///     assert!(request.headers().contains_key(GRPC_TIMEOUT));
///     Ok::<_, Infallible>(Response::new(String::new()))
/// });
/// let client = ServiceBuilder::new()
///     .layer(PropagateBudgetLayer::new().with_reserve(Duration::from_millis(10)))
///     .service(client);
///
/// let mut request = Request::new(String::new());
/// request.extensions_mut().insert(Budget::new(Duration::from_secs(1)));
/// client.oneshot(request).await.unwrap();
/// # }
/// ```
#[derive(Clone)]
pub struct PropagateBudgetLayer {
    settings: Arc<Settings>,
}

#[derive(Clone)]
pub(super) struct Settings {
    headers: Headers,
    /// Whether `headers` are the layer's own choice.
    has_default_header: bool,
    cap: Duration,
    default: Option<Duration>,
    reserve: Duration,
    floor: Duration,
    clock: Option<&'static dyn Clock>,
    pub(super) has_endless_bodies: bool,
    pub(super) stats: Stats,
}

impl Default for PropagateBudgetLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl PropagateBudgetLayer {
    /// Creates a layer that writes [`GRPC_TIMEOUT`](crate::GRPC_TIMEOUT).
    ///
    /// # Examples
    ///
    /// ```
    /// let layer = tach_tower::PropagateBudgetLayer::new();
    /// ```
    #[must_use]
    pub fn new() -> Self {
        let mut headers = Headers::default();
        headers.add(crate::GRPC_TIMEOUT, Syntax::Grpc);
        let settings = Settings {
            headers,
            has_default_header: true,
            cap: Duration::MAX,
            default: None,
            reserve: Duration::ZERO,
            floor: Duration::ZERO,
            clock: None,
            has_endless_bodies: false,
            stats: Stats::of_client(),
        };
        Self { settings: Arc::new(settings) }
    }

    /// Writes the header `name` instead of [`GRPC_TIMEOUT`](crate::GRPC_TIMEOUT). A second call
    /// adds a second header.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::HeaderName;
    /// use tach_tower::{PropagateBudgetLayer, Syntax};
    ///
    /// let name = HeaderName::from_static("request-timeout");
    /// let layer = PropagateBudgetLayer::new().with_header(name, Syntax::Seconds);
    /// ```
    #[must_use]
    pub fn with_header(self, name: HeaderName, syntax: Syntax) -> Self {
        self.with(|settings| {
            if core::mem::take(&mut settings.has_default_header) {
                settings.headers = Headers::default();
            }
            settings.headers.add(name, syntax);
        })
    }

    /// Keeps `reserve` of the time that is left, for the work after the call.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::PropagateBudgetLayer;
    ///
    /// let layer = PropagateBudgetLayer::new().with_reserve(Duration::from_millis(10));
    /// ```
    #[must_use]
    pub fn with_reserve(self, reserve: Duration) -> Self {
        self.with(|settings| settings.reserve = reserve)
    }

    /// Gives no call more than `cap`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::PropagateBudgetLayer;
    ///
    /// let layer = PropagateBudgetLayer::new().with_cap(Duration::from_secs(2));
    /// ```
    #[must_use]
    pub fn with_cap(self, cap: Duration) -> Self {
        self.with(|settings| settings.cap = cap)
    }

    /// Gives `total` to a call without a budget.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::PropagateBudgetLayer;
    ///
    /// let layer = PropagateBudgetLayer::new().with_default(Duration::from_secs(10));
    /// ```
    #[must_use]
    pub fn with_default(self, total: Duration) -> Self {
        self.with(|settings| settings.default = Some(total))
    }

    /// Fails a call that has less than `floor` at once, without a call of the inner service.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::PropagateBudgetLayer;
    ///
    /// let layer = PropagateBudgetLayer::new().with_floor(Duration::from_millis(1));
    /// ```
    #[must_use]
    pub fn with_floor(self, floor: Duration) -> Self {
        self.with(|settings| settings.floor = floor)
    }

    /// Lets the bodies of responses outlive the budget.
    ///
    /// # Examples
    ///
    /// ```
    /// let layer = tach_tower::PropagateBudgetLayer::new().with_endless_bodies();
    /// ```
    #[must_use]
    pub fn with_endless_bodies(self) -> Self {
        self.with(|settings| settings.has_endless_bodies = true)
    }

    /// Uses `clock` for calls that get the default, and for headers with a time of day. It is never
    /// dropped. A budget that the call finds keeps its clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_tower::PropagateBudgetLayer;
    ///
    /// let clock = Arc::new(ManualClock::new(UnixTime::EPOCH));
    /// let layer = PropagateBudgetLayer::new().with_clock(clock);
    /// ```
    #[must_use]
    pub fn with_clock(self, clock: impl Clock + 'static) -> Self {
        let clock: &'static dyn Clock = Box::leak(Box::new(clock));
        self.with(|settings| settings.clock = Some(clock))
    }

    /// Returns the counts of all services of this layer and its clones.
    ///
    /// # Examples
    ///
    /// ```
    /// let stats = tach_tower::PropagateBudgetLayer::new().stats();
    /// println!("{} calls ran out of time", stats.exhausted());
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.settings.stats.clone()
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }
}

impl Settings {
    /// Starts the budget of a call: one that never ends if nothing limits the call.
    pub(super) fn budget(
        &self,
        own: Option<&Budget>,
        limit: Duration,
        headers: &HeaderMap,
    ) -> Budget {
        let limit = limit.min(self.cap);
        let asked = self.headers.least(limit, headers, self.clock, &self.stats);
        let outer = own.copied().or_else(current);
        if let Some(outer) = outer.filter(|outer| outer.total() < Duration::MAX) {
            return outer.child(asked, self.reserve);
        }
        let total = asked.min(self.default.unwrap_or(Duration::MAX));
        match self.clock {
            Some(clock) => Budget::new(total).with_clock(clock),
            None => Budget::new(total),
        }
    }

    pub(super) fn refuses(&self, left: Duration) -> bool {
        left.is_zero() || left < self.floor
    }

    /// Writes the time left into the headers of a request that is sent now.
    pub(super) fn write(&self, left: Duration, headers: &mut HeaderMap) {
        if left < Duration::MAX {
            self.headers.write(left, headers, self.clock);
        }
    }
}

impl<Q> Rules<Request<Q>> for Settings {
    fn refuses(&self, left: Duration) -> bool {
        self.refuses(left)
    }

    fn announce(&self, left: Duration, request: &mut Request<Q>) {
        self.write(left, request.headers_mut());
    }
}

impl fmt::Debug for PropagateBudgetLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { headers, cap, default, reserve, floor, stats, .. } = &*self.settings;
        f.debug_struct("PropagateBudgetLayer")
            .field("headers", headers)
            .field("cap", cap)
            .field("default", default)
            .field("reserve", reserve)
            .field("floor", floor)
            .field("stats", stats)
            .finish_non_exhaustive()
    }
}

impl<S> Layer<S> for PropagateBudgetLayer {
    type Service = PropagateBudget<S>;

    fn layer(&self, inner: S) -> Self::Service {
        PropagateBudget::new(inner, self.settings.clone())
    }
}
