//! Parents that come from a context.

use std::thread;

use opentelemetry::Context;
use opentelemetry::trace::{Status, TraceContextExt as _, Tracer as _};
use tach_pipeline::{OpenTelemetrySpanExt as _, Sampling, Tail, TraceContext};
use tracing::subscriber::with_default;
use tracing::{Span, dispatcher};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry;

use super::super::propagation::{LOCAL, REMOTE, TRACE, TRACEPARENT};
use super::super::received::{self, names, span_id, spans_in, trace_id};
use super::super::tail::eager;
use super::super::{pipeline, run, spans, spans_of};
use super::{Sdk, current, extracted, headers, ids, ids_of, ids_of_data, request, tenant};
use crate::support::LONG;

#[test]
fn a_parent_that_is_not_sampled_decides() {
    let unsampled = extracted(&[("traceparent", &TRACEPARENT.replace("-01", "-00"))]);
    let sampled = extracted(&[("traceparent", TRACEPARENT)]);
    let spans = spans_of(
        |builder| builder.sampling(Sampling::ratio(0.0)),
        || {
            let _unsampled = unsampled.attach();
            let span = tracing::info_span!("span", otel.kind = "server");
            assert_eq!(headers(&span.context())["traceparent"].rsplit('-').next(), Some("00"));
            assert!(!span.context().span().is_recording());
            let _sampled = sampled.attach();
            let span = tracing::info_span!("sampled", otel.kind = "server", number = 1);
            assert!(span.context().span().is_recording());
        },
    );
    assert_eq!(spans.len(), 1);
    assert_eq!((trace_id(&spans["sampled"]), spans["sampled"].flags), (TRACE, REMOTE));
}

#[test]
fn a_span_s_parent_is_the_current_one_of_the_sdk() {
    let sdk = Sdk::new();
    let spans = spans(|| {
        sdk.tracer.in_span("sdk", |_| {
            let outer = tracing::info_span!("outer").entered();
            drop(tracing::info_span!("inner"));
            // The span of the SDK was started in the thread's innermost span, so it is the parent.
            sdk.tracer.in_span("between", |_| drop(tracing::info_span!("innermost")));
            drop(tracing::info_span!("after"));
            drop(outer);
            drop(tracing::info_span!(parent: None, "root"));
        });
        drop(tracing::info_span!("other"));
    });
    let of_sdk = sdk.spans();
    let (of_trace, sdk_id, _) = ids_of_data(&of_sdk["sdk"]);
    let (_, between, _) = ids_of_data(&of_sdk["between"]);
    let outer = ids(&spans["outer"]);
    assert_eq!((outer.0, outer.2, spans["outer"].flags), (of_trace, sdk_id, LOCAL));
    for name in ["inner", "after"] {
        assert_eq!((trace_id(&spans[name]), ids(&spans[name]).2), (of_trace, outer.1), "{name}");
    }
    assert_eq!((trace_id(&spans["innermost"]), ids(&spans["innermost"]).2), (of_trace, between));
    for name in ["root", "other"] {
        assert_ne!(trace_id(&spans[name]), of_trace);
        assert!(spans[name].parent_span_id.is_empty(), "{name}");
    }
}

#[test]
fn a_parent_that_can_t_be_set_is_an_error() {
    let spans = spans(|| {
        let span = tracing::info_span!("span");
        // A context without a span only adds baggage.
        span.set_parent(extracted(&[("baggage", "tenant=acme")])).unwrap();
        assert_eq!(tenant(&span.context()), Some("acme"));
        span.set_parent(request()).unwrap();
        let again = span.set_parent(request()).unwrap_err();
        assert!(again.to_string().contains("before"), "{again}");
        let disabled = Span::none().set_parent(request()).unwrap_err();
        assert!(disabled.to_string().contains("disabled"), "{disabled}");
    });
    assert_eq!(trace_id(&spans["span"]), TRACE);
    with_default(registry(), || {
        let span = tracing::info_span!("span");
        let unsent = span.set_parent(request()).unwrap_err();
        assert!(unsent.to_string().contains("no pipeline"), "{unsent}");
        assert!(!span.context().has_active_span());
    });
}

/// A handler sets the parent of the span that the middleware has entered. `tracing-opentelemetry`
/// refuses that.
#[test]
fn the_current_span_s_parent_may_be_set() {
    let spans = spans(|| {
        let root = tracing::info_span!("root", otel.kind = "server").entered();
        root.set_parent(request()).unwrap();
        assert_eq!(current().0, TRACE);
        assert_eq!(
            Context::map_current(|cx| tenant(cx).map(str::to_owned)).as_deref(),
            Some("acme")
        );
        drop(tracing::info_span!("child"));
        drop(root);
        assert_eq!(current(), (0, 0));
    });
    assert_eq!(ids(&spans["child"]).2, ids(&spans["root"]).1);
    assert_eq!(trace_id(&spans["child"]), TRACE);
}

