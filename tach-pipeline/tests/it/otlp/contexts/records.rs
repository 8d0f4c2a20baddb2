//! Log records within contexts.

use std::collections::HashMap;

use opentelemetry::trace::{TraceContextExt as _, Tracer as _};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use tach_pipeline::{OpenTelemetrySpanExt as _, Pipeline, Signal};
use test_support::receiver::serve;
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry;

use super::super::propagation::{PARENT, TRACE, TRACEPARENT};
use super::super::received::{self, span_id};
use super::super::{pipeline, run, sink};
use super::{Sdk, extracted, ids_of};
use crate::support::{LONG, Memory, info};

/// `add_event` adds an event to the span and logs nothing.
#[test]
fn sinks_of_events_do_not_get_added_events() {
    let (endpoint, requests) = serve();
    let (spans, guard) = pipeline(|builder| builder.sink(sink(&endpoint, Signal::Logs)));
    run(guard.pipeline(), || {
        let span = tracing::info_span!("span");
        span.add_event("added", vec![]);
        span.in_scope(|| tracing::info!("logged"));
    });
    assert_eq!(received::by_name(&spans)["span"].events.len(), 2);
    assert_eq!(received::records(&requests).len(), 1);
}

/// The ids are there whether the pipeline sends spans or not.
#[test]
fn records_have_the_ids_of_the_current_context() {
    let sdk = Sdk::new();
    for sends_spans in [false, true] {
        let (endpoint, requests) = serve();
        let mut builder = Pipeline::builder().sink(sink(&endpoint, Signal::Logs));
        let spans = sends_spans.then(serve);
        if let Some((endpoint, _)) = &spans {
            builder = builder.sink(sink(endpoint, Signal::Traces));
        }
        let guard = builder.build().unwrap();
        let log = |text: &str| info(guard.pipeline(), text);
        let mut own = (0, 0);
        run(guard.pipeline(), || {
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
            let unsampled = extracted(&[("traceparent", &TRACEPARENT.replace("-01", "-00"))]);
            let _unsampled = unsampled.attach();
            log("unsampled");
        });
        let in_sdk = ids_of(&sdk.spans()["sdk"].span_context);
        let in_span = if sends_spans { own } else { in_sdk };
        let records: HashMap<_, _> = received::records(&requests)
            .into_iter()
            .map(|record| {
                let Some(Value::StringValue(text)) = record.body.unwrap().value else { panic!() };
                let trace = record.trace_id[..].try_into().map_or(0, u128::from_be_bytes);
                (text, (trace, span_id(&record.span_id), record.flags))
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
            // The events outside that span, in the span of the SDK, are not among its events.
            assert_eq!(received::by_name(requests)["span"].events.len(), 2);
        }
    }
}

/// `tracing-opentelemetry` makes its spans current, so records of the pipeline contain their ids.
#[test]
fn records_have_the_ids_of_tracing_opentelemetry_s_spans() {
    let sdk = Sdk::new();
    let (endpoint, requests) = serve();
    let guard = Pipeline::builder().sink(sink(&endpoint, Signal::Logs)).build().unwrap();
    let layer = tracing_opentelemetry::layer().with_tracer(sdk.tracer.clone());
    with_default(registry().with(guard.pipeline().clone()).with(layer), || {
        tracing::info_span!("span").in_scope(|| tracing::info!("in span"));
    });
    guard.pipeline().flush(LONG).unwrap();
    let [record] = &received::records(&requests)[..] else { panic!("one record is sent") };
    let (_, span) = ids_of(&sdk.spans()["span"].span_context);
    assert_eq!((span_id(&record.span_id), record.flags), (span, 1));
}

/// Nothing but the ids follows the fields of these records, and no other span is open.
#[test]
fn lines_beside_the_sdk_have_its_ids() {
    let (sdk, memory) = (Sdk::new(), Memory::default());
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    run(guard.pipeline(), || {
        sdk.tracer.in_span("sdk", |_| {
            tracing::info!("tracing");
            info(guard.pipeline(), "log");
        });
    });
    let (trace, span) = ids_of(&sdk.spans()["sdk"].span_context);
    for record in memory.records() {
        assert_eq!(record["trace_id"], format!("{trace:032x}"), "{record}");
        assert_eq!(record["span_id"], format!("{span:016x}"), "{record}");
    }
}
