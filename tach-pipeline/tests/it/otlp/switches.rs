//! Export that is switched off leaves propagation, ids and lines as they were.

use std::env;

use tach_pipeline::{Otlp, Pipeline, Sink, SpanExt as _, TraceContext};
use test_support::test_of_this_program;
use tracing::Span;

use super::propagation::{TRACEPARENT, parent};
use super::run;
use crate::support::Memory;

const WAY: &str = "TACH_PIPELINE_SWITCHES";
const SWITCHES: [&str; 2] = ["OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER"];

/// Returns the pipeline of a way, and its lines if it writes any.
fn pipeline(way: &str) -> (tach_pipeline::Guard, Option<Memory>) {
    let memory = Memory::default();
    let mut builder = Pipeline::builder();
    if way != "lines alone" {
        builder = builder.sink(Sink::otlp(Otlp::from_env()));
    }
    if way != "collector alone" {
        builder = builder.sink(memory.json());
    }
    (builder.build().unwrap(), (way != "collector alone").then_some(memory))
}

/// Returns the spans of requests, each with its parent set by another method.
fn requests(caller: &TraceContext) -> Vec<Span> {
    let start = || tracing::info_span!("request", otel.kind = "server", user = 7);
    let set = start();
    assert!(set.set_remote_parent(caller) && !set.set_remote_parent(caller));
    let spans = vec![set, caller.in_scope(start)];
    #[cfg(feature = "opentelemetry")]
    let spans = {
        use opentelemetry::propagation::TextMapPropagator as _;
        use opentelemetry_sdk::propagation::TraceContextPropagator;

        let headers = std::collections::HashMap::from([
            ("traceparent".to_owned(), caller.to_string()),
            ("tracestate".to_owned(), caller.tracestate().to_owned()),
        ]);
        let context = TraceContextPropagator::new().extract(&headers);
        let set = start();
        tach_pipeline::OpenTelemetrySpanExt::set_parent(&set, context.clone()).unwrap();
        let _attached = context.attach();
        let spans = [spans, vec![set, start()]].concat();
        for span in &spans {
            let mut headers = std::collections::HashMap::new();
            let context = tach_pipeline::OpenTelemetrySpanExt::context(span);
            TraceContextPropagator::new().inject_context(&context, &mut headers);
            assert_eq!(headers.get("traceparent"), Some(&caller.to_string()));
            assert_eq!(headers["tracestate"], caller.tracestate());
        }
        spans
    };
    spans
}

/// Checks what a pipeline passes on that sends no spans.
fn check(way: &str, has_own_ids: bool) {
    let (guard, lines) = pipeline(way);
    let mut count = 0;
    run(guard.pipeline(), || {
        let sampled = parent();
        let unsampled = TRACEPARENT.replace("-01", "-00");
        let unsampled = TraceContext::from_headers(&unsampled, "").unwrap();
        for caller in [sampled, unsampled] {
            for span in requests(&caller) {
                assert_eq!(span.trace_context().as_ref(), Some(&caller), "{way}");
                span.in_scope(|| {
                    let child = tracing::info_span!("child").entered();
                    assert_eq!(child.trace_context().as_ref(), Some(&caller), "{way}");
                    tracing::info!("within");
                    count += 1;
                    // A span that is not enabled passes the caller on too.
                    let debug = tracing::debug_span!("debug").entered();
                    assert_eq!(Span::current().trace_context().as_ref(), Some(&caller), "{way}");
                    drop(debug);
                });
                #[cfg(feature = "opentelemetry")]
                span.in_scope(|| {
                    use opentelemetry::trace::TraceContextExt as _;

                    let current = opentelemetry::Context::current();
                    let id = current.span().span_context().span_id().to_bytes();
                    assert_eq!(u64::from_be_bytes(id), caller.span_id(), "{way}");
                });
            }
        }
        // A trace that begins here has no headers: the next service begins its own.
        let root = tracing::info_span!("root").entered();
        assert_eq!(root.trace_context(), None);
        tracing::info!("within a root");
    });
    let Some(lines) = lines else { return };
    let records = lines.records();
    assert_eq!(records.len(), count + 1);
    for record in &records[..count] {
        assert_eq!(record["trace_id"], "0af7651916cd43dd8448eb211c80319c", "{way}: {record}");
        assert_eq!(record["span_id"] == "b7ad6b7169203331", !has_own_ids, "{way}: {record}");
        assert_eq!(record["user"], 7, "{way}: {record}");
    }
    assert_eq!(records[count].get("trace_id").is_some(), has_own_ids, "{way}");
}

#[test]
fn a_pipeline_of_lines_alone_passes_the_caller_s_context_on() {
    check("lines alone", false);
}

/// Nothing but that method tells the pipeline that spans have ids.
#[test]
fn the_first_caller_may_come_by_any_road() {
    let caller = parent();
    log::set_max_level(log::LevelFilter::Trace);
    for road in 0.. {
        let (guard, lines) = pipeline("lines alone");
        let mut is_road = false;
        run(guard.pipeline(), || {
            let start = || tracing::info_span!("request", otel.kind = "server");
            let span = match road {
                0 => caller.in_scope(start),
                1 => {
                    let span = start();
                    assert!(span.set_remote_parent(&caller));
                    span
                }
                #[cfg(feature = "opentelemetry")]
                2 => {
                    use opentelemetry::trace::TraceContextExt as _;
                    use opentelemetry::trace::{
                        SpanContext, SpanId, TraceFlags, TraceId, TraceState,
                    };

                    let (trace, span) = (TraceId::from(caller.trace_id()), caller.span_id());
                    let (flags, state) = (TraceFlags::SAMPLED, TraceState::default());
                    let remote = SpanContext::new(trace, SpanId::from(span), flags, true, state);
                    let context = opentelemetry::Context::new().with_remote_span_context(remote);
                    let _attached = context.attach();
                    start()
                }
                _ => return,
            };
            is_road = true;
            span.in_scope(|| {
                let child = tracing::info_span!("child").entered();
                let passed_on = child.trace_context().map(|it| (it.trace_id(), it.span_id()));
                assert_eq!(passed_on, Some((caller.trace_id(), caller.span_id())), "{road}");
                tracing::info!("within");
                log::info!(logger: guard.pipeline(), "within");
            });
        });
        if !is_road {
            break;
        }
        let records = lines.unwrap().records();
        assert_eq!(records.len(), 2);
        for record in records {
            assert_eq!(record["span_id"], "b7ad6b7169203331", "{road}: {record}");
        }
    }
}

/// Not a test: the child of the next test.
#[test]
#[ignore = "the child of the next test"]
fn child() {
    if let Ok(way) = env::var(WAY) {
        check(&way, true);
    }
}

#[test]
fn a_switch_switches_the_export_alone() {
    for (switch, value) in SWITCHES.into_iter().zip(["true", "none"]) {
        for way in ["collector alone", "collector and lines"] {
            let mut child = test_of_this_program("otlp::switches::child");
            for switch in SWITCHES {
                child.env_remove(switch);
            }
            // No log record is sent either.
            child.env("OTEL_LOGS_EXPORTER", "none").env("OTEL_METRICS_EXPORTER", "none");
            let output = child.env(switch, value).env(WAY, way).output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{switch} {way}: {text}{printed}");
            assert!(printed.contains("1 passed"), "{printed}");
        }
    }
}
