//! Headers of strangers, who decide about nothing but the ids in a link.

use std::collections::HashMap;

use opentelemetry::Context;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tach_pipeline::{Builder, OpenTelemetrySpanExt, Sampling, SpanExt, TraceContext};
use tracing::Span;

use super::propagation::{PARENT, TRACE, TRACEPARENT, unsampled};
use super::received::{span_id, trace_id};
use super::spans_of;

/// The same holds for each way to set a parent.
#[test]
fn a_public_endpoint_begins_traces() {
    let state = format!("vendor={}", "x".repeat(250));
    let headers = HashMap::from([
        ("traceparent".to_owned(), TRACEPARENT.to_owned()),
        ("tracestate".to_owned(), state.clone()),
    ]);
    let extracted = TraceContextPropagator::new().extract(&headers);
    let stranger = TraceContext::from_headers(TRACEPARENT, &state).unwrap();
    let root = || tracing::info_span!("root", otel.kind = "server");
    let set = || {
        let span = root();
        assert!(span.set_remote_parent(&stranger));
        span
    };
    let set_by_otel = || {
        let span = root();
        OpenTelemetrySpanExt::set_parent(&span, extracted.clone()).unwrap();
        span
    };
    let attached = || {
        let _context = extracted.clone().attach();
        root()
    };
    let roads: [&dyn Fn() -> Span; 4] =
        [&set, &|| stranger.in_scope(root), &set_by_otel, &attached];
    for (number, start) in roads.into_iter().enumerate() {
        let spans = spans_of(Builder::public_endpoint, || {
            start().in_scope(|| {
                let child = tracing::info_span!("child");
                let headers = SpanExt::trace_context(&child).unwrap();
                assert_eq!(headers.tracestate(), "", "{number}");
                assert_ne!(headers.trace_id(), TRACE, "{number}");
            });
        });
        let (root, child) = (&spans["root"], &spans["child"]);
        assert_ne!(trace_id(root), TRACE, "{number}");
        assert!(root.parent_span_id.is_empty() && root.trace_state.is_empty(), "{number}");
        assert_eq!((trace_id(child), &child.parent_span_id), (trace_id(root), &root.span_id));
        let [link] = &root.links[..] else { panic!("{number}: {:?}", root.links) };
        let linked = u128::from_be_bytes(link.trace_id[..].try_into().unwrap());
        assert_eq!((linked, span_id(&link.span_id)), (TRACE, PARENT), "{number}");
        assert_eq!(&*link.trace_state, "", "{number}");
        // The caller's sampled flag decides nothing, whether it is set or not.
        let never = |builder: Builder| builder.public_endpoint().sampling(Sampling::ratio(0.0));
        let spans = spans_of(never, || (0..1_000).for_each(|_| start().in_scope(|| {})));
        assert!(spans.is_empty(), "{number}: {}", spans.len());
    }
    let spans = spans_of(Builder::public_endpoint, || drop(unsampled().in_scope(root)));
    assert_eq!(spans.len(), 1);
    // A parent that became a link can't be set again.
    let spans = spans_of(Builder::public_endpoint, || {
        let span = set();
        assert!(!span.set_remote_parent(&stranger));
    });
    assert_eq!(spans["root"].links.len(), 1);
    // A span of this process remains a parent.
    let spans = spans_of(Builder::public_endpoint, || {
        let parent = tracing::info_span!("parent", otel.kind = "server");
        let context: Context = OpenTelemetrySpanExt::context(&parent);
        let _attached = context.attach();
        drop(root());
    });
    assert_eq!(spans["root"].parent_span_id, spans["parent"].span_id);
}
