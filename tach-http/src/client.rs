//! The spans of a client's requests.

use std::borrow::Cow;

use http::header::HOST;
use http::{HeaderMap, Method, Request};
use tach_pipeline::SpanExt as _;
use tach_pipeline::adapter::in_scope_of;
use tach_tower::adapter::Protocol;
use tracing::field::Empty;
use tracing::{Span, info_span};

use crate::address::Target;
use crate::current;
use crate::grpc::rpc_method;
use crate::headers::{BAGGAGE, write_parent};
use crate::method;
use crate::open::{Kind, Open};
use crate::options::Options;

/// Opens a request's span, and writes its headers. Returns `None` if the span is disabled.
#[inline]
pub(crate) fn open<B>(request: &mut Request<B>, options: &Options) -> Option<Box<Open>> {
    let protocol = Protocol::of(request.method(), request.headers());
    let mut target = Target::of(request.uri());
    let host = || request.headers().get(HOST)?.to_str().ok();
    target.authority = target.authority.or_else(host);
    let open = start(request.method(), protocol, &target);
    announce(open.as_deref(), request.headers_mut(), options);
    open
}

/// Opens the span of a request, which is sent next. Returns `None` if the span is disabled.
pub(crate) fn start(method: &Method, protocol: Protocol, target: &Target<'_>) -> Option<Box<Open>> {
    let kind = Kind::new(true, method, protocol);
    let span = in_scope_of(None, || match protocol {
        Protocol::Http => http(kind.method, target),
        _ => rpc(target),
    });
    if span.is_disabled() {
        return None;
    }
    Some(Box::new(Open::new(span, kind, method, None)))
}

/// Writes what the next service reads. If the request has no span, the current one is its parent,
/// or else the caller of the service that the current task works for.
pub(crate) fn announce(open: Option<&Open>, headers: &mut HeaderMap, options: &Options) {
    let span = open.map_or_else(|| Cow::Owned(Span::current()), |open| Cow::Borrowed(&open.span));
    let passed = current::passed();
    let passed = passed.as_deref();
    match &options.inject {
        Some(inject) if !span.is_disabled() => (inject.0)(&span, headers),
        Some(_) => {}
        None => {
            let context = span.trace_context();
            if let Some(context) = context.as_ref().or_else(|| passed?.parent.as_ref()) {
                write_parent(context, headers);
            }
        }
    }
    let baggage = passed.and_then(|passed| passed.baggage.as_ref());
    if let Some(baggage) = baggage.filter(|_| !options.is_without_baggage) {
        // Keep a header that the program has set.
        headers.entry(BAGGAGE).or_insert_with(|| baggage.clone());
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
        otel.status_code = Empty, otel.status_description = Empty, error.type = Empty,
        tach.budget.outcome = Empty, http.request.method_original = Empty,
        network.protocol.version = Empty,
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
        otel.status_code = Empty, otel.status_description = Empty, error.type = Empty,
        tach.budget.outcome = Empty,
    )
}
