//! The settings, and the budget that a request gets by them.

use core::fmt;
use core::time::Duration;

use http::{Extensions, HeaderMap, HeaderName};
use tach_core::{Budget, Clock};
use tower_layer::Layer;

use crate::{BudgetService, Stats, header};

/// Gives each request a [`Budget`] and answers 504 Gateway Timeout when it is gone.
///
/// A request's budget begins when the service is called with it. Waiting before that, as for
/// `poll_ready` of a busy service, is *not* counted: no service has seen the request by then. Put
/// the layer outside of those that queue within `call`, such as a buffer or a retry.
///
/// If the request's extensions hold a budget already, as from such a layer further out or from
/// where the connection was accepted, the new one is a child of it: nothing within outlasts it.
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
    /// Another clock than the system's.
    clock: Option<&'static dyn Clock>,
    stats: Stats,
}

impl BudgetLayer {
    /// A layer that gives every request `total`, whatever its headers say.
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

    /// Lets a request ask for less by the header `name`; more than the total it never gets.
    ///
    /// Whatever the header's name, its value has the syntax of gRPC's
    /// [`grpc-timeout`](crate::GRPC_TIMEOUT): one to eight digits and a unit, `H`, `M`, `S`, `m`
    /// (ms), `u` (µs) or `n` (ns), as in `250m`. Zero says that no time is left. Of several such
    /// headers the first counts. One that cannot be parsed is ignored, and
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

    /// Has budgets begin and end by `clock`: for tests of services and handlers.
    ///
    /// A request that brings a budget of another clock along keeps to that one. What wakes a request
    /// at the end of its budget is tokio's timer all the same, which knows nothing of `clock`. It is armed
    /// with what remains, and again if `clock` has not come so far: in a test, move `clock` before tokio's
    /// time gets there. With tokio's time paused and `clock` standing still it is armed for ever, since
    /// each time tokio leaps to its end. A clock that tokio's time drives needs no moving.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_tower::BudgetLayer;
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// let layer = BudgetLayer::new(Duration::from_secs(30)).with_clock(&CLOCK);
    /// ```
    #[must_use]
    pub fn with_clock(mut self, clock: &'static dyn Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// The counts of all services of this layer and its clones.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let stats = tach_tower::BudgetLayer::new(Duration::from_secs(30)).stats();
    /// println!("{} headers made no sense", stats.unparsable_headers());
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats.clone()
    }

    /// The budget of a request with these headers and extensions, beginning now.
    pub(crate) fn budget(&self, headers: &HeaderMap, extensions: &Extensions) -> Budget {
        let limit = self.asked(headers).map_or(self.total, |asked| asked.min(self.total));
        match (extensions.get::<Budget>(), self.clock) {
            (Some(outer), _) => outer.child(limit),
            (None, Some(clock)) => Budget::with_clock(limit, clock),
            (None, None) => Budget::new(limit),
        }
    }

    /// What the request asks for, if it does so and can be understood.
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
