//! The layer, around servers and around clients.

use core::marker::PhantomData;
use std::sync::Arc;

use http::HeaderMap;
use tach_tower::{ClientSide, ServerSide};
use tower_layer::Layer;
use tracing::Span;

use crate::options::Options;
use crate::service::RequestService;
use tach_tower::adapter::Hook;

/// A layer that gives each request a span of `tracing`, by OpenTelemetry's
/// [conventions](crate#what-is-recorded).
///
/// The span is entered while the service and the response's body are polled, and ends with the
/// body. [`server`](Self::server) is for the services of a server, [`client`](Self::client) for
/// clients.
///
/// # Order
///
/// Add the layer outside of others, so that the span has what they answer: around
/// `tach_tower::BudgetLayer`, whose outcome it records, and around layers that catch panics or
/// limit the load. Inside `tower::retry`, a client's layer has a span for each attempt.
///
/// A handler in a task of its own, as inside of `tach_tower::DetachLayer`, is in no span. Below
/// that layer, `ServiceBuilder::map_future` with `tracing::Instrument::in_current_span` takes the
/// span along, though not the caller's baggage.
///
/// # What can go wrong
///
/// - A spawned task is in no span, unless it is `.in_current_span()`, and has no baggage to pass on.
/// - Without spans (`RUST_LOG=warn`), the caller's headers are passed on, but are no span's parent.
/// - For gRPC, a layer inside that answers before the service lets the caller's name through.
/// - A request without a scheme has `http`.
/// - A client of tonic has no address, unless `with_origin` created it.
/// - gRPC-Web has its status in the body, which is not read.
/// - A budget's layer around this one drops the request: `cancelled`.
///
/// # Examples
///
/// ```
/// use tach_http::RequestLayer;
///
/// let server = RequestLayer::server();
/// let client = RequestLayer::client();
/// ```
///
/// Lines within a request repeat the fields of its span, as they do with every span. This sink's
/// lines have its name and the ids of the trace instead:
///
/// ```
/// use tach_log::Line;
/// use tach_pipeline::Sink;
///
/// let sink = Sink::stderr().format(Line::new().without_span_fields());
/// ```
///
/// Around a whole router of axum, the response needs axum's body again, and a second layer inside
/// knows the route:
///
/// ```no_run
/// use axum::Router;
/// use axum::body::Body;
/// use tach_http::{RequestLayer, ResponseBody};
/// use tower::{ServiceBuilder, make::Shared};
///
/// # async fn serve(app: Router) -> std::io::Result<()> {
/// let app = app.layer(RequestLayer::server());
/// let app = ServiceBuilder::new()
///     .map_response(|response: http::Response<ResponseBody<Body>>| response.map(Body::new))
///     .layer(RequestLayer::server())
///     .service(app);
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
/// axum::serve(listener, Shared::new(app)).await
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RequestLayer<K> {
    pub(crate) options: Options,
    side: PhantomData<fn(K)>,
}

impl<K> RequestLayer<K> {
    fn new(is_client: bool) -> Self {
        Self { options: Options { is_client, ..Options::default() }, side: PhantomData }
    }

    /// Passes no `baggage` on: a server's layer ignores the caller's, and a client's layer writes
    /// none. Without this, the header goes unread from each request to the calls of its task.
    ///
    /// Where strangers call, they choose the header. Where a client calls strangers, they read it.
    ///
    /// # Examples
    ///
    /// ```
    /// let layer = tach_http::RequestLayer::server().without_baggage();
    /// ```
    #[must_use]
    pub fn without_baggage(mut self) -> Self {
        self.options.is_without_baggage = true;
        self
    }
}

