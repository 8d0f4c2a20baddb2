//! The layer's settings, and the budget of a request.

use core::fmt;
use core::time::Duration;

use http::{Extensions, HeaderMap, HeaderName};
use tach_core::{Budget, Clock};
use tower_layer::Layer;

use crate::{BudgetService, Stats, header};

/// A layer that gives each request a [`Budget`], and answers 504 Gateway Timeout when it is
/// exhausted.
///
/// A budget starts with the service's `call`. Time before it, such as in `poll_ready`, is *not*
/// counted. Put the layer around services that queue within `call`, such as a buffer or a retry.
///
/// If the request's extensions already hold a budget, such as an outer layer's, the new one is its
/// child and ends no later.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use http::HeaderName;
/// use tach_tower::BudgetLayer;
///
/// let layer = BudgetLayer::new(Duration::from_secs(30))
///     .with_header(HeaderName::from_static("x-request-budget"));
/// ```
#[derive(Clone)]
pub struct BudgetLayer {
    total: Duration,
    header: Option<HeaderName>,
    /// A clock other than the system's.
    clock: Option<&'static dyn Clock>,
    stats: Stats,
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
        Self { total, header: None, clock: None, stats: Stats::default() }
    }

    /// Reads a shorter budget from the header `name`. A longer one than the total has no effect.
    ///
    /// The value has the syntax of [`grpc-timeout`](crate::GRPC_TIMEOUT): one to eight digits and a
    /// unit, `H`, `M`, `S`, `m` (ms), `u` (µs) or `n` (ns), such as `250m`. Zero means that no time
    /// is left. The first of several headers counts. An invalid value is ignored and
    /// [counted](Stats::unparsable_headers).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::{BudgetLayer, GRPC_TIMEOUT};
    ///
    /// let layer = BudgetLayer::new(Duration::from_secs(30)).with_header(GRPC_TIMEOUT);
    /// ```
    #[must_use]
    pub fn with_header(mut self, name: HeaderName) -> Self {
        self.header = Some(name);
        self
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
    pub fn with_clock(mut self, clock: impl Clock + 'static) -> Self {
        let clock: &'static dyn Clock = Box::leak(Box::new(clock));
        self.clock = Some(clock);
        self
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
        self.stats.clone()
    }

    /// Starts the budget of a request with these headers and extensions.
    pub(crate) fn budget(&self, headers: &HeaderMap, extensions: &Extensions) -> Budget {
        let limit = self.asked(headers).map_or(self.total, |asked| asked.min(self.total));
        match (extensions.get::<Budget>(), self.clock) {
            (Some(outer), _) => outer.child(limit),
            (None, Some(clock)) => Budget::new(limit).with_clock(clock),
            (None, None) => Budget::new(limit),
        }
    }

    /// Returns the header's duration, if it is present and valid.
    fn asked(&self, headers: &HeaderMap) -> Option<Duration> {
        let value = headers.get(self.header.as_ref()?)?;
        let asked = header::parse(value.as_bytes());
        if asked.is_none() {
            self.stats.count_unparsable_header();
        }
        asked
    }
}

impl fmt::Debug for BudgetLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BudgetLayer")
            .field("total", &self.total)
            .field("header", &self.header)
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

impl<S> Layer<S> for BudgetLayer {
    type Service = BudgetService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        BudgetService::new(inner, self.clone())
    }
}
