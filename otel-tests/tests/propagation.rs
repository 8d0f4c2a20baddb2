//! Spans with parents in other processes, and their headers, read by the official schema's
//! generated code.

use std::collections::HashMap;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::TraceContextExt as _;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use otel_tests::{Requests, serve};
use tach_pipeline::{
    Builder, Guard, Otlp, Pipeline, Sampling, Signal, Sink, SpanExt as _, Tail, TraceContext,
};
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;

const LONG: Duration = Duration::from_secs(60);
const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE: u128 = 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c;
const PARENT: u64 = 0xb7ad_6b71_6920_3331;
/// OTLP's flags: sampled, and what is known of the parent.
const LOCAL: u32 = 0x101;
const REMOTE: u32 = 0x301;

fn parent() -> TraceContext {
    TraceContext::from_headers(TRACEPARENT, "vendor=1, b=2").unwrap()
}

fn pipeline(with: impl FnOnce(Builder) -> Builder) -> (Requests, Guard) {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG);
    let pipeline =
        Pipeline::builder().filter("trace").sink(Sink::otlp(otlp.signals([Signal::Traces])));
    (requests, with(pipeline).build().unwrap())
}

/// Runs `f` with a subscriber that has the pipeline as a layer, and returns the spans by name.
fn spans(f: impl FnOnce()) -> HashMap<String, Span> {
    spans_of(|builder| builder, f)
}

fn spans_of(with: impl FnOnce(Builder) -> Builder, f: impl FnOnce()) -> HashMap<String, Span> {
    let (requests, pipeline) = pipeline(with);
    with_default(tracing_subscriber::registry().with(pipeline.clone()), f);
    received(&requests, &pipeline)
}

fn received(requests: &Requests, pipeline: &Pipeline) -> HashMap<String, Span> {
    pipeline.flush(LONG).unwrap();
    let requests =
        requests.try_iter().map(|(_, body)| otel_tests::decode::<ExportTraceServiceRequest>(&body));
    let spans = requests.flat_map(|request| request.resource_spans);
    let spans = spans.flat_map(|spans| spans.scope_spans).flat_map(|spans| spans.spans);
    spans.map(|span| (span.name.clone(), span)).collect()
}

fn trace(span: &Span) -> u128 {
    u128::from_be_bytes(span.trace_id[..].try_into().unwrap())
}

fn id(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap())
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
    assert_eq!((trace(root), id(&root.parent_span_id), root.flags), (TRACE, PARENT, REMOTE));
    assert_eq!((trace(child), &child.parent_span_id), (TRACE, &root.span_id));
    assert_eq!((trace(grandchild), &grandchild.parent_span_id), (TRACE, &child.span_id));
    assert_eq!((child.flags, grandchild.flags), (LOCAL, LOCAL));
    for span in [root, child, grandchild] {
        assert_eq!(span.trace_state, "vendor=1,b=2");
        assert!(span.attributes.iter().all(|attribute| !attribute.key.starts_with("otel.")));
    }
    let sent = sent.unwrap();
    assert_eq!((sent.trace_id(), sent.span_id()), (TRACE, id(&child.span_id)));
    assert_eq!((sent.is_sampled(), sent.tracestate()), (true, "vendor=1,b=2"));
    let other = &spans["other"];
    assert_ne!(trace(other), TRACE);
    assert_eq!((other.flags, &*other.trace_state), (LOCAL, ""));
    assert!(other.parent_span_id.is_empty());
}

/// As if it were set later, but the span has all of its fields though the ratio leaves it out.
#[test]
fn a_span_may_start_with_its_remote_parent() {
    let unsampled = TraceContext::from_headers(&TRACEPARENT.replace("-01", "-00"), "").unwrap();
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
            let _panicked = std::panic::catch_unwind(|| parent().in_scope(|| panic!("within")));
            drop(tracing::info_span!("by the ratio"));
        },
    );
    let (root, child) = (&spans["root"], &spans["child"]);
    assert_eq!(spans.len(), 2);
    assert_eq!((trace(root), id(&root.parent_span_id), root.flags), (TRACE, PARENT, REMOTE));
    assert_eq!(root.trace_state, "vendor=1,b=2");
    assert!(root.attributes.iter().any(|attribute| attribute.key == "number"));
    // The parent in this process is nearer.
    assert_eq!((trace(child), &child.parent_span_id), (TRACE, &root.span_id));
    let [of_root, of_unsampled] = &contexts[..] else { panic!("{contexts:?}") };
    assert_eq!((of_root.trace_id(), of_root.tracestate()), (TRACE, "vendor=1,b=2"));
    assert_eq!((of_unsampled.trace_id(), of_unsampled.is_sampled()), (TRACE, false));
}

