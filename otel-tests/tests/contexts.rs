//! Spans of the pipeline and the `Context` of `opentelemetry`, with the real SDK on the other side.

use std::collections::HashMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::baggage::BaggageExt as _;
use opentelemetry::propagation::{TextMapCompositePropagator, TextMapPropagator};
use opentelemetry::trace::{
    FutureExt as _, SpanContext, Status, TraceContextExt as _, Tracer as _, TracerProvider as _,
    get_active_span,
};
use opentelemetry::{Array, Context, KeyValue, StringValue};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, SpanData, SpanExporter};
use otel_tests::{Requests, serve};
use tach_pipeline::{
    Builder, Guard, OpenTelemetrySpanExt as _, Otlp, Pipeline, Sampling, Signal, Sink, Tail,
};
use tracing::Instrument as _;
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;

const LONG: Duration = Duration::from_secs(60);
const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE: u128 = 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c;
const PARENT: u64 = 0xb7ad_6b71_6920_3331;
/// OTLP's flags: sampled, and what is known of the parent.
const LOCAL: u32 = 0x101;
const REMOTE: u32 = 0x301;

fn propagator() -> impl TextMapPropagator {
    TextMapCompositePropagator::new(vec![
        Box::new(TraceContextPropagator::new()),
        Box::new(BaggagePropagator::new()),
    ])
}

/// A request's headers, as the propagators have read them.
fn received(headers: &[(&str, &str)]) -> Context {
    let headers: HashMap<_, _> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    propagator().extract_with_context(&Context::new(), &headers)
}

fn request() -> Context {
    let state = ("tracestate", "vendor=1,b=2");
    received(&[("traceparent", TRACEPARENT), state, ("baggage", "tenant=acme,tier=gold")])
}

fn headers(context: &Context) -> HashMap<String, String> {
    let mut headers = HashMap::new();
    propagator().inject_context(context, &mut headers);
    headers
}

fn tenant(context: &Context) -> Option<&str> {
    Some(context.baggage().get("tenant")?.as_str())
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
    sent(&requests, &pipeline)
}

fn sent(requests: &Requests, pipeline: &Pipeline) -> HashMap<String, Span> {
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
    u64::from_be_bytes(bytes.try_into().unwrap_or_default())
}

/// The ids of a span and its parent's.
fn ids(span: &Span) -> (u128, u64, u64) {
    (trace(span), id(&span.span_id), id(&span.parent_span_id))
}

fn ids_of(context: &SpanContext) -> (u128, u64) {
    let span = u64::from_be_bytes(context.span_id().to_bytes());
    (u128::from_be_bytes(context.trace_id().to_bytes()), span)
}

/// The ids of the current span of `opentelemetry`, or zeros.
fn current() -> (u128, u64) {
    get_active_span(|span| ids_of(span.span_context()))
}

/// A tracer of the SDK, and the spans that it exports.
struct Sdk {
    exported: Exported,
    tracer: SdkTracer,
}

#[derive(Debug, Clone, Default)]
struct Exported(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Exported {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().unwrap().extend(batch);
        Ok(())
    }
}

impl Sdk {
    fn new() -> Self {
        let exported = Exported::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exported.clone()).build();
        Self { exported, tracer: provider.tracer("sdk") }
    }

    fn spans(&self) -> HashMap<String, SpanData> {
        let spans = self.exported.0.lock().unwrap();
        spans.iter().map(|span| (span.name.to_string(), span.clone())).collect()
    }
}

fn ids_of_data(span: &SpanData) -> (u128, u64, u64) {
    let (trace, own) = ids_of(&span.span_context);
    (trace, own, u64::from_be_bytes(span.parent_span_id.to_bytes()))
}

