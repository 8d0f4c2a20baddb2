//! Spans with parents in other processes, and their headers.

use std::collections::HashMap;
use std::io;
use std::panic::catch_unwind;
use std::sync::mpsc::channel;
use std::thread;

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use tach_pipeline::{Pipeline, Sampling, SpanExt as _, TraceContext};
use tracing::subscriber::with_default;
use tracing::{Dispatch, Span, dispatcher};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Layer, fmt, registry};

use super::received::{self, span_id, text, trace_id, value};
use super::{pipeline, spans, spans_of};
use crate::support::{LONG, in_subscriber, subscriber};

pub(super) const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
pub(super) const TRACE: u128 = 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c;
pub(super) const PARENT: u64 = 0xb7ad_6b71_6920_3331;
/// OTLP's flags of a sampled span whose parent is in this process, if there is a parent.
pub(super) const LOCAL: u32 = 0x101;
/// The same for a parent in another process.
pub(super) const REMOTE: u32 = 0x301;

pub(super) fn unsampled() -> TraceContext {
    TraceContext::from_headers(&TRACEPARENT.replace("-01", "-00"), "").unwrap()
}

pub(super) fn parent() -> TraceContext {
    TraceContext::from_headers(TRACEPARENT, "vendor=1, b=2").unwrap()
}

/// W3C's flags are the lowest eight bits of OTLP's: the flag of random ids belongs to the trace.
#[test]
fn spans_have_the_flag_of_random_ids_of_their_trace() {
    let random = TraceContext::from_headers(&TRACEPARENT.replace("-01", "-03"), "").unwrap();
    let spans = spans(|| {
        let root = tracing::info_span!("root");
        assert!(root.set_remote_parent(&random));
        root.in_scope(|| drop(tracing::info_span!("child")));
        drop(random.in_scope(|| tracing::info_span!("scoped", value = 1)));
        let other = tracing::info_span!("other");
        other.add_link(&random);
    });
    for (name, flags) in [("root", 0x303), ("scoped", 0x303), ("child", 0x103), ("other", LOCAL)] {
        let span = &spans[name];
        assert_eq!(span.flags, flags, "{name}");
        assert!(span.attributes.iter().all(|attribute| !attribute.key.starts_with("otel.")));
    }
    let [link] = &spans["other"].links[..] else { panic!("one link is added") };
    assert_eq!((link.flags, &link.attributes[..]), (0x303, &[][..]));
}

#[test]
fn a_span_continues_the_trace_of_the_headers() {
    let mut sent = None;
    let spans = spans(|| {
        let root = tracing::info_span!("root");
        assert!(root.set_remote_parent(&parent()));
        root.in_scope(|| {
            let child = tracing::info_span!("child");
            sent = child.trace_context();
            child.in_scope(|| drop(tracing::info_span!("grandchild")));
        });
        drop(tracing::info_span!("other"));
    });
    let (root, child, grandchild) = (&spans["root"], &spans["child"], &spans["grandchild"]);
    assert_eq!(
        (trace_id(root), span_id(&root.parent_span_id), root.flags),
        (TRACE, PARENT, REMOTE)
    );
    assert_eq!((trace_id(child), &child.parent_span_id), (TRACE, &root.span_id));
    assert_eq!((trace_id(grandchild), &grandchild.parent_span_id), (TRACE, &child.span_id));
    assert_eq!((child.flags, grandchild.flags), (LOCAL, LOCAL));
    for span in [root, child, grandchild] {
        assert_eq!(span.trace_state, "vendor=1,b=2");
        assert!(span.attributes.iter().all(|attribute| !attribute.key.starts_with("otel.")));
    }
    let sent = sent.unwrap();
    assert_eq!((sent.trace_id(), sent.span_id()), (TRACE, span_id(&child.span_id)));
    assert_eq!((sent.is_sampled(), sent.tracestate()), (true, "vendor=1,b=2"));
    let other = &spans["other"];
    assert_ne!(trace_id(other), TRACE);
    assert_eq!((other.flags, &*other.trace_state), (LOCAL, ""));
    assert!(other.parent_span_id.is_empty());
}