/// Without headers, a propagator extracts the current context.
#[test]
fn a_span_is_no_parent_of_itself() {
    let spans = spans(|| {
        let root = tracing::info_span!("root", otel.kind = "server").entered();
        root.set_parent(Context::current()).unwrap();
        root.set_parent(request()).unwrap();
        drop(root);
        let lone = tracing::info_span!("lone", otel.kind = "server").entered();
        lone.set_parent(Context::current()).unwrap();
    });
    assert_eq!(trace_id(&spans["root"]), TRACE);
    assert!(spans["lone"].parent_span_id.is_empty());
}

/// A library that can't set the parent attaches it around the span. Only the first one counts, and
/// no parent that the span has chosen or that was there at its start is replaced.
#[test]
fn a_parent_attached_around_a_boundary_span_is_taken_once() {
    const OTHER: &str = "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01";
    let boundary =
        |name: &'static str| tracing::info_span!("span", otel.kind = "server", otel.name = name);
    let enter_in = |span: &Span, context: &Context| {
        let _attached = context.clone().attach();
        span.in_scope(|| {});
    };
    let (first, second) = (request(), extracted(&[("traceparent", OTHER)]));
    let spans = spans(|| {
        let taken = boundary("taken");
        enter_in(&taken, &first);
        assert_eq!(tenant(&taken.context()), Some("acme"));
        enter_in(&taken, &second);
        assert!(taken.set_parent(second.clone()).is_err(), "it is set once");
        let left = boundary("left");
        left.in_scope(|| {});
        enter_in(&left, &first);
        let inner = tracing::info_span!("inner");
        enter_in(&inner, &first);
        let _attached = first.clone().attach();
        let root = tracing::info_span!(parent: None, "root", otel.kind = "server");
        root.in_scope(|| {});
        let at_start = boundary("at start");
        at_start.in_scope(|| {});
        at_start.set_parent(second.clone()).unwrap();
        // The context of the task is that of the request around the span that the task is in.
        let outer = tracing::info_span!("outer").entered();
        let task = boundary("task");
        drop(outer);
        let dispatch = dispatcher::get_default(Clone::clone);
        thread::scope(|scope| {
            scope.spawn(|| dispatcher::with_default(&dispatch, || enter_in(&task, &first)));
        });
    });
    let traces = |name: &str| trace_id(&spans[name]);
    assert_eq!((traces("taken"), spans["taken"].flags), (TRACE, REMOTE));
    assert_eq!(spans["taken"].trace_state, "vendor=1,b=2");
    for name in ["left", "inner", "root"] {
        assert!(spans[name].parent_span_id.is_empty() && traces(name) != TRACE, "{name}");
    }
    assert_eq!(traces("at start"), TRACE | 1 << 124, "it had not been set");
    assert_eq!(ids(&spans["task"]).2, ids(&spans["outer"]).1);
}

/// Two pipelines in one subscriber do not take each other's spans for parents.
#[test]
fn pipelines_side_by_side_keep_apart() {
    let [(first, one), (second, two)] = [(); 2].map(|()| pipeline(|builder| builder));
    with_default(registry().with(one.pipeline().clone()).with(two.pipeline().clone()), || {
        let _root = tracing::info_span!("root", otel.kind = "server").entered();
        let _inner = tracing::info_span!("inner", otel.kind = "internal").entered();
        drop(tracing::info_span!("innermost"));
    });
    for (requests, guard) in [(first, one), (second, two)] {
        guard.pipeline().flush(LONG).unwrap();
        let spans = received::by_name(&requests);
        assert_eq!(ids(&spans["inner"]).2, ids(&spans["root"]).1);
        assert_eq!(ids(&spans["innermost"]).2, ids(&spans["inner"]).1);
    }
}