#[test]
fn a_request_s_headers_go_in_and_out_with_baggage() {
    let mut out = Vec::new();
    let spans = spans(|| {
        let root = tracing::info_span!("root", otel.kind = "server");
        root.set_parent(request()).unwrap();
        root.in_scope(|| {
            let child = tracing::info_span!("child");
            // A child without baggage's context around, as in another thread.
            let other = thread::scope(|scope| {
                let dispatch = tracing::dispatcher::get_default(Clone::clone);
                let child = &child;
                let start = move || {
                    let _default = tracing::dispatcher::set_default(&dispatch);
                    tracing::info_span!(parent: child, "other")
                };
                scope.spawn(start).join().unwrap()
            });
            out.extend([&root, &child, &other].map(|span| headers(&span.context())));
        });
        let none = tracing::info_span!("none");
        assert_eq!(none.context().baggage().len(), 0);
    });
    assert_eq!((trace(&spans["root"]), id(&spans["root"].parent_span_id)), (TRACE, PARENT));
    assert_eq!((spans["root"].flags, &*spans["root"].trace_state), (REMOTE, "vendor=1,b=2"));
    for (name, headers) in ["root", "child", "other"].iter().zip(&out) {
        let (trace, span, _) = ids(&spans[*name]);
        assert_eq!(headers["traceparent"], format!("00-{trace:032x}-{span:016x}-01"), "{name}");
        assert_eq!((trace, &*headers["tracestate"]), (TRACE, "vendor=1,b=2"));
        let mut baggage: Vec<_> = headers["baggage"].split(',').collect();
        baggage.sort_unstable();
        assert_eq!(baggage, ["tenant=acme", "tier=gold"], "{name}");
    }
    assert_ne!(trace(&spans["none"]), TRACE);
}

#[test]
fn a_parent_that_is_not_sampled_decides() {
    let unsampled = received(&[("traceparent", &TRACEPARENT.replace("-01", "-00"))]);
    let sampled = received(&[("traceparent", TRACEPARENT)]);
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
    assert_eq!((trace(&spans["sampled"]), spans["sampled"].flags), (TRACE, REMOTE));
}

#[test]
fn a_span_s_parent_is_the_current_one_of_the_sdk() {
    let sdk = Sdk::new();
    let spans = spans(|| {
        sdk.tracer.in_span("sdk", |_| {
            let outer = tracing::info_span!("outer").entered();
            drop(tracing::info_span!("inner"));
            // It was started in the thread's innermost span.
            sdk.tracer.in_span("between", |_| drop(tracing::info_span!("innermost")));
            drop(tracing::info_span!("after"));
            drop(outer);
            drop(tracing::info_span!(parent: None, "root"));
        });
        drop(tracing::info_span!("other"));
    });
    let of_sdk = sdk.spans();
    let (trace_id, sdk_id, _) = ids_of_data(&of_sdk["sdk"]);
    let (_, between, _) = ids_of_data(&of_sdk["between"]);
    let outer = ids(&spans["outer"]);
    assert_eq!((outer.0, outer.2, spans["outer"].flags), (trace_id, sdk_id, LOCAL));
    for name in ["inner", "after"] {
        assert_eq!((trace(&spans[name]), ids(&spans[name]).2), (trace_id, outer.1), "{name}");
    }
    assert_eq!((trace(&spans["innermost"]), ids(&spans["innermost"]).2), (trace_id, between));
    for name in ["root", "other"] {
        assert_ne!(trace(&spans[name]), trace_id);
        assert!(spans[name].parent_span_id.is_empty(), "{name}");
    }
}

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

#[test]
fn each_span_may_be_the_current_one() {
    let sdk = Sdk::new();
    let spans = spans_of(Builder::activate_all_spans, || {
        let _root = tracing::info_span!("root").entered();
        let inner = tracing::info_span!("inner").entered();
        sdk.tracer.in_span("sdk", |_| drop(tracing::info_span!("innermost")));
        drop(inner);
    });
    let sdk = ids_of_data(&sdk.spans()["sdk"]);
    assert_eq!((sdk.0, sdk.2), (trace(&spans["root"]), ids(&spans["inner"]).1));
    assert_eq!(ids(&spans["innermost"]).2, sdk.1);
}

/// A span that was current stays so while others are left in another order than they were entered.
#[test]
fn spans_are_left_in_any_order() {
    let spans = spans_of(Builder::activate_all_spans, || {
        let own = |span: &tracing::Span| ids_of(span.context().span().span_context());
        let [a, b, c] = ["a", "b", "c"].map(|name| tracing::info_span!("span", otel.name = name));
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
        // Not in order with the contexts of others either.
        drop(foreign);
        assert_eq!(current(), own(&a));
        drop(after);
        assert_eq!(current(), (0, 0));
    });
    assert_eq!(spans.len(), 3);
}