/// The decision is the remote parent's from the start, so no field is left out.
#[test]
fn a_span_may_start_with_its_remote_parent() {
    let unsampled = unsampled();
    let mut contexts = Vec::new();
    let spans = spans_of(
        |builder| builder.sampling(Sampling::ratio(0.0)),
        || {
            let root = parent().in_scope(|| tracing::info_span!("root", number = 1));
            contexts.extend(root.trace_context());
            let child = root.in_scope(|| unsampled.in_scope(|| tracing::info_span!("child")));
            drop(child);
            let none = unsampled.in_scope(|| tracing::info_span!("unsampled"));
            contexts.extend(none.trace_context());
            let _panicked = catch_unwind(|| parent().in_scope(|| panic!("within")));
            drop(tracing::info_span!("by the ratio"));
        },
    );
    let (root, child) = (&spans["root"], &spans["child"]);
    assert_eq!(spans.len(), 2);
    assert_eq!(
        (trace_id(root), span_id(&root.parent_span_id), root.flags),
        (TRACE, PARENT, REMOTE)
    );
    assert_eq!(root.trace_state, "vendor=1,b=2");
    assert!(root.attributes.iter().any(|attribute| attribute.key == "number"));
    // The parent in this process takes precedence.
    assert_eq!((trace_id(child), &child.parent_span_id), (TRACE, &root.span_id));
    let [of_root, of_unsampled] = &contexts[..] else { panic!("{contexts:?}") };
    assert_eq!((of_root.trace_id(), of_root.tracestate()), (TRACE, "vendor=1,b=2"));
    assert_eq!((of_unsampled.trace_id(), of_unsampled.is_sampled()), (TRACE, false));
}

/// A handler sets the parent of the span that the middleware has entered.
#[test]
fn the_parent_of_an_entered_span_is_set_in_place_of_its_own() {
    let spans = spans(|| {
        let _outer = tracing::info_span!("outer").entered();
        let _root = tracing::info_span!("root").entered();
        drop(tracing::info_span!("before"));
        assert!(Span::current().set_remote_parent(&parent()));
        let other = TRACEPARENT.replace("9c", "9d");
        let other = TraceContext::from_headers(&other, "").unwrap();
        assert!(!Span::current().set_remote_parent(&other), "it is set once");
        drop(tracing::info_span!("after"));
    });
    let root = &spans["root"];
    assert_eq!((trace_id(root), span_id(&root.parent_span_id)), (TRACE, PARENT));
    assert_eq!((trace_id(&spans["after"]), &spans["after"].parent_span_id), (TRACE, &root.span_id));
    assert_eq!(trace_id(&spans["before"]), trace_id(&spans["outer"]));
    assert_ne!(trace_id(&spans["outer"]), TRACE);
    assert_eq!(spans["outer"].flags, LOCAL);
}

/// A span does not keep the `tracestate` of the trace that it leaves.
#[test]
fn a_tracestate_is_its_trace_s() {
    let spans = spans(|| {
        let outer = tracing::info_span!("outer");
        outer.set_remote_parent(&parent());
        let inner = outer.in_scope(|| tracing::info_span!("inner"));
        let other = TRACEPARENT.replace("9c-", "9d-");
        let other = TraceContext::from_headers(&other, "").unwrap();
        assert!(inner.set_remote_parent(&other));
        assert_eq!(inner.trace_context().unwrap().tracestate(), "");
        assert_eq!(outer.trace_context().unwrap().tracestate(), "vendor=1,b=2");
    });
    let (inner, outer) = (&spans["inner"], &spans["outer"]);
    assert_eq!((trace_id(inner), &*inner.trace_state), (TRACE + 1, ""));
    assert_eq!((trace_id(outer), &*outer.trace_state), (TRACE, "vendor=1,b=2"));
}

#[test]
fn links_attributes_and_the_status_are_set_by_call() {
    let spans = spans(|| {
        let span = tracing::info_span!("span", declared = 1);
        span.add_link(&parent());
        span.add_link(&unsampled());
        span.set_attribute("text", "value");
        span.set_attribute("declared", 2);
        span.set_attribute("flag", true);
        span.set_status(Err("no room"));
        let ok = tracing::info_span!("ok");
        ok.set_status(Err("no room"));
        ok.set_status(Ok(()));
        tracing::info_span!("failed").set_status(Err(""));
    });
    let span = &spans["span"];
    let [first, second] = &span.links[..] else { panic!("{:?}", span.links) };
    for link in [first, second] {
        assert_eq!((span_id(&link.span_id), &*link.trace_id), (PARENT, &TRACE.to_be_bytes()[..]));
        assert!(link.attributes.is_empty());
    }
    assert_eq!((first.flags, &*first.trace_state), (REMOTE, "vendor=1,b=2"));
    assert_eq!((second.flags, &*second.trace_state), (0x300, ""));
    assert_eq!((span.flags, &*span.trace_state), (LOCAL, ""));
    let value = |key| value(&span.attributes, key);
    assert_eq!(value("text"), text("value"));
    assert_eq!(value("declared"), Value::IntValue(2));
    assert_eq!(value("flag"), Value::BoolValue(true));
    let status = |name: &str| {
        let status = spans[name].status.clone().unwrap();
        (status.code, status.message)
    };
    assert_eq!(status("span"), (2, "no room".to_owned()));
    assert_eq!((status("ok"), status("failed")), ((1, String::new()), (2, String::new())));
}