impl RequestLayer<ServerSide> {
    /// Creates a layer around the services of a server: axum's, hyper's or tonic's.
    ///
    /// The headers `traceparent` and `tracestate` name the span's parent; where strangers send
    /// them, `Builder::public_endpoint` of tach-pipeline makes it a link. Without them the span is
    /// in the current span, or begins a trace. With feature `axum`, the route that axum matched is
    /// a part of the span's name if the layer is added by `Router::layer`.
    ///
    /// A server's layer inside of another one, in the same task, begins no second span. It tells
    /// the outer one the route. [`set_route`](crate::set_route) does that for other routers.
    ///
    /// # Time left
    ///
    /// Around a `BudgetLayer` of `tach_tower`, the layer also records the time that requests had
    /// left: `tach.budget.left_on_arrival`, less the reserve, and `tach.budget.left_at_answer`,
    /// which is the response's head. The histograms are sent and read as durations are, by route or
    /// gRPC's method if `Durations::attribute` chooses `http.route` or `rpc.method`. A request
    /// without a limit is in neither, a refused one in both. One that panics, or whose caller hangs
    /// up before the answer, is in the first.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use axum::{Router, routing::get};
    /// use tach_http::RequestLayer;
    ///
    /// let app: Router = Router::new()
    ///     .route("/users/{id}", get(|| async { "a user" }))
    ///     .layer(RequestLayer::server());
    /// ```
    #[must_use]
    pub fn server() -> Self {
        Self::new(false)
    }

    /// Calls `extract` with each new span and the request's headers, and reads no `traceparent`:
    /// for other headers, and for subscribers other than tach-pipeline.
    ///
    /// # Examples
    ///
    /// For tracing-opentelemetry:
    ///
    /// ```
    /// use opentelemetry::propagation::Extractor;
    /// use opentelemetry::global;
    /// use tach_http::RequestLayer;
    /// use tracing_opentelemetry::OpenTelemetrySpanExt as _;
    ///
    /// struct Headers<'a>(&'a http::HeaderMap);
    ///
    /// impl Extractor for Headers<'_> {
    ///     fn get(&self, key: &str) -> Option<&str> {
    ///         self.0.get(key)?.to_str().ok()
    ///     }
    ///
    ///     fn keys(&self) -> Vec<&str> {
    ///         self.0.keys().map(|key| key.as_str()).collect()
    ///     }
    /// }
    ///
    /// let layer = RequestLayer::server().extract(|span, headers| {
    ///     let parent = global::get_text_map_propagator(|it| it.extract(&Headers(headers)));
    ///     let _there_is_no_parent = span.set_parent(parent);
    /// });
    /// ```
    #[must_use]
    pub fn extract(mut self, extract: impl Fn(&Span, &HeaderMap) + Send + Sync + 'static) -> Self {
        self.options.extract = Some(Hook(Arc::new(extract)));
        self
    }
}

impl RequestLayer<ClientSide> {
    /// Creates a layer around a client of hyper, tonic or reqwest. With feature
    /// `reqwest-middleware`, it is a middleware of that crate too.
    ///
    /// The span's `traceparent` and `tracestate` replace those of the request.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "reqwest")] {
    /// use tach_http::RequestLayer;
    /// use tower::Layer as _;
    ///
    /// let client = RequestLayer::client().layer(reqwest::Client::new());
    /// # }
    /// ```
    #[must_use]
    pub fn client() -> Self {
        Self::new(true)
    }

    /// Calls `inject` with each new span and the request's headers, and writes no `traceparent`:
    /// for other headers, and for subscribers other than tach-pipeline.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::HeaderValue;
    /// use tach_http::RequestLayer;
    /// use tach_pipeline::SpanExt as _;
    ///
    /// let layer = RequestLayer::client().inject(|span, headers| {
    ///     let Some(context) = span.trace_context() else { return };
    ///     let (trace, span) = (context.trace_id(), context.span_id());
    ///     let b3 = format!("{trace:032x}-{span:016x}-{}", u8::from(context.is_sampled()));
    ///     headers.insert("b3", HeaderValue::try_from(b3).unwrap());
    /// });
    /// ```
    #[must_use]
    pub fn inject(
        mut self,
        inject: impl Fn(&Span, &mut HeaderMap) + Send + Sync + 'static,
    ) -> Self {
        self.options.inject = Some(Hook(Arc::new(inject)));
        self
    }
}

impl<S, K> Layer<S> for RequestLayer<K> {
    type Service = RequestService<S, K>;

    fn layer(&self, inner: S) -> Self::Service {
        RequestService::new(inner, self.options.clone())
    }
}
