//! The spans of a server's requests.

use http::Request;
use tach_pipeline::adapter::in_scope_of;
use tach_tower::adapter::Protocol;
use tracing::field::Empty;
use tracing::{Span, info_span};

use crate::address::Target;
use crate::current::{self, Passed};
use crate::grpc::rpc_method;
use crate::headers::Seen;
use crate::method;
use crate::open::{Kind, Open};
use crate::options::Options;

/// The parts of a request that its span records.
struct Head<'a> {
    kind: Kind,
    target: Target<'a>,
    route: Option<&'a str>,
    /// The method and the route, or gRPC's method, which the span is not named by yet.
    name: Option<&'a str>,
    version: &'static str,
}

/// Opens a request's span in the caller's trace. Returns `None` if a layer around has one.
#[inline]
pub(crate) fn open<B>(request: &Request<B>, options: &Options) -> Option<Box<Open>> {
    let route = None;
    #[cfg(feature = "axum")]
    let route = request.extensions().get().map(axum::extract::MatchedPath::as_str).or(route);
    if current::is_served() {
        current::offer_route(route);
        return None;
    }
    let (method, headers) = (request.method(), request.headers());
    let protocol = Protocol::of(method, headers);
    let kind = Kind::new(false, method, protocol);
    let seen = Seen::of(headers);
    let mut target = Target::of(request.uri());
    target.authority = target.authority.or(seen.host);
    let name = match protocol {
        // Join the name into a text: a value that is printed costs more.
        Protocol::Http => route.map(|route| [method::in_name(kind.method), " ", route].concat()),
        _ => Some(rpc_method(target.path).to_owned()),
    };
    let version = method::version(request.version());
    let head = Head { kind, target, route, name: name.as_deref(), version };
    let parent = if options.extract.is_some() { None } else { seen.parent(headers) };
    let start = || head.span(parent.is_some());
    // With `extract`, the program sets the parent after the start.
    let span = match &options.extract {
        Some(_) => start(),
        None => in_scope_of(parent.as_ref(), start),
    };
    let baggage = if options.is_without_baggage { None } else { seen.baggage(headers) };
    let parent = parent.filter(|_| span.is_disabled());
    if let Some(extract) = options.extract.as_ref().filter(|_| !span.is_disabled()) {
        (extract.0)(&span, headers);
    }
    let mut open = Box::new(Open::new(span, kind, method, name));
    let is_passed = baggage.is_some() || parent.is_some();
    open.passed = is_passed.then(|| Passed { baggage, parent }.into());
    Some(open)
}

/// A span of the fields below. `$parent` is empty, or `parent: None,` for a caller's span.
macro_rules! http_span {
    ($head:expr, $($parent:tt)*) => {{
        let Head { kind: Kind { method, .. }, target, route, name, version } = $head;
        let (host, port) = target.address();
        info_span!(
            target: "tach_http",
            $($parent)*
            "http.server.request",
            http.response.status_code = Empty,
            otel.kind = "server",
            otel.name = name.unwrap_or_else(|| method::in_name(method)),
            http.request.method = method,
            http.route = *route,
            url.path = target.path,
            url.scheme = target.scheme.unwrap_or("http"),
            server.address = host,
            server.port = port,
            network.protocol.version = *version,
            otel.status_code = Empty, otel.status_description = Empty, error.type = Empty,
            tach.budget.outcome = Empty, http.request.method_original = Empty,
        )
    }};
}

macro_rules! rpc_span {
    ($head:expr, $($parent:tt)*) => {{
        let (host, port) = $head.target.address();
        info_span!(
            target: "tach_http",
            $($parent)*
            "rpc.server.call",
            rpc.response.status_code = Empty,
            otel.kind = "server",
            otel.name = "grpc",
            rpc.system.name = "grpc",
            url.path = $head.target.path,
            server.address = host, server.port = port,
            otel.status_code = Empty, otel.status_description = Empty, error.type = Empty,
            rpc.method = Empty, rpc.method_original = Empty, http.response.status_code = Empty,
            tach.budget.outcome = Empty,
        )
    }};
}

impl Head<'_> {
    /// Starts a span. With a caller's span, that one is the parent, whatever the current span is.
    #[inline]
    fn span(&self, has_caller: bool) -> Span {
        match (self.kind.protocol, has_caller) {
            (Protocol::Http, false) => http_span!(self,),
            (Protocol::Http, true) => http_span!(self, parent: None,),
            (_, false) => rpc_span!(self,),
            (_, true) => rpc_span!(self, parent: None,),
        }
    }
}