/// A handler may set the parent of the span that it is called in.
#[test]
fn the_parent_of_an_entered_span_is_set_in_place_of_its_own() {
    let spans = spans(|| {
        let _outer = tracing::info_span!("outer").entered();
        let _root = tracing::info_span!("root").entered();
        drop(tracing::info_span!("before"));
        assert!(tracing::Span::current().set_remote_parent(&parent()));
        let unsampled = TRACEPARENT.replace("9c", "9d");
        let other = TraceContext::from_headers(&unsampled, "").unwrap();
        assert!(!tracing::Span::current().set_remote_parent(&other), "it is set once");
        drop(tracing::info_span!("after"));
    });
    let root = &spans["root"];
    assert_eq!((trace(root), id(&root.parent_span_id)), (TRACE, PARENT));
    assert_eq!((trace(&spans["after"]), &spans["after"].parent_span_id), (TRACE, &root.span_id));
    assert_eq!(trace(&spans["before"]), trace(&spans["outer"]));
    assert_ne!(trace(&spans["outer"]), TRACE);
    assert_eq!(spans["outer"].flags, LOCAL);
}

/// Without a `tracestate` of its own, a remote parent's trace has none.
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
    assert_eq!((trace(inner), &*inner.trace_state), (TRACE + 1, ""));
    assert_eq!((trace(outer), &*outer.trace_state), (TRACE, "vendor=1,b=2"));
}

#[test]
fn links_attributes_and_the_status_are_set_by_call() {
    let spans = spans(|| {
        let span = tracing::info_span!("span", declared = 1);
        span.add_link(&parent());
        span.add_link(&TraceContext::from_headers(&TRACEPARENT.replace("-01", "-00"), "").unwrap());
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
        assert_eq!((id(&link.span_id), &*link.trace_id), (PARENT, &TRACE.to_be_bytes()[..]));
        assert!(link.attributes.is_empty());
    }
    assert_eq!((first.flags, &*first.trace_state), (REMOTE, "vendor=1,b=2"));
    assert_eq!((second.flags, &*second.trace_state), (0x300, ""));
    assert_eq!((span.flags, &*span.trace_state), (LOCAL, ""));
    let value = |key: &str| {
        let mut values = span.attributes.iter().filter(|attribute| attribute.key == key);
        let value = values.next().unwrap().value.clone().unwrap().value.unwrap();
        assert_eq!(values.next(), None);
        value
    };
    assert_eq!(value("text"), Value::StringValue("value".to_owned()));
    assert_eq!(value("declared"), Value::IntValue(2));
    assert_eq!(value("flag"), Value::BoolValue(true));
    let status = |name: &str| {
        let status = spans[name].status.clone().unwrap();
        (status.code, status.message)
    };
    assert_eq!(status("span"), (2, "no room".to_owned()));
    assert_eq!((status("ok"), status("failed")), ((1, String::new()), (2, String::new())));
}

/// Whatever road led the pipeline into the subscriber.
#[test]
fn the_pipeline_is_found_as_any_layer() {
    let (requests, pipeline) = pipeline(|builder| builder);
    let set = |name: &'static str| {
        let span = tracing::info_span!("span", otel.name = name);
        assert!(span.set_remote_parent(&parent()), "{name}");
    };
    let registry = tracing_subscriber::registry;
    with_default(registry().with(pipeline.layer()), || set("filtered"));
    let filtered = tracing_subscriber::fmt::layer().with_writer(std::io::sink);
    with_default(registry().with(pipeline.clone()).with(filtered), || set("inner"));
    let other = tracing_opentelemetry::layer();
    with_default(registry().with(other).with(pipeline.layer()), || set("outer"));
    let boxed: Box<dyn tracing_subscriber::Layer<_> + Send + Sync> = Box::new(pipeline.clone());
    with_default(registry().with(boxed), || set("boxed"));
    let spans = received(&requests, &pipeline);
    assert_eq!(spans.len(), 4);
    assert!(spans.values().all(|span| trace(span) == TRACE));
    // Without a pipeline, or with a disabled span, nothing happens.
    with_default(registry(), || {
        let span = tracing::info_span!("span");
        assert!(!span.set_remote_parent(&parent()) && span.trace_context().is_none());
    });
    let none = tracing::Span::none();
    assert!(!none.set_remote_parent(&parent()) && none.trace_context().is_none());
    let silent = Pipeline::builder().build().unwrap();
    with_default(registry().with(silent.clone()), || {
        let span = tracing::info_span!("span");
        assert!(!span.set_remote_parent(&parent()) && span.trace_context().is_none());
        span.set_attribute("key", 1);
        span.add_link(&parent());
    });
}

