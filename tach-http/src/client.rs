//! The spans of a client's requests.

use http::{HeaderMap, Method, Request};
use tracing::field::Empty;
use tracing::{Span, info_span};

use crate::address::Target;
use crate::current;
use crate::grpc::{Protocol, rpc_method};
use crate::headers::{write_baggage, write_parent};
use crate::method;
use crate::open::{Kind, Open};
use crate::options::Options;

/// Opens a request's span, and writes its headers. Returns `None` if the span is disabled.
#[inline]
pub(crate) fn open<B>(request: &mut Request<B>, options: &Options) -> Option<Open> {
    let protocol = Protocol::of(request.method(), request.headers());
    let open = start(request.method(), protocol, &Target::of(request.uri()))?;
    announce(&open, request.headers_mut(), options);
    Some(open)
}

/// Opens the span of a request, which is sent next.
pub(crate) fn start(method: &Method, protocol: Protocol, target: &Target<'_>) -> Option<Open> {
    let kind = Kind { is_client: true, method: method::known(method), protocol };
    let span = match protocol {
        Protocol::Http => http(kind.method, target),
        _ => rpc(target),
    };
    if span.is_disabled() {
        return None;
    }
    if kind.method == method::OTHER {
        span.record("http.request.method_original", method.as_str());
    }
    Some(Open::new(span, kind, false))
}

/// Writes what the next service reads.
pub(crate) fn announce(open: &Open, headers: &mut HeaderMap, options: &Options) {
    match &options.inject {
        Some(inject) => (inject.0)(&open.span, headers),
        None => write_parent(&open.span, headers),
    }
    if !options.is_without_baggage {
        if let Some(baggage) = current::baggage() {
            write_baggage(&baggage, headers);
        }
    }
}

fn http(method: &'static str, target: &Target<'_>) -> Span {
    let (host, port) = target.address();
    info_span!(
        target: "tach_http",
        "http.client.request",
        http.response.status_code = Empty,
        otel.kind = "client",
        otel.name = method::in_name(method),
        http.request.method = method,
        url.full = %target,
        server.address = host,
        server.port = port,
        otel.status_code = Empty,
        otel.status_description = Empty,
        error.type = Empty,
        tach.budget.outcome = Empty,
        http.request.method_original = Empty,
    )
}

fn rpc(target: &Target<'_>) -> Span {
    let (host, port) = target.address();
    let method = rpc_method(target.path);
    info_span!(
        target: "tach_http",
        "rpc.client.call",
        rpc.response.status_code = Empty,
        otel.kind = "client",
        otel.name = method,
        rpc.system.name = "grpc",
        rpc.method = method,
        server.address = host,
        server.port = port,
        otel.status_code = Empty,
        otel.status_description = Empty,
        error.type = Empty,
        tach.budget.outcome = Empty,
    )
}