/// As tasks of a runtime: a future is polled by one thread, then by another, in spans of its own.
#[test]
fn a_future_s_spans_are_current_where_it_is_polled() {
    let sdk = Sdk::new();
    let spans = spans(|| {
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .on_thread_start(move || {
                std::mem::forget(tracing::dispatcher::set_default(&dispatch));
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
                    tokio::task::yield_now().await;
                    assert_eq!(
                        current(),
                        ids_of(tracing::Span::current().context().span().span_context())
                    );
                }
                let cx = Context::current_with_span(tracer.start(name));
                async {
                    tokio::task::yield_now().await;
                    let inner = tracing::info_span!("inner");
                    inner.set_attribute("otel.name", format!("inner {number}"));
                    tokio::task::yield_now().instrument(inner).await;
                }
                .with_context(cx)
                .await;
            }
            .instrument(span)
        };
        let all: Vec<_> = (0..8).map(|number| runtime.spawn(request(number))).collect();
        runtime.block_on(async {
            for one in all {
                one.await.unwrap();
            }
        });
        drop(runtime);
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

/// A thread may end within a span, while the memory of `opentelemetry` for it is gone.
#[test]
fn a_thread_ends_within_spans() {
    struct AtTheEnd(tracing::Span);
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            self.0.set_parent(request()).unwrap();
            assert_eq!(tenant(&self.0.context()), Some("acme"));
        }
    }
    thread_local! {
        static LAST: std::cell::RefCell<Option<AtTheEnd>> = const { std::cell::RefCell::new(None) };
    }
    let spans = spans(|| {
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        for is_first in [true, false] {
            let dispatch = dispatch.clone();
            let run = move || {
                let start = || tracing::info_span!("span", otel.kind = "server");
                let set = || {
                    let span = tracing::dispatcher::with_default(&dispatch, start);
                    span.set_attribute("otel.name", format!("span {is_first}"));
                    LAST.set(Some(AtTheEnd(span)));
                };
                if is_first {
                    set();
                }
                std::mem::forget(tracing::dispatcher::with_default(&dispatch, start).entered());
                if !is_first {
                    set();
                }
            };
            thread::spawn(run).join().unwrap();
        }
    });
    for name in ["span true", "span false"] {
        assert_eq!((trace(&spans[name]), id(&spans[name].parent_span_id)), (TRACE, PARENT));
    }
}

#[test]
fn links_attributes_events_and_the_status_are_set_by_call() {
    let linked = request().span().span_context().clone();
    let at = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let spans = spans(|| {
        let span = tracing::info_span!("span", declared = 1);
        span.add_link(linked.clone());
        span.add_link_with_attributes(linked.clone(), vec![KeyValue::new("number", 1)]);
        span.add_link(SpanContext::empty_context());
        span.set_attribute("declared", 2);
        let texts = ["a", "\"b\""].map(StringValue::from).to_vec();
        span.set_attribute("texts", opentelemetry::Value::Array(Array::String(texts)));
        span.set_status(Status::error("no room"));
        span.set_status(Status::Unset);
        span.add_event("now", vec![KeyValue::new("half", 0.5)]);
        span.add_event_with_timestamp("earlier", at, vec![]);
        // The same by the span that the API has.
        let context = span.context();
        let own = context.span();
        own.set_attribute(KeyValue::new("by the API", true));
        own.add_event("third", vec![]);
        own.update_name("renamed");
        own.end();
        assert!(own.is_recording());
        drop(span);
        assert!(!own.is_recording());
        own.set_attribute(KeyValue::new("late", true));
    });
    let span = &spans["renamed"];
    let [first, second] = &span.links[..] else { panic!("{:?}", span.links) };
    for link in [first, second] {
        assert_eq!((id(&link.span_id), &*link.trace_id), (PARENT, &TRACE.to_be_bytes()[..]));
        assert_eq!((link.flags, &*link.trace_state), (REMOTE, "vendor=1,b=2"));
    }
    assert!(first.attributes.is_empty() && second.attributes[0].key == "number");
    let value = |key: &str| {
        let mut values = span.attributes.iter().filter(|attribute| attribute.key == key);
        let value = values.next()?.value.clone()?.value?;
        assert_eq!(values.next(), None);
        Some(value)
    };
    assert_eq!(value("declared"), Some(Value::IntValue(2)));
    assert_eq!((value("by the API"), value("late")), (Some(Value::BoolValue(true)), None));
    let Some(Value::ArrayValue(texts)) = value("texts") else { panic!("{span:?}") };
    let last = texts.values[1].value.clone().unwrap();
    assert_eq!(last, Value::StringValue("\"b\"".to_owned()));
    let status = span.status.clone().unwrap();
    assert_eq!((status.code, &*status.message), (2, "no room"));
    let events: HashMap<_, _> = span.events.iter().map(|event| (&*event.name, event)).collect();
    assert_eq!(events.len(), 3);
    let [half] = &events["now"].attributes[..] else { panic!("{:?}", events["now"]) };
    assert_eq!(half.key, "half");
    assert_eq!(events["earlier"].time_unix_nano, 1_700_000_000_000_000_000);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    assert!(now.abs_diff(events["third"].time_unix_nano.into()) < 60_000_000_000);
}

