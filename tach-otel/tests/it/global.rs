//! Spans of `opentelemetry::global`, in one test: there is one provider for all threads.

use opentelemetry::trace::{Span, SpanKind, TraceContextExt, Tracer};
use opentelemetry::{Context, InstrumentationScope, KeyValue, global};
use tach_otel::Clocked;

use crate::support::{Sdk, assert_in_order, tach_now};

#[test]
fn the_global_tracer_s_spans_are_clocked() {
    let sdk = Sdk::new();
    global::set_tracer_provider(Clocked::new(sdk.provider.clone()));
    let tracer = global::tracer("it");

    let before = tach_now();
    let mut ended = tracer
        .span_builder("ended")
        .with_kind(SpanKind::Client)
        .with_attributes([KeyValue::new("key", "value")])
        .start(&tracer);
    let after = tach_now();
    ended.add_event("event", vec![]);
    ended.end();
    let ended = sdk.span("ended");
    assert!(before <= ended.start_time && ended.start_time <= after);
    assert_eq!((ended.events.len(), ended.attributes.len()), (1, 1));
    assert_eq!(ended.span_kind, SpanKind::Client);
    assert_in_order(&ended);

    drop(tracer.start("dropped"));
    assert_in_order(&sdk.span("dropped"));

    let scope = InstrumentationScope::builder("scoped").with_version("2").build();
    let context =
        Context::new().with_span(global::tracer_with_scope(scope.clone()).start("scoped"));
    context.span().add_event("event", vec![]);
    context.span().end();
    let scoped = sdk.span("scoped");
    assert_eq!(scoped.instrumentation_scope, scope);
    assert_in_order(&scoped);
}
