//! Which spans are sent by the decision at the head.

use core::sync::atomic::{AtomicU64, Ordering};

use opentelemetry_proto::tonic::trace::v1::Span;
use tach_pipeline::adapter::in_scope_of;
use tach_pipeline::{Builder, Pipeline, Sampling, Signal, SpanExt as _, TraceContext};
use test_support::receiver::serve;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry;

use super::propagation::{PARENT, REMOTE, TRACE, parent, unsampled};
use super::received::{self, names, span_id, trace_id};
use super::{Printed, pipeline, run, sink, spans_of};
use crate::support::{LONG, subscriber};

/// Returns the spans that are sent.
fn sampled(sampling: Sampling, f: impl FnOnce()) -> Vec<Span> {
    let (requests, guard) = pipeline(|builder| builder.sampling(sampling));
    run(guard.pipeline(), f);
    received::spans(&requests)
}

/// The SDK, which sees only the ids of a trace, makes the same decision as the pipeline.
#[cfg(feature = "opentelemetry")]
#[test]
fn the_ratio_chooses_the_traces_of_the_sdk() {
    use opentelemetry::trace::{SpanKind, TraceId};
    use opentelemetry_sdk::trace::{Sampler, SamplingDecision, ShouldSample as _};

    const COUNT: usize = 4_000;
    const RATIO: f64 = 0.25;
    let spans = sampled(Sampling::ratio(RATIO), || {
        for _ in 0..COUNT {
            let _root = tracing::info_span!("root").entered();
            drop(tracing::info_span!("child"));
        }
    });
    let roots = spans.iter().filter(|span| span.name == "root").count();
    // Fails once in 10^15 times: the deviation is eight times the standard one.
    assert!(roots.abs_diff(COUNT / 4) < 220, "{roots}");
    assert_eq!(spans.len(), 2 * roots);
    let sampler = Sampler::TraceIdRatioBased(RATIO);
    for span in &spans {
        let id = TraceId::from_bytes((&*span.trace_id).try_into().unwrap());
        let result = sampler.should_sample(None, id, "name", &SpanKind::Internal, &[], &[]);
        assert_eq!(result.decision, SamplingDecision::RecordAndSample);
        assert_eq!(span.flags & 1, 1);
    }
}

#[test]
fn rules_decide_about_the_root_and_descendants_follow() {
    let printed = AtomicU64::new(0);
    let sampling = Sampling::ratio(1.0).target("app::health", 0.0).span("ping", 0.0);
    let spans = sampled(sampling, || {
        let value = Printed(&printed);
        let health = tracing::info_span!(target: "app::health::db", "check", ?value);
        health.in_scope(|| {
            tracing::info!(?value, "no sink takes this");
            drop(tracing::info_span!("child", ?value));
        });
        let ping = tracing::info_span!("ping", late = tracing::field::Empty);
        ping.record("late", tracing::field::debug(&value));
        let request = tracing::info_span!("request");
        request.follows_from(&ping);
        request.follows_from(&request);
        // The parent is sampled, so the rule for roots does not apply.
        request.in_scope(|| drop(tracing::info_span!("ping")));
    });
    assert_eq!(names(&spans), ["ping", "request"]);
    // The fields of the two roots: a parent that is set later may decide that the roots are
    // sampled.
    assert_eq!(printed.load(Ordering::Relaxed), 2, "fields of spans that are not sampled are read");
    let request = spans.iter().find(|span| span.name == "request").unwrap();
    let flags: Vec<_> = request.links.iter().map(|link| link.flags & 1).collect();
    assert_eq!(flags, [0, 1]);
}

#[test]
fn parents_can_be_ignored() {
    let spans = sampled(Sampling::ratio(0.0).span("always", 1.0).ignore_parents(), || {
        let _root = tracing::info_span!("root").entered();
        let _always = tracing::info_span!("always").entered();
        drop(tracing::info_span!("child"));
    });
    assert_eq!(names(&spans), ["always"]);
}

#[test]
fn records_have_the_ids_of_spans_that_are_not_sampled() {
    let [(of_spans, spans), (of_records, records)] = [serve(), serve()];
    let builder = Pipeline::builder().sink(sink(&of_spans, Signal::Traces));
    let builder = builder.sink(sink(&of_records, Signal::Logs));
    let sampling = Sampling::ratio(1.0).span("unsampled", 0.0);
    run(builder.sampling(sampling).build().unwrap().pipeline(), || {
        for span in [tracing::info_span!("unsampled"), tracing::info_span!("sampled")] {
            span.in_scope(|| tracing::info!("within"));
        }
    });
    let (spans, records) = (received::spans(&spans), received::records(&records));
    assert_eq!((spans.len(), spans[0].events.len()), (1, 1));
    let ids = |at: usize| {
        let record = &records[at];
        (record.trace_id.len(), record.span_id.len(), record.flags & 1)
    };
    assert_eq!((records.len(), ids(0), ids(1)), (2, (16, 8, 0), (16, 8, 1)));
    assert_eq!(records[1].trace_id, spans[0].trace_id);
    assert_ne!(records[0].trace_id, spans[0].trace_id);
}

