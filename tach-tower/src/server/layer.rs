//! The layer's settings, and the budget of a request.

use core::fmt;
use core::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe};
use core::time::Duration;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Response, StatusCode};
use tach_core::{Budget, Clock, adapter};
use tower_layer::Layer;

use super::BudgetService;
use crate::body::BudgetBody;
use crate::call::Rules;
use crate::grpc;
use crate::header::Syntax;
use crate::observe::{Attributes, Stats};
use crate::settings::Headers;

/// A layer that gives each request a [`Budget`], and answers for the service when it is exhausted:
/// with 504 Gateway Timeout, or with the status 4, `DEADLINE_EXCEEDED`, if the request speaks gRPC.
///
/// The budget is the least of the layer's total and of all [headers](Self::with_header). It is in
/// the request's extensions, and [`current`](crate::current) returns it without a request. The
/// response's body [ends](BudgetBody) with it.
///
/// The service always looks ready, so `tower::load_shed` belongs inside of this layer.
///
/// A budget starts with the service's `call`. The service is always ready and waits for the inner
/// one within the call, so the time in queues inside the layer counts. The time before the layer
/// counts if the request's extensions already hold a budget, such as an outer layer's or one of
/// [`Budget::since`]: the new budget is its child and ends no later.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use http::HeaderName;
/// use tach_tower::{BudgetLayer, GRPC_TIMEOUT, Syntax};
///
/// let layer = BudgetLayer::new(Duration::from_secs(30))
///     .with_header(GRPC_TIMEOUT, Syntax::Grpc)
///     .with_header(HeaderName::from_static("request-timeout"), Syntax::Seconds)
///     .with_floor(Duration::from_millis(5));
/// ```
#[derive(Clone)]
pub struct BudgetLayer {
    settings: Arc<Settings>,
}

type Answer = dyn Fn(&Budget) -> Response<Bytes> + Send + Sync + RefUnwindSafe + UnwindSafe;

#[derive(Clone)]
pub(super) struct Settings {
    total: Duration,
    headers: Headers,
    reserve: Duration,
    floor: Duration,
    /// A clock other than the system's.
    clock: Option<&'static dyn Clock>,
    pub(super) ending: Ending,
    pub(super) has_server_timing: bool,
    pub(super) has_extension: bool,
    pub(super) stats: Stats,
}

/// The settings that a response future needs when it ends. It keeps a copy, which is cheaper than a
/// reference to all settings.
#[derive(Clone, Default)]
pub(super) struct Ending {
    answer: Option<Arc<Answer>>,
    pub(super) has_endless_bodies: bool,
    pub(super) attributes: Attributes,
}

impl BudgetLayer {
    /// Creates a layer that gives every request `total`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let layer = tach_tower::BudgetLayer::new(Duration::from_secs(30));
    /// ```
    #[must_use]
    pub fn new(total: Duration) -> Self {
        let settings = Settings {
            total,
            headers: Headers::default(),
            reserve: Duration::ZERO,
            floor: Duration::ZERO,
            clock: None,
            ending: Ending::default(),
            has_server_timing: false,
            has_extension: true,
            stats: Stats::default(),
        };
        Self { settings: Arc::new(settings) }
    }

    /// Reads a shorter budget from the header `name`, too. A longer one than the total has no
    /// effect.
    ///
    /// The least value counts, of all headers and of all that have the same name. An invalid value
    /// is ignored and [counted](Stats::unparsable_headers).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::{BudgetLayer, ENVOY_TIMEOUT, GRPC_TIMEOUT, Syntax};
    ///
    /// let layer = BudgetLayer::new(Duration::from_secs(30))
    ///     .with_header(GRPC_TIMEOUT, Syntax::Grpc)
    ///     .with_header(ENVOY_TIMEOUT, Syntax::Millis);
    /// ```
    #[must_use]
    pub fn with_header(self, name: HeaderName, syntax: Syntax) -> Self {
        self.with(|settings| settings.headers.add(name, syntax))
    }

    /// Subtracts `reserve` from the time that a header or an outer budget allows, so that the
    /// answer reaches the caller before it gives up.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::{BudgetLayer, GRPC_TIMEOUT, Syntax};
    ///
    /// let layer = BudgetLayer::new(Duration::from_secs(30))
    ///     .with_header(GRPC_TIMEOUT, Syntax::Grpc)
    ///     .with_reserve(Duration::from_millis(10));
    /// ```
    #[must_use]
    pub fn with_reserve(self, reserve: Duration) -> Self {
        self.with(|settings| settings.reserve = reserve)
    }

    /// Refuses a request whose budget is less than `floor` at once, without a call of the inner
    /// service.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let layer = tach_tower::BudgetLayer::new(Duration::from_secs(30))
    ///     .with_floor(Duration::from_millis(5));
    /// ```
    #[must_use]
    pub fn with_floor(self, floor: Duration) -> Self {
        self.with(|settings| settings.floor = floor)
    }

    /// Answers with this response instead of an empty 504, if a request doesn't speak gRPC.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use http::{Response, StatusCode};
    /// use tach_tower::BudgetLayer;
    ///
    /// let layer = BudgetLayer::new(Duration::from_secs(30)).with_response(|budget| {
    ///     let text = format!("no answer in {:?}\n", budget.total());
    ///     let mut response = Response::new(text.into());
    ///     *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    ///     response
    /// });
    /// ```
    #[must_use]
    pub fn with_response<F>(self, response: F) -> Self
    where
        F: Fn(&Budget) -> Response<Bytes> + Send + Sync + 'static,
    {
        // A hook that panics has no state of the layer's in its hands.
        let response = AssertUnwindSafe(response);
        let answer = move |budget: &Budget| {
            let AssertUnwindSafe(response) = &response;
            response(budget)
        };
        self.with(|settings| settings.ending.answer = Some(Arc::new(answer)))
    }

