//! The flight recorder beside a collector.

use std::collections::HashMap;

use opentelemetry_proto::tonic::trace::v1::{Span, TracesData};
use tach_pipeline::{FlightFormat, FlightRecorder, Otlp, Tail};

use super::received::{self, decode, names, text, value};
use super::{pipeline, run};
use crate::support::LONG;

/// The recorder contains the spans of traces that the tail has not decided about or drops.
#[test]
fn the_tail_takes_nothing_from_the_recorder() {
    let (requests, guard) =
        pipeline(|builder| builder.tail(Tail::ratio(0.0)).flight_recorder(FlightRecorder::new()));
    let format = FlightFormat::otlp(&Otlp::new().service_name("recorded"));
    let mut data = Vec::new();
    run(guard.pipeline(), || {
        let root = tracing::info_span!("root").entered();
        for number in 0..200 {
            tracing::info!(number, "event");
        }
        tracing::info_span!("child").in_scope(|| tracing::error!("wrong"));
        guard.pipeline().write_flight(&mut data, &format, LONG).unwrap();
        assert_eq!(requests.try_iter().count(), 0, "the tail waits for the root");
        drop(root);
    });
    // The child has an error, so the trace is kept.
    assert_eq!(names(&received::spans(&requests)), ["child", "root"]);
    let data: TracesData = decode(&data);
    let resource = data.resource_spans[0].resource.clone().unwrap();
    assert_eq!(value(&resource.attributes, "service.name"), text("recorded"));
    let of_scopes = data.resource_spans.into_iter().flat_map(|it| it.scope_spans);
    let spans: HashMap<String, Span> =
        of_scopes.flat_map(|it| it.spans).map(|span| (span.name.clone(), span)).collect();
    assert_eq!(spans.len(), 2);
    let (root, child) = (&spans["root"], &spans["child"]);
    assert_eq!((&child.parent_span_id, &child.trace_id), (&root.span_id, &root.trace_id));
    assert_eq!((root.events.len(), root.dropped_events_count), (128, 72));
    assert_eq!(child.events[0].name, "wrong");
    assert_eq!(child.status.as_ref().map(|status| status.code), Some(2));
    let unfinished = |span: &Span| span.attributes.iter().any(|it| it.key == "tach.unfinished");
    assert!(unfinished(root) && !unfinished(child));
}