/// A parent in another process overrules the decision that was made when the span started.
#[test]
fn the_remote_parent_decides_about_sampling() {
    let sampling = Sampling::ratio(0.0).span("was sampled", 1.0).span("stays", 1.0);
    let sample = |builder: Builder| builder.sampling(sampling);
    let spans = spans_of(sample, || {
        let is_sent = |span: tracing::Span, parent: &TraceContext| {
            assert!(span.set_remote_parent(parent));
            span.in_scope(|| {
                tracing::info!("event");
                tracing::info_span!("child").set_attribute("otel.name", "child of it");
            });
            span.set_attribute("late", true);
            span.trace_context().unwrap().is_sampled()
        };
        assert!(!is_sent(tracing::info_span!("was sampled"), &unsampled()));
        assert!(!is_sent(tracing::info_span!("was not"), &unsampled()));
        assert!(is_sent(tracing::info_span!("stays", early = 1), &parent()));
        assert!(is_sent(tracing::info_span!("is sampled", early = 1), &parent()));
    });
    let mut names: Vec<_> = spans.keys().map(|name| &**name).collect();
    names.sort_unstable();
    assert_eq!(names, ["child of it", "is sampled", "stays"]);
    for name in ["stays", "is sampled"] {
        let span = &spans[name];
        let ids = (trace_id(span), span_id(&span.parent_span_id));
        assert_eq!((ids, span.flags), ((TRACE, PARENT), REMOTE));
        let keys = span.attributes.iter().map(|attribute| &*attribute.key);
        let own: Vec<_> = keys.filter(|key| !key.contains('.')).collect();
        assert_eq!((own, span.events.len()), (vec!["early", "late"], 1));
    }
}

/// No sink takes events, so nothing but the ids is kept of the children.
#[test]
fn a_child_of_a_span_that_is_not_sampled_can_do_what_others_can() {
    let spans = spans_of(
        |builder| builder.sampling(Sampling::ratio(0.0)),
        || {
            let root = tracing::info_span!("root").entered();
            let [first, moved] = [tracing::info_span!("first"), tracing::info_span!("moved")];
            let inner = moved.in_scope(|| tracing::info_span!("inner"));
            let header = |span: &tracing::Span| span.trace_context().unwrap().to_string();
            let headers = [&root, &first, &moved, &inner].map(header);
            let parts: Vec<Vec<_>> = headers.iter().map(|it| it.split('-').collect()).collect();
            for (at, part) in parts.iter().enumerate() {
                assert_eq!((part[1], part[3]), (parts[0][1], "00"), "{headers:?}");
                assert!(parts[..at].iter().all(|other| other[2] != part[2]), "{headers:?}");
            }
            assert_eq!([&root, &first, &moved, &inner].map(header), headers, "they stay");
            inner.in_scope(|| {
                let current = tracing::Span::current();
                assert_eq!(current.id(), inner.id());
                assert_eq!(current.metadata().map(tracing::Metadata::name), Some("inner"));
            });
            // A span is open as long as its child.
            let id = moved.id();
            assert!(moved.set_remote_parent(&parent()));
            drop(moved);
            let sent = tracing::info_span!(parent: id, "sent");
            assert!(sent.trace_context().unwrap().is_sampled());
            drop((root, first, inner));
        },
    );
    let mut names: Vec<_> = spans.keys().map(|name| &**name).collect();
    names.sort_unstable();
    assert_eq!(names, ["moved", "sent"]);
    assert!(spans.values().all(|span| trace_id(span) == TRACE));
}

/// No parent is set later, so the fields need not be kept.
#[test]
fn a_span_whose_caller_is_known_does_not_wait() {
    let printed = AtomicU64::new(0);
    let value = Printed(&printed);
    let start = || tracing::info_span!("request", ?value, otel.kind = "server");
    let spans = spans_of(
        |builder| builder.sampling(Sampling::ratio(0.0)),
        || {
            let read = || printed.load(Ordering::Relaxed);
            drop((unsampled().in_scope(start), in_scope_of(None, start)));
            assert_eq!(read(), 0, "the decision is taken");
            let span = in_scope_of(None, start);
            assert!(
                span.set_remote_parent(&parent()) && span.trace_context().unwrap().is_sampled()
            );
            assert_eq!(read(), 0, "it starts now, without its fields");
            // A call that says that there is no caller does not hide one.
            drop(parent().in_scope(|| in_scope_of(None, start)));
            assert_eq!(read(), 1);
            assert!(start().set_remote_parent(&parent()));
            assert_eq!(read(), 2, "it waits");
        },
    );
    assert_eq!(spans.len(), 1, "all are called so");
    assert!(spans.values().all(|span| trace_id(span) == TRACE));
}

#[test]
fn children_of_a_span_that_is_not_sampled_can_be_skipped() {
    let child = || tracing::info_span!("child", key = 1);
    let sampling = Sampling::ratio(0.0).span("sampled", 1.0).skip_children();
    let (requests, guard) = pipeline(|builder| builder.sampling(sampling));
    for dispatch in [subscriber(guard.pipeline()), registry().with(guard.pipeline().layer()).into()]
    {
        tracing::dispatcher::with_default(&dispatch, || {
            assert!(!child().is_disabled(), "it has no parent");
            let root = tracing::info_span!("root");
            root.in_scope(|| {
                let skipped = child().entered();
                assert!(skipped.is_disabled() && child().is_disabled());
                assert_eq!(tracing::Span::current().id(), root.id());
                assert!(!tracing::info_span!("client", otel.kind = "client").is_disabled());
                assert!(tracing::enabled!(tracing::Level::INFO), "events are not skipped");
            });
            tracing::info_span!("sampled").in_scope(|| assert!(!child().is_disabled()));
            assert!(!child().is_disabled(), "the thread has left the root");
        });
    }
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(names(&received::spans(&requests)), ["child", "child", "sampled", "sampled"]);
}