/// The parent is set by one thread, while others start children: each child is whole.
#[test]
fn children_see_one_of_the_two_traces() {
    const ROUNDS: u64 = 300;
    let (requests, pipeline) = pipeline(|builder| builder);
    let dispatch = tracing::Dispatch::new(tracing_subscriber::registry().with(pipeline.clone()));
    let within = |f: &dyn Fn()| tracing::dispatcher::with_default(&dispatch, f);
    let (sender, receiver) = channel::<tracing::Span>();
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
    let spans = received(&requests, &pipeline);
    assert_eq!(spans.values().filter(|span| span.name.starts_with("child ")).count(), 300);
    let roots: HashMap<_, _> = spans
        .values()
        .filter(|span| span.name.starts_with("root"))
        .map(|span| (id(&span.span_id), trace(span)))
        .collect();
    assert_eq!(roots.len() as u64, ROUNDS);
    for child in spans.values().filter(|span| span.name.starts_with("child ")) {
        let (own, moved) = (trace(child), roots[&id(&child.parent_span_id)]);
        assert!((1..=u128::from(ROUNDS)).contains(&moved));
        // A random trace has bits in both halves; a mixture has none in one of them.
        assert!(own == moved || (own >> 64 != 0 && own % (1 << 64) > u128::from(ROUNDS)));
    }
}

fn root_span(dispatch: &tracing::Dispatch) -> tracing::Span {
    tracing::dispatcher::with_default(dispatch, || {
        let root = tracing::info_span!("root", otel.name = tracing::field::Empty);
        let name = format!("root {:x}", root.trace_context().unwrap().span_id());
        root.record("otel.name", &*name);
        root
    })
}

/// A parent in another process decides, whatever was decided about the span without it.
#[test]
fn the_remote_parent_decides_about_sampling() {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG);
    let sampling = Sampling::ratio(0.0).span("was sampled", 1.0).span("stays", 1.0);
    let builder =
        Pipeline::builder().sampling(sampling).sink(Sink::otlp(otlp.signals([Signal::Traces])));
    let pipeline = builder.build().unwrap();
    let unsampled = TraceContext::from_headers(&TRACEPARENT.replace("-01", "-00"), "").unwrap();
    with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
        let is_sent = |span: tracing::Span, parent: &TraceContext| {
            assert!(span.set_remote_parent(parent));
            span.in_scope(|| {
                tracing::info!("event");
                tracing::info_span!("child").set_attribute("otel.name", "child of it");
            });
            span.set_attribute("late", true);
            span.trace_context().unwrap().is_sampled()
        };
        assert!(!is_sent(tracing::info_span!("was sampled"), &unsampled));
        assert!(!is_sent(tracing::info_span!("was not"), &unsampled));
        assert!(is_sent(tracing::info_span!("stays", early = 1), &parent()));
        assert!(is_sent(tracing::info_span!("is sampled", early = 1), &parent()));
    });
    let spans = received(&requests, &pipeline);
    let mut names: Vec<_> = spans.keys().map(|name| &**name).collect();
    names.sort_unstable();
    assert_eq!(names, ["child of it", "is sampled", "stays"]);
    for (name, attributes) in [("stays", vec!["early", "late"]), ("is sampled", vec!["late"])] {
        let span = &spans[name];
        assert_eq!((trace(span), id(&span.parent_span_id), span.flags), (TRACE, PARENT, REMOTE));
        let keys = span.attributes.iter().map(|attribute| &*attribute.key);
        let own: Vec<_> = keys.filter(|key| !key.contains('.')).collect();
        assert_eq!((own, span.events.len()), (attributes, 1));
    }
}