/// An event that is added to a span is for that span alone.
#[test]
fn sinks_of_events_do_not_get_added_events() {
    let (endpoint, requests) = serve();
    let logs = Sink::otlp(Otlp::new().endpoint(&endpoint).max_delay(LONG).signals([Signal::Logs]));
    let (spans, pipeline) = pipeline(|builder| builder.sink(logs));
    with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
        let span = tracing::info_span!("span");
        span.add_event("added", vec![]);
        span.in_scope(|| tracing::info!("logged"));
    });
    assert_eq!(sent(&spans, &pipeline)["span"].events.len(), 2);
    assert_eq!(records(&requests).len(), 1);
}

fn records(requests: &Requests) -> Vec<LogRecord> {
    let requests =
        requests.try_iter().map(|(_, body)| otel_tests::decode::<ExportLogsServiceRequest>(&body));
    let logs = requests.flat_map(|request| request.resource_logs);
    logs.flat_map(|logs| logs.scope_logs).flat_map(|scope| scope.log_records).collect()
}

/// Whether the pipeline sends spans or not.
#[test]
fn records_have_the_ids_of_the_current_context() {
    let sdk = Sdk::new();
    for sends_spans in [false, true] {
        let (endpoint, requests) = serve();
        let mut builder = Pipeline::builder().sink(Sink::otlp(
            Otlp::new().endpoint(&endpoint).max_delay(LONG).signals([Signal::Logs]),
        ));
        let spans = sends_spans.then(serve);
        if let Some((endpoint, _)) = &spans {
            let otlp = Otlp::new().endpoint(endpoint).max_delay(LONG);
            builder = builder.sink(Sink::otlp(otlp.signals([Signal::Traces])));
        }
        let pipeline = builder.build().unwrap();
        let log = |text: &str| {
            let mut record = log::Record::builder();
            log::Log::log(&*pipeline, &record.args(format_args!("{text}")).build());
        };
        let mut own = (0, 0);
        with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
            log("outside");
            sdk.tracer.in_span("sdk", |_| {
                log("log");
                tracing::info!("tracing");
                tracing::info!(parent: None, "root");
                let span = tracing::info_span!("span").entered();
                own = ids_of(span.context().span().span_context());
                log("in span");
                tracing::info!("tracing in span");
            });
            let unsampled = received(&[("traceparent", &TRACEPARENT.replace("-01", "-00"))]);
            let _unsampled = unsampled.attach();
            log("unsampled");
        });
        pipeline.flush(LONG).unwrap();
        let in_sdk = ids_of(&sdk.spans()["sdk"].span_context);
        let in_span = if sends_spans { own } else { in_sdk };
        let records: HashMap<_, _> = records(&requests)
            .into_iter()
            .map(|record| {
                let Some(Value::StringValue(text)) = record.body.unwrap().value else { panic!() };
                let trace = record.trace_id[..].try_into().map_or(0, u128::from_be_bytes);
                (text, (trace, id(&record.span_id), record.flags))
            })
            .collect();
        for (text, (trace, span), flags) in [
            ("outside", (0, 0), 0),
            ("log", in_sdk, 1),
            ("tracing", in_sdk, 1),
            ("root", (0, 0), 0),
            ("in span", in_span, 1),
            ("tracing in span", in_span, 1),
            ("unsampled", (TRACE, PARENT), 0),
        ] {
            assert_eq!(records[text], (trace, span, flags), "{text}, {sends_spans}");
        }
        if let Some((_, requests)) = &spans {
            // The events of the SDK's span are none of this one.
            assert_eq!(sent(requests, &pipeline)["span"].events.len(), 2);
        }
    }
}