/// The pipeline is found as a layer, a filtered layer, an inner layer and a boxed layer.
#[test]
fn the_pipeline_is_found_as_any_layer() {
    let (requests, guard) = pipeline(|builder| builder);
    let set = |name: &'static str| {
        let span = tracing::info_span!("span", otel.name = name);
        assert!(span.set_remote_parent(&parent()), "{name}");
    };
    with_default(registry().with(guard.pipeline().layer()), || set("filtered"));
    let filtered = fmt::layer().with_writer(io::sink);
    with_default(registry().with(guard.pipeline().clone()).with(filtered), || set("inner"));
    let other = tracing_opentelemetry::layer();
    with_default(registry().with(other).with(guard.pipeline().layer()), || set("outer"));
    let boxed: Box<dyn Layer<_> + Send + Sync> = Box::new(guard.pipeline().clone());
    with_default(registry().with(boxed), || set("boxed"));
    guard.pipeline().flush(LONG).unwrap();
    let spans = received::by_name(&requests);
    assert_eq!(spans.len(), 4);
    assert!(spans.values().all(|span| trace_id(span) == TRACE));
    // Without a pipeline, or with a disabled span, nothing happens.
    with_default(registry(), || {
        let span = tracing::info_span!("span");
        assert!(!span.set_remote_parent(&parent()) && span.trace_context().is_none());
    });
    let none = Span::none();
    assert!(!none.set_remote_parent(&parent()) && none.trace_context().is_none());
    let silent = Pipeline::builder().build().unwrap();
    in_subscriber(silent.pipeline(), || {
        let span = tracing::info_span!("span");
        assert!(span.trace_context().is_none() && span.set_remote_parent(&parent()));
        assert_eq!(span.trace_context(), Some(parent()));
        span.set_attribute("key", 1);
        span.add_link(&parent());
    });
}

/// While a thread sets the parent of a span, another thread starts children of that span. Each
/// child has a whole trace id, of the trace before or after.
#[test]
fn children_see_one_of_the_two_traces() {
    const ROUNDS: u64 = 300;
    let (requests, guard) = pipeline(|builder| builder);
    let dispatch = subscriber(guard.pipeline());
    let within = |f: &dyn Fn()| dispatcher::with_default(&dispatch, f);
    let (sender, receiver) = channel::<Span>();
    thread::scope(|scope| {
        scope.spawn(|| {
            for root in receiver {
                within(&|| drop(tracing::info_span!(parent: &root, "child", otel.name = "")));
                within(&|| {
                    let child = tracing::info_span!(parent: &root, "child");
                    let name = format!("child {:x}", root.trace_context().unwrap().span_id());
                    child.set_attribute("otel.name", &*name);
                });
            }
        });
        for number in 1..=ROUNDS {
            let root = root_span(&dispatch);
            sender.send(root.clone()).unwrap();
            let header = format!("00-{number:032x}-00000000000000ff-01");
            assert!(root.set_remote_parent(&TraceContext::from_headers(&header, "").unwrap()));
        }
        drop(sender);
    });
    guard.pipeline().flush(LONG).unwrap();
    let spans = received::by_name(&requests);
    assert_eq!(spans.values().filter(|span| span.name.starts_with("child ")).count(), 300);
    let roots: HashMap<_, _> = spans
        .values()
        .filter(|span| span.name.starts_with("root"))
        .map(|span| (span_id(&span.span_id), trace_id(span)))
        .collect();
    assert_eq!(roots.len() as u64, ROUNDS);
    for child in spans.values().filter(|span| span.name.starts_with("child ")) {
        let (own, moved) = (trace_id(child), roots[&span_id(&child.parent_span_id)]);
        assert!((1..=u128::from(ROUNDS)).contains(&moved));
        // A random id has bits in both halves. A mixture of the two ids has no bits in one half.
        assert!(own == moved || (own >> 64 != 0 && own % (1 << 64) > u128::from(ROUNDS)));
    }
}

fn root_span(dispatch: &Dispatch) -> Span {
    dispatcher::with_default(dispatch, || {
        let root = tracing::info_span!("root", otel.name = tracing::field::Empty);
        let name = format!("root {:x}", root.trace_context().unwrap().span_id());
        root.record("otel.name", &*name);
        root
    })
}