    /// Lets the bodies of responses outlive the budget: for downloads and for streams of events.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let layer =
    ///     tach_tower::BudgetLayer::new(Duration::from_secs(30)).with_endless_bodies();
    /// ```
    #[must_use]
    pub fn with_endless_bodies(self) -> Self {
        self.with(|settings| settings.ending.has_endless_bodies = true)
    }

    /// Leaves the budget out of the requests' extensions, which costs an allocation for each
    /// request. Handlers find it by [`current`](crate::current). A budget that was in the
    /// extensions, such as an outer layer's, is still replaced by the new one.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let layer = tach_tower::BudgetLayer::new(Duration::from_secs(30)).without_extension();
    /// ```
    #[must_use]
    pub fn without_extension(self) -> Self {
        self.with(|settings| settings.has_extension = false)
    }

    /// Adds the header `Server-Timing` to each response: the request's [`Stages`](crate::Stages)
    /// and the total time. The header shows clients how the service spends its time.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let layer = tach_tower::BudgetLayer::new(Duration::from_secs(30)).with_server_timing();
    /// ```
    #[must_use]
    pub fn with_server_timing(self) -> Self {
        self.with(|settings| settings.has_server_timing = true)
    }

    /// Records `budget.total_ms` and `budget.remaining_ms` in the current span of `tracing` when
    /// the response, or the answer to an exhausted request, is ready. The span must declare both
    /// fields, and be around the layer.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tracing::field::Empty;
    ///
    /// let layer = tach_tower::BudgetLayer::new(Duration::from_secs(30)).with_tracing_fields();
    /// let span =
    ///     tracing::info_span!("request", budget.total_ms = Empty, budget.remaining_ms = Empty);
    /// ```
    #[cfg(feature = "tracing")]
    #[must_use]
    pub fn with_tracing_fields(self) -> Self {
        self.with(|settings| settings.ending.attributes.tracing = true)
    }

    /// Sets the attributes `budget.total_ms` and `budget.remaining_ms` of OpenTelemetry's active
    /// span when the response, or the answer to an exhausted request, is ready.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let layer =
    ///     tach_tower::BudgetLayer::new(Duration::from_secs(30)).with_opentelemetry_attributes();
    /// ```
    #[cfg(feature = "opentelemetry")]
    #[must_use]
    pub fn with_opentelemetry_attributes(self) -> Self {
        self.with(|settings| settings.ending.attributes.opentelemetry = true)
    }

    /// Uses `clock` instead of the system clock: for tests of services and handlers. It is never
    /// dropped, because budgets are `Copy` and may outlive the layer.
    ///
    /// A request that already has a budget keeps that budget's clock.
    ///
    /// Tokio's timer still wakes the request at the end of its budget. If `clock` shows that time
    /// is left, the timer is set again: advance `clock` before tokio's time gets there. If tokio's
    /// time is paused and `clock` stands still, this repeats for ever. A clock that follows tokio's
    /// time needs no advancing.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_tower::BudgetLayer;
    ///
    /// let clock = Arc::new(ManualClock::new(UnixTime::EPOCH));
    /// let layer = BudgetLayer::new(Duration::from_secs(30)).with_clock(clock);
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
    /// use std::time::Duration;
    ///
    /// let stats = tach_tower::BudgetLayer::new(Duration::from_secs(30)).stats();
    /// println!("{} headers were invalid", stats.unparsable_headers());
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
    /// Starts the budget of a request with these headers, within an outer one.
    #[inline]
    pub(super) fn budget(&self, headers: &HeaderMap, outer: Option<&Budget>) -> Budget {
        let asked = self.headers.least(Duration::MAX, headers, self.clock, &self.stats);
        // A caller that sets no limit doesn't give up.
        let asked = if asked == Duration::MAX { asked } else { asked.saturating_sub(self.reserve) };
        let limit = asked.min(self.total);
        match (outer, self.clock) {
            (Some(outer), _) => outer.child(limit, self.reserve),
            (None, Some(clock)) => Budget::new(limit).with_clock(clock),
            (None, None) => Budget::new(limit),
        }
    }
}

impl<R> Rules<R> for Settings {
    fn refuses(&self, left: Duration) -> bool {
        left.is_zero() || left < self.floor
    }

    /// A handler asks the budget.
    fn announce(&self, _: Duration, _: &mut R) {}
}

impl Ending {
    /// Returns the response to a request whose budget is exhausted.
    #[cold]
    pub(super) fn answer<B>(&self, budget: &Budget, is_grpc: bool) -> Response<BudgetBody<B>> {
        let response = match &self.answer {
            _ if is_grpc => grpc::response(&adapter::exhausted(budget.total())),
            Some(answer) => answer(budget),
            None => {
                let mut response = Response::new(Bytes::new());
                *response.status_mut() = StatusCode::GATEWAY_TIMEOUT;
                response
            }
        };
        response.map(BudgetBody::own)
    }
}

impl fmt::Debug for BudgetLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { total, headers, reserve, floor, stats, .. } = &*self.settings;
        f.debug_struct("BudgetLayer")
            .field("total", total)
            .field("headers", headers)
            .field("reserve", reserve)
            .field("floor", floor)
            .field("stats", stats)
            .finish_non_exhaustive()
    }
}

impl<S> Layer<S> for BudgetLayer {
    type Service = BudgetService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        BudgetService::new(inner, self.settings.clone())
    }
}