/// `tracing-opentelemetry` makes its spans current, and so records of the pipeline have their ids.
#[test]
fn records_have_the_ids_of_tracing_opentelemetry_s_spans() {
    let sdk = Sdk::new();
    let (endpoint, requests) = serve();
    let logs = Sink::otlp(Otlp::new().endpoint(&endpoint).max_delay(LONG).signals([Signal::Logs]));
    let pipeline = Pipeline::builder().sink(logs).build().unwrap();
    let layer = tracing_opentelemetry::layer().with_tracer(sdk.tracer.clone());
    with_default(tracing_subscriber::registry().with(pipeline.clone()).with(layer), || {
        tracing::info_span!("span").in_scope(|| tracing::info!("in span"));
    });
    pipeline.flush(LONG).unwrap();
    let [record] = &records(&requests)[..] else { panic!("one record is sent") };
    let (_, span) = ids_of(&sdk.spans()["span"].span_context);
    assert_eq!((id(&record.span_id), record.flags), (span, 1));
}

#[test]
fn a_parent_that_can_t_be_set_is_an_error() {
    let spans = spans(|| {
        let span = tracing::info_span!("span");
        // Without a span, the context gives its baggage alone.
        span.set_parent(received(&[("baggage", "tenant=acme")])).unwrap();
        assert_eq!(tenant(&span.context()), Some("acme"));
        span.set_parent(request()).unwrap();
        let again = span.set_parent(request()).unwrap_err();
        assert!(again.to_string().contains("before"), "{again}");
        let disabled = tracing::Span::none().set_parent(request()).unwrap_err();
        assert!(disabled.to_string().contains("disabled"), "{disabled}");
    });
    assert_eq!(trace(&spans["span"]), TRACE);
    with_default(tracing_subscriber::registry(), || {
        let span = tracing::info_span!("span");
        let unsent = span.set_parent(request()).unwrap_err();
        assert!(unsent.to_string().contains("no pipeline"), "{unsent}");
        assert!(!span.context().has_active_span());
    });
}

/// A handler may set the parent of the span that it is called in. `tracing-opentelemetry` refuses
/// that.
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
    assert_eq!(trace(&spans["child"]), TRACE);
}

/// Two pipelines in one subscriber do not take each other's spans for parents.
#[test]
fn pipelines_side_by_side_keep_apart() {
    let [(first, one), (second, two)] = [(); 2].map(|()| pipeline(Builder::activate_all_spans));
    with_default(tracing_subscriber::registry().with(one.clone()).with(two.clone()), || {
        let _root = tracing::info_span!("root").entered();
        let _inner = tracing::info_span!("inner").entered();
        drop(tracing::info_span!("innermost"));
    });
    for spans in [sent(&first, &one), sent(&second, &two)] {
        assert_eq!(ids(&spans["inner"]).2, ids(&spans["root"]).1);
        assert_eq!(ids(&spans["innermost"]).2, ids(&spans["inner"]).1);
    }
}

