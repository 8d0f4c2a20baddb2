//! Records how much time requests have left.

use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::sync::Arc;

use http::Request;
use http::request::Parts;
use pin_project_lite::pin_project;
use tach_core::Budget;
use tower_layer::Layer;
use tower_service::Service;

use crate::current::current;
use crate::hook::Hook;
use crate::times::Moment;

type Route = dyn Fn(&Parts) -> String + Send + Sync;
type Record = dyn Fn(&str, Moment, Duration) + Send + Sync;

/// A layer inside of a [`BudgetLayer`](crate::BudgetLayer) that records how much time a request has
/// left: when it arrives, and when the head of its response is ready or its budget has ended.
///
/// Some requests are not recorded: one without a limit, one that the budget's layer refuses, and
/// one whose budget ends while that layer waits for the service. A caller that hangs up leaves an
/// arrival without an answer. [`Times`](crate::Times) are histograms that the program reads.
///
/// # Examples
///
/// A histogram of OpenTelemetry, for a collector:
///
/// ```
/// use opentelemetry::{KeyValue, global};
/// use tach_tower::{BudgetLayer, ObserveLayer, Settings};
/// use tower::ServiceBuilder;
///
/// let left = global::meter("service").f64_histogram("budget.left").with_unit("s").build();
/// let observe = ObserveLayer::new(
///     |parts| parts.method.to_string(),
///     move |route, moment, time| {
///         let moment = KeyValue::new("moment", format!("{moment:?}"));
///         left.record(time.as_secs_f64(), &[KeyValue::new("route", route.to_owned()), moment]);
///     },
/// );
/// let layers =
///     ServiceBuilder::new().layer(BudgetLayer::server(Settings::new())).layer(observe);
/// ```
#[derive(Debug, Clone)]
pub struct ObserveLayer {
    route: Hook<Route>,
    record: Hook<Record>,
}

impl ObserveLayer {
    /// Creates a layer. `route` names a request, in few different words, and `record` takes the
    /// time that is left.
    #[must_use]
    pub fn new<R, F>(route: R, record: F) -> Self
    where
        R: Fn(&Parts) -> String + Send + Sync + 'static,
        F: Fn(&str, Moment, Duration) + Send + Sync + 'static,
    {
        Self { route: Hook(Arc::new(route)), record: Hook(Arc::new(record)) }
    }
}

impl<S> Layer<S> for ObserveLayer {
    type Service = Observe<S>;

    fn layer(&self, inner: S) -> Observe<S> {
        Observe { inner, layer: self.clone() }
    }
}

/// The service of an [`ObserveLayer`].
#[derive(Debug, Clone)]
pub struct Observe<S> {
    inner: S,
    layer: ObserveLayer,
}

impl<S, Q> Service<Request<Q>> for Observe<S>
where
    S: Service<Request<Q>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Observed<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let Some(budget) = current().filter(|budget| budget.total() < Duration::MAX) else {
            return Observed { future: self.inner.call(request), seen: None };
        };
        let (parts, body) = request.into_parts();
        let seen = Seen {
            budget,
            route: (self.layer.route.0)(&parts),
            record: self.layer.record.clone(),
            is_answered: false,
        };
        seen.record(Moment::Arrival);
        let future = self.inner.call(Request::from_parts(parts, body));
        Observed { future, seen: Some(seen) }
    }
}

pin_project! {
    /// The future of an [`Observe`].
    #[derive(Debug)]
    pub struct Observed<F> {
        #[pin]
        future: F,
        seen: Option<Seen>,
    }
}

/// A request without an answer.
#[derive(Debug)]
struct Seen {
    budget: Budget,
    route: String,
    record: Hook<Record>,
    is_answered: bool,
}

impl Seen {
    fn record(&self, moment: Moment) {
        (self.record.0)(&self.route, moment, self.budget.remaining());
    }

    /// Records the answer, once: the budget may end between an answer in time and the drop.
    fn answer(&mut self) {
        if !mem::replace(&mut self.is_answered, true) {
            self.record(Moment::Answer);
        }
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        if self.budget.is_exhausted() {
            self.answer();
        }
    }
}

impl<F: Future> Future for Observed<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let output = ready!(this.future.poll(cx));
        if let Some(mut seen) = this.seen.take() {
            seen.answer();
        }
        Poll::Ready(output)
    }
}
