//! Spans that are the current ones of `opentelemetry`.

use core::cell::RefCell;
use core::mem;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use opentelemetry::trace::{FutureExt as _, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue};
use tach_pipeline::OpenTelemetrySpanExt as _;
use tokio::runtime;
use tokio::task::yield_now;
use tracing::{Instrument as _, Span, dispatcher};

use super::super::propagation::{PARENT, TRACE};
use super::super::received::{span_id, trace_id};
use super::super::{pipeline, spans};
use super::{Sdk, current, ids, ids_of, ids_of_data, request, tenant};
use crate::support::in_subscriber;

#[test]
fn a_span_of_the_sdk_is_a_child_of_a_boundary_span() {
    let sdk = Sdk::new();
    let child = |name: &'static str| sdk.tracer.in_span(name, |_| ());
    let spans = spans(|| {
        let root = tracing::info_span!("root", otel.kind = "server");
        child("before");
        let entered = root.entered();
        child("in root");
        let inner = tracing::info_span!("inner").entered();
        child("in inner");
        let client = tracing::info_span!("client", otel.kind = tracing::field::Empty).entered();
        child("in client");
        drop((client, inner, entered));
        child("after");
    });
    let of_sdk = sdk.spans();
    let parent = |name: &str| ids_of_data(&of_sdk[name]).2;
    let root = ids(&spans["root"]);
    assert_eq!(ids_of_data(&of_sdk["in root"]).0, root.0);
    assert_eq!((parent("in root"), parent("in inner")), (root.1, root.1));
    assert_eq!(parent("in client"), ids(&spans["client"]).1);
    assert!(!of_sdk["in root"].parent_span_is_remote);
    assert_eq!((parent("before"), parent("after")), (0, 0));
    assert_eq!(ids(&spans["client"]).2, ids(&spans["inner"]).1);
}

/// The current span stays current while outer spans are left before it.
#[test]
fn spans_are_left_in_any_order() {
    let spans = spans(|| {
        let own = |span: &Span| ids_of(span.context().span().span_context());
        let [a, b, c] = ["a", "b", "c"]
            .map(|name| tracing::info_span!("span", otel.kind = "internal", otel.name = name));
        let (in_a, in_b, in_c) = (a.enter(), b.enter(), c.enter());
        assert_eq!(current(), own(&c));
        drop(in_a);
        assert_eq!(current(), own(&c));
        drop(in_c);
        assert_eq!(current(), own(&b));
        let foreign = request().attach();
        drop(in_b);
        assert_eq!(current(), (TRACE, PARENT));
        let after = a.enter();
        assert_eq!(current(), own(&a));
        // A context of the SDK may be detached out of order too.
        drop(foreign);
        assert_eq!(current(), own(&a));
        drop(after);
        assert_eq!(current(), (0, 0));
    });
    assert_eq!(spans.len(), 3);
}

/// Tasks of a runtime are polled by one thread, then by another, each in its own spans.
#[test]
fn a_future_s_spans_are_current_where_it_is_polled() {
    let sdk = Sdk::new();
    let spans = spans(|| {
        let dispatch = dispatcher::get_default(Clone::clone);
        let tasks = runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .on_thread_start(move || {
                mem::forget(dispatcher::set_default(&dispatch));
            })
            .build()
            .unwrap();
        let tracer = sdk.tracer.clone();
        let request = |number: usize| {
            let name = format!("request {number}");
            let span = tracing::info_span!("request", otel.kind = "server", otel.name = name);
            let tracer = tracer.clone();
            let name = format!("sdk {number}");
            async move {
                for _ in 0..20 {
                    yield_now().await;
                    assert_eq!(current(), ids_of(Span::current().context().span().span_context()));
                }
                let cx = Context::current_with_span(tracer.start(name));
                async {
                    yield_now().await;
                    let inner = tracing::info_span!("inner");
                    inner.set_attribute("otel.name", format!("inner {number}"));
                    yield_now().instrument(inner).await;
                }
                .with_context(cx)
                .await;
            }
            .instrument(span)
        };
        let all: Vec<_> = (0..8).map(|number| tasks.spawn(request(number))).collect();
        tasks.block_on(async {
            for one in all {
                one.await.unwrap();
            }
        });
        drop(tasks);
    });
    let of_sdk = sdk.spans();
    assert_eq!((spans.len(), of_sdk.len()), (16, 8));
    for number in 0..8 {
        let sdk = ids_of_data(&of_sdk[&format!("sdk {number}")]);
        let request = ids(&spans[&format!("request {number}")]);
        assert_eq!((sdk.0, sdk.2), (request.0, request.1));
        assert_eq!(ids(&spans[&format!("inner {number}")]).2, sdk.1);
    }
}

/// A thread may end within a span, when opentelemetry's memory of the thread is gone.
#[test]
fn a_thread_ends_within_spans() {
    struct AtTheEnd(Span);
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            self.0.set_parent(request()).unwrap();
            assert_eq!(tenant(&self.0.context()), Some("acme"));
        }
    }
    thread_local! {
        static LAST: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) };
    }
    let spans = spans(|| {
        let dispatch = dispatcher::get_default(Clone::clone);
        for is_first in [true, false] {
            let dispatch = dispatch.clone();
            let run = move || {
                let start = || tracing::info_span!("span", otel.kind = "server");
                let set = || {
                    let span = dispatcher::with_default(&dispatch, start);
                    span.set_attribute("otel.name", format!("span {is_first}"));
                    LAST.set(Some(AtTheEnd(span)));
                };
                if is_first {
                    set();
                }
                mem::forget(dispatcher::with_default(&dispatch, start).entered());
                if !is_first {
                    set();
                }
            };
            thread::spawn(run).join().unwrap();
        }
    });
    for name in ["span true", "span false"] {
        assert_eq!((trace_id(&spans[name]), span_id(&spans[name].parent_span_id)), (TRACE, PARENT));
    }
}

/// A value in a context may start spans when it is dropped.
#[test]
fn destructors_of_values_may_start_spans() {
    struct Value(Sender<()>);
    impl Drop for Value {
        fn drop(&mut self) {
            let _entered = tracing::info_span!("in drop", otel.kind = "server").entered();
            let _sent = self.0.send(());
        }
    }
    let (sender, receiver) = channel();
    let spans = spans(|| {
        let attached = Context::current_with_value(Value(sender)).attach();
        let span = tracing::info_span!("span", otel.kind = "server").entered();
        drop(attached);
        drop(span);
        receiver.try_recv().unwrap();
    });
    assert!(spans.contains_key("in drop"));
}

/// A context that outlives its span keeps neither the span nor the pipeline.
#[test]
fn a_context_does_not_keep_the_pipeline() {
    let (requests, guard) = pipeline(|builder| builder);
    let context = in_subscriber(guard.pipeline(), || {
        let span = tracing::info_span!("span", otel.kind = "server");
        // The span is never closed.
        dispatcher::get_default(|dispatch| dispatch.clone_span(&span.id().unwrap()));
        span.context()
    });
    assert!(context.span().is_recording());
    drop(guard);
    drop(requests);
    assert!(!context.span().is_recording());
    context.span().set_attribute(KeyValue::new("late", 1));
}

#[test]
fn suppressed_telemetry_is_not_recorded() {
    let spans = spans(|| {
        let _around = tracing::info_span!("around").entered();
        let suppressed = Context::enter_telemetry_suppressed_scope();
        tracing::info_span!("exporter").in_scope(|| drop(tracing::info_span!("its request")));
        drop(suppressed);
        drop(tracing::info_span!("after"));
    });
    let mut names: Vec<_> = spans.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["after", "around"]);
}
