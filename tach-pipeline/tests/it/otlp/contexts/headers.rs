//! Headers of spans, as the SDK's propagators read and write them.

use std::collections::HashMap;
use std::thread;

use opentelemetry::baggage::BaggageExt as _;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::TraceContextExt as _;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tach_pipeline::{OpenTelemetrySpanExt as _, SpanExt, TraceContext};
use tracing::dispatcher;

use super::super::propagation::{PARENT, REMOTE, TRACE, parent};
use super::super::received::{span_id, trace_id};
use super::super::spans;
use super::{headers, ids, request};

#[test]
fn a_request_s_headers_go_in_and_out_with_baggage() {
    let mut out = Vec::new();
    let spans = spans(|| {
        let root = tracing::info_span!("root", otel.kind = "server");
        root.set_parent(request()).unwrap();
        root.in_scope(|| {
            let child = tracing::info_span!("child");
            // A child that starts in a thread without the request's context.
            let other = thread::scope(|scope| {
                let dispatch = dispatcher::get_default(Clone::clone);
                let child = &child;
                let start = move || {
                    let _default = dispatcher::set_default(&dispatch);
                    tracing::info_span!(parent: child, "other")
                };
                scope.spawn(start).join().unwrap()
            });
            out.extend([&root, &child, &other].map(|span| headers(&span.context())));
        });
        let none = tracing::info_span!("none");
        assert_eq!(none.context().baggage().len(), 0);
    });
    assert_eq!((trace_id(&spans["root"]), span_id(&spans["root"].parent_span_id)), (TRACE, PARENT));
    assert_eq!((spans["root"].flags, &*spans["root"].trace_state), (REMOTE, "vendor=1,b=2"));
    for (name, headers) in ["root", "child", "other"].iter().zip(&out) {
        let (trace, span, _) = ids(&spans[*name]);
        assert_eq!(headers["traceparent"], format!("00-{trace:032x}-{span:016x}-01"), "{name}");
        assert_eq!((trace, &*headers["tracestate"]), (TRACE, "vendor=1,b=2"));
        let mut baggage: Vec<_> = headers["baggage"].split(',').collect();
        baggage.sort_unstable();
        assert_eq!(baggage, ["tenant=acme", "tier=gold"], "{name}");
    }
    assert_ne!(trace_id(&spans["none"]), TRACE);
}

/// The SDK's propagator reads the headers of a span, and the pipeline reads those of the SDK.
#[test]
fn headers_are_the_sdk_s() {
    let propagator = TraceContextPropagator::new();
    let spans = spans(|| {
        let span = tracing::info_span!("span");
        let headers = |context: &TraceContext| {
            let state = context.tracestate().to_owned();
            HashMap::from([
                ("traceparent".to_owned(), context.to_string()),
                ("tracestate".to_owned(), state),
            ])
        };
        // The headers that a service with the SDK sends.
        let sent = propagator.extract(&headers(&parent()));
        let mut received = HashMap::new();
        propagator.inject_context(&sent, &mut received);
        let received =
            TraceContext::from_headers(&received["traceparent"], &received["tracestate"]).unwrap();
        assert_eq!(received, parent());
        assert!(span.set_remote_parent(&received));
        // The headers that a service with the SDK receives.
        let own = span.trace_context().unwrap();
        let context = propagator.extract(&headers(&own));
        let context = context.span().span_context().clone();
        assert!(context.is_remote() && context.is_sampled());
        assert_eq!(context.trace_id().to_bytes(), own.trace_id().to_be_bytes());
        assert_eq!(context.span_id().to_bytes(), own.span_id().to_be_bytes());
        assert_eq!(context.trace_state().header(), "vendor=1,b=2");
    });
    assert_eq!(trace_id(&spans["span"]), TRACE);
}