/// A span that has moved to a trace of another process is the root of its part of that trace.
#[test]
fn the_tail_decides_about_a_moved_span_by_itself() {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(Duration::from_millis(1));
    let tail = Tail::ratio(0.0).max_delay(10 * LONG);
    let pipeline = Pipeline::builder()
        .tail(tail)
        .sink(Sink::otlp(otlp.signals([Signal::Traces])))
        .build()
        .unwrap();
    with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
        let outer = tracing::info_span!("outer");
        let moved = outer.in_scope(|| tracing::info_span!("moved"));
        assert!(moved.set_remote_parent(&parent()));
        moved.set_status(Err("failed"));
        drop(moved);
        // It comes without a flush, and although the other trace is open.
        let (path, body) = requests.recv_timeout(LONG).unwrap();
        assert_eq!(path, "/v1/traces");
        let request = otel_tests::decode::<ExportTraceServiceRequest>(&body);
        let span = &request.resource_spans[0].scope_spans[0].spans[0];
        assert_eq!((&*span.name, trace(span)), ("moved", TRACE));
        drop(outer);
    });
    assert!(received(&requests, &pipeline).is_empty());
}

/// The SDK's propagator reads what a span gives, and a span what the propagator gives.
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
        // In: as another service, which has the SDK, sends them.
        let sent = propagator.extract(&headers(&parent()));
        let mut received = HashMap::new();
        propagator.inject_context(&sent, &mut received);
        let received =
            TraceContext::from_headers(&received["traceparent"], &received["tracestate"]).unwrap();
        assert_eq!(received, parent());
        assert!(span.set_remote_parent(&received));
        // Out: as it receives them.
        let own = span.trace_context().unwrap();
        let context = propagator.extract(&headers(&own));
        let context = context.span().span_context().clone();
        assert!(context.is_remote() && context.is_sampled());
        assert_eq!(context.trace_id().to_bytes(), own.trace_id().to_be_bytes());
        assert_eq!(context.span_id().to_bytes(), own.span_id().to_be_bytes());
        assert_eq!(context.trace_state().header(), "vendor=1,b=2");
    });
    assert_eq!(trace(&spans["span"]), TRACE);
}

/// Whichever way a parent is set, a stranger decides about nothing but the ids in a link.
#[test]
fn a_public_endpoint_begins_traces() {
    use opentelemetry::Context;
    use tach_pipeline::{OpenTelemetrySpanExt, SpanExt};

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
    let roads: [&dyn Fn() -> tracing::Span; 4] =
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
        assert_ne!(trace(root), TRACE, "{number}");
        assert!(root.parent_span_id.is_empty() && root.trace_state.is_empty(), "{number}");
        assert_eq!((trace(child), &child.parent_span_id), (trace(root), &root.span_id));
        let [link] = &root.links[..] else { panic!("{number}: {:?}", root.links) };
        let linked = u128::from_be_bytes(link.trace_id[..].try_into().unwrap());
        assert_eq!((linked, id(&link.span_id)), (TRACE, PARENT), "{number}");
        assert_eq!(&*link.trace_state, "", "{number}");
        // The caller's sampled flag decides nothing, and neither does its absence.
        let never = |builder: Builder| builder.public_endpoint().sampling(Sampling::ratio(0.0));
        let spans = spans_of(never, || (0..1_000).for_each(|_| start().in_scope(|| {})));
        assert!(spans.is_empty(), "{number}: {}", spans.len());
    }
    let unsampled = TraceContext::from_headers(&TRACEPARENT.replace("-01", "-00"), "").unwrap();
    let spans = spans_of(Builder::public_endpoint, || drop(unsampled.in_scope(root)));
    assert_eq!(spans.len(), 1);
    // A parent is set once, also if it becomes a link.
    let spans = spans_of(Builder::public_endpoint, || {
        let span = set();
        assert!(!span.set_remote_parent(&stranger));
    });
    assert_eq!(spans["root"].links.len(), 1);
    // A span of this process is a parent nevertheless.
    let spans = spans_of(Builder::public_endpoint, || {
        let parent = tracing::info_span!("parent", otel.kind = "server");
        let context: Context = OpenTelemetrySpanExt::context(&parent);
        let _attached = context.attach();
        drop(root());
    });
    assert_eq!(spans["root"].parent_span_id, spans["parent"].span_id);
}