/// The tail decides by that span alone, since no span of the pipeline contains it.
#[test]
fn a_child_of_the_sdk_s_is_a_root_for_the_tail() {
    let (requests, guard) = eager(Tail::ratio(0.0).max_delay(10 * LONG));
    // Spans come without a flush.
    let next = || spans_in(&requests.recv_timeout(LONG).unwrap().1).remove(0).name;
    let sdk = Sdk::new();
    run(guard.pipeline(), || {
        sdk.tracer.in_span("sdk", |_| {
            tracing::info_span!("in sdk").set_status(Status::error("failed"));
        });
        assert_eq!(next(), "in sdk");
        let outer = tracing::info_span!("outer");
        let moved = outer.in_scope(|| tracing::info_span!("moved"));
        let parent = sdk.tracer.start("parent");
        moved.set_parent(Context::new().with_span(parent)).unwrap();
        moved.set_status(Status::error("failed"));
        drop(moved);
        assert_eq!(next(), "moved");
        // The tail waits for the end of the root that contains the span.
        let root = tracing::info_span!("root", otel.kind = "server").entered();
        sdk.tracer.in_span("sdk", |_| {
            tracing::info_span!("contained").set_status(Status::error("failed"));
        });
        tracing::info_span!(parent: None, "later root").set_status(Status::error("failed"));
        assert_eq!(next(), "later root");
        drop(root);
        assert!(["contained", "root"].contains(&&*next()));
    });
}

/// Another thread starts a child, by the context of a span of the pipeline.
#[test]
fn a_child_by_the_context_of_an_open_span_is_in_its_trace() {
    for set_parent in [false, true] {
        let (requests, guard) = eager(Tail::ratio(0.0));
        run(guard.pipeline(), || {
            let root = tracing::info_span!("root", otel.kind = "server");
            let context = root.context();
            let dispatch = dispatcher::get_default(Clone::clone);
            let child = move || {
                dispatcher::with_default(&dispatch, || {
                    if set_parent {
                        tracing::info_span!("child").set_parent(context).unwrap();
                    } else {
                        let _attached = context.attach();
                        drop(tracing::info_span!("child"));
                    }
                });
            };
            thread::spawn(child).join().unwrap();
            // When this root arrives, the tail would have decided about the child, were it a root.
            tracing::info_span!("later root").in_scope(|| tracing::error!("failed"));
            let later = spans_in(&requests.recv_timeout(LONG).unwrap().1);
            assert_eq!(names(&later), ["later root"]);
            root.in_scope(|| tracing::error!("late"));
        });
        let spans = received::by_name(&requests);
        let (root, child) = (&spans["root"], &spans["child"]);
        assert_eq!(ids(child), (trace_id(root), span_id(&child.span_id), span_id(&root.span_id)));
        assert_eq!(child.flags, LOCAL);
    }
}

/// The span of the context is around the child, whether that span is sampled or not.
#[test]
fn the_span_of_an_attached_context_comes_before_a_parent_in_scope() {
    let remote = TraceContext::from_headers(TRACEPARENT, "").unwrap();
    for (ratio, is_sampled) in [(0.0, false), (1.0, true)] {
        let mut parent = (0, 0);
        let spans = spans_of(
            |builder| builder.sampling(Sampling::ratio(ratio)),
            || {
                let root = tracing::info_span!("root", otel.kind = "server");
                let context = root.context();
                parent = ids_of(context.span().span_context());
                let dispatch = dispatcher::get_default(Clone::clone);
                let child = || {
                    dispatcher::with_default(&dispatch, || {
                        let _attached = context.attach();
                        let child = || tracing::info_span!("child", otel.kind = "client");
                        let child = remote.in_scope(child).context();
                        let (trace, _) = ids_of(child.span().span_context());
                        assert_eq!(trace, parent.0, "{ratio}");
                        assert_eq!(child.span().span_context().is_sampled(), is_sampled);
                    });
                };
                thread::scope(|scope| scope.spawn(child).join().unwrap());
                // The control: without a context, the remote span is the parent.
                let other = remote.in_scope(|| tracing::info_span!("other", otel.kind = "server"));
                assert_eq!(ids_of(other.context().span().span_context()).0, TRACE);
            },
        );
        assert_eq!(trace_id(&spans["other"]), TRACE);
        if is_sampled {
            assert_eq!((trace_id(&spans["child"]), ids(&spans["child"]).2), parent);
        } else {
            assert_eq!(spans.len(), 1, "{spans:?}");
        }
    }
}

/// A task is in a span of a request, and the context of the request is attached.
#[test]
fn the_context_of_an_outer_span_hides_no_inner_one() {
    let spans = spans(|| {
        let request = tracing::info_span!("request", otel.kind = "server");
        let handler = request.in_scope(|| tracing::info_span!("handler"));
        let context = request.context();
        handler.in_scope(|| {
            let _attached = context.attach();
            drop(tracing::info_span!("inner"));
            // The context of another trace is the parent.
            let other = tracing::info_span!(parent: None, "other", otel.kind = "consumer");
            let _attached = other.context().attach();
            drop(tracing::info_span!("of other"));
        });
    });
    assert_eq!(spans["inner"].parent_span_id, spans["handler"].span_id);
    assert_eq!(spans["of other"].parent_span_id, spans["other"].span_id);
    assert_eq!(trace_id(&spans["of other"]), trace_id(&spans["other"]));
}