/// The tail decides by the span itself, since no span of the pipeline contains it.
#[test]
fn a_child_of_the_sdk_s_is_a_root_for_the_tail() {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(Duration::from_millis(1));
    let tail = Tail::ratio(0.0).max_delay(10 * LONG);
    let pipeline = Pipeline::builder()
        .tail(tail)
        .sink(Sink::otlp(otlp.signals([Signal::Traces])))
        .build()
        .unwrap();
    let sdk = Sdk::new();
    with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
        let next = || {
            // It comes without a flush.
            let (_, body) = requests.recv_timeout(LONG).unwrap();
            let request = otel_tests::decode::<ExportTraceServiceRequest>(&body);
            request.resource_spans[0].scope_spans[0].spans[0].name.clone()
        };
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
        // Within a span of the pipeline, that span's end is waited for.
        let root = tracing::info_span!("root", otel.kind = "server").entered();
        sdk.tracer.in_span("sdk", |_| {
            tracing::info_span!("contained").set_status(Status::error("failed"));
        });
        thread::sleep(Duration::from_millis(50));
        assert!(requests.try_recv().is_err());
        drop(root);
        assert!(["contained", "root"].contains(&&*next()));
    });
    drop(pipeline);
}

/// A value of the user's may start spans when its context is dropped.
#[test]
fn destructors_of_values_may_start_spans() {
    struct Value(std::sync::mpsc::Sender<()>);
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
    let context = with_default(tracing_subscriber::registry().with(guard.clone()), || {
        let span = tracing::info_span!("span", otel.kind = "server");
        // It is never closed.
        tracing::dispatcher::get_default(|dispatch| dispatch.clone_span(&span.id().unwrap()));
        span.context()
    });
    assert!(context.span().is_recording());
    drop(guard);
    drop(requests);
    assert!(!context.span().is_recording());
    context.span().set_attribute(KeyValue::new("late", 1));
}

/// A span whose parent came by a context of the pipeline's own span, on another thread.
#[test]
fn a_child_by_the_context_of_an_open_span_is_in_its_trace() {
    let with_tail = |builder: Builder| builder.tail(Tail::ratio(0.0));
    for set_parent in [false, true] {
        let spans = spans_of(with_tail, || {
            let root = tracing::info_span!("root", otel.kind = "server");
            let context = root.context();
            let dispatch = tracing::dispatcher::get_default(Clone::clone);
            let child = move || {
                tracing::dispatcher::with_default(&dispatch, || {
                    if set_parent {
                        tracing::info_span!("child").set_parent(context).unwrap();
                    } else {
                        let _attached = context.attach();
                        drop(tracing::info_span!("child"));
                    }
                });
            };
            thread::spawn(child).join().unwrap();
            // Long enough for the back end to decide about the child, if it were a root.
            thread::sleep(Duration::from_millis(100));
            root.in_scope(|| tracing::error!("late"));
        });
        let (root, child) = (&spans["root"], &spans["child"]);
        assert_eq!(ids(child), (trace(root), id(&child.span_id), id(&root.span_id)));
        assert_eq!(child.flags, LOCAL);
    }
}

/// A task has the context of its request attached while it is in a span of the request.
#[test]
fn the_context_of_an_outer_span_hides_no_inner_one() {
    let spans = spans(|| {
        let request = tracing::info_span!("request", otel.kind = "server");
        let handler = request.in_scope(|| tracing::info_span!("handler"));
        let context = request.context();
        handler.in_scope(|| {
            let _attached = context.attach();
            drop(tracing::info_span!("inner"));
            // The span of another trace is a parent.
            let other = tracing::info_span!(parent: None, "other", otel.kind = "consumer");
            let _attached = other.context().attach();
            drop(tracing::info_span!("of other"));
        });
    });
    assert_eq!(spans["inner"].parent_span_id, spans["handler"].span_id);
    assert_eq!(spans["of other"].parent_span_id, spans["other"].span_id);
    assert_eq!(trace(&spans["of other"]), trace(&spans["other"]));
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

#[test]
fn ok_is_the_final_status() {
    let spans = spans(|| {
        let span = tracing::info_span!("span", otel.kind = "server");
        span.set_status(Status::error("early"));
        span.set_status(Status::Ok);
        span.set_status(Status::error("late"));
        span.context().span().set_status(Status::error("later"));
        span.in_scope(|| tracing::error!("last"));
    });
    let status = spans["span"].status.clone().unwrap();
    assert_eq!((status.code, &*status.message), (1, ""));
}
