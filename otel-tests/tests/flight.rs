//! What the flight recorder writes: as Perfetto's own reader and OTLP's official schema have it.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use otel_tests::{Perfetto, Rows};
use tach_pipeline::{FlightFormat, FlightRecorder, Guard, Otlp, Pipeline, Sink, Tail};
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;

const LONG: Duration = Duration::from_secs(60);

fn pipeline() -> Guard {
    let recorder = FlightRecorder::new();
    let builder = Pipeline::builder().filter("trace").sink(Sink::writer("none", std::io::sink()));
    builder.flight_recorder(recorder).build().unwrap()
}

/// Runs `f` with a subscriber that has the pipeline as a layer, and returns what is recorded then.
fn dump(pipeline: &Pipeline, format: &FlightFormat, f: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
    let _ = format;
    with_default(tracing_subscriber::registry().with(pipeline.clone()), f)
}

fn write(pipeline: &Pipeline, format: &FlightFormat) -> Vec<u8> {
    let mut written = Vec::new();
    pipeline.write_flight(&mut written, format, LONG).unwrap();
    written
}

fn text<'a>(row: &'a serde_json::Map<String, serde_json::Value>, key: &str) -> &'a str {
    row[key].as_str().unwrap_or("")
}

fn column<'a>(rows: &'a Rows, key: &str) -> Vec<&'a str> {
    rows.iter().map(|row| text(row, key)).collect()
}

const SLICES: &str = "select slice.name, dur, depth, category, \
    coalesce(thread.name, track.name) as track, \
    (select name from slice parent where parent.id = slice.parent_id) as parent \
    from slice join track on slice.track_id = track.id \
    left join thread_track on thread_track.id = track.id left join thread using (utid) \
    order by ts, slice.id";
const ARGS: &str = "select slice.name, key, display_value from slice join args using (arg_set_id) \
    order by slice.id, key";
const ARROWS: &str = "select a.name as f, b.name as t from flow \
    join slice a on a.id = slice_out join slice b on b.id = slice_in order by a.name, b.name";

#[test]
fn perfetto_reads_a_dump() {
    let Some(perfetto) = Perfetto::find() else { return };
    let pipeline = pipeline();
    let perfetto_format = FlightFormat::perfetto();
    let trace = dump(&pipeline, &perfetto_format, || {
        let request = tracing::info_span!(target: "app", "request", id = 7, otel.name = "GET /");
        let entered = request.enter();
        let query = tracing::debug_span!("query", sql = "select", rows = tracing::field::Empty);
        query.in_scope(|| tracing::info!(target: "app::db", took = 0.5, "sent"));
        query.record("rows", 3);
        drop(query);
        let subscriber = tracing::dispatcher::get_default(Clone::clone);
        let worker = thread::Builder::new().name("worker".to_owned()).spawn({
            let request = request.clone();
            move || {
                tracing::dispatcher::with_default(&subscriber, || {
                    let work = tracing::info_span!(parent: &request, "work");
                    work.in_scope(|| tracing::info_span!("part").in_scope(|| {}));
                    // Its task ends on another thread.
                    tracing::info_span!(parent: &request, "moved")
                })
            }
        });
        let moved = worker.unwrap().join().unwrap();
        let next = tracing::info_span!("next", ok = true);
        next.follows_from(&moved);
        drop((moved, next));
        drop(entered);
        tracing::warn!(target: "app", "outside");
        let written = write(&pipeline, &perfetto_format);
        drop(request);
        written
    });
    let [slices, args, arrows, threads] = perfetto.query(
        &trace,
        [SLICES, ARGS, ARROWS, "select thread.name, process.name as process, process.pid \
            from thread_track join thread using (utid) join process using (upid)"],
    );
    let main = "perfetto_reads_a_dump";
    let of = |name: &str| {
        let found = slices.iter().find(|row| text(row, "name") == name);
        let row = found.unwrap_or_else(|| panic!("{name} is missing: {slices:?}"));
        (text(row, "track"), text(row, "parent"), text(row, "category"))
    };
    assert_eq!(of("GET /"), (main, "", "app"));
    assert_eq!(of("query"), (main, "GET /", "flight"));
    assert_eq!(of("sent"), (main, "query", "app::db"));
    assert_eq!(of("work"), ("worker", "", "flight"));
    assert_eq!(of("part"), ("worker", "work", "flight"));
    assert_eq!(of("moved"), ("tasks", "", "flight"));
    assert_eq!(of("next"), (main, "GET /", "flight"));
    assert_eq!(of("outside").0, main);
    assert_eq!(slices.len(), 8, "{slices:?}");
    let duration = |name| text(slices.iter().find(|row| text(row, "name") == name).unwrap(), "dur");
    assert_eq!((duration("GET /"), duration("sent")), ("-1", "0"), "one is open, one an event");
    assert!(duration("query").parse::<i64>().unwrap() > 0);
    let arrows: Vec<_> = arrows.iter().map(|row| (text(row, "f"), text(row, "t"))).collect();
    assert_eq!(arrows, [("GET /", "moved"), ("GET /", "work"), ("moved", "next")]);
    let arg = |slice: &str, key: &str| {
        let is = |row: &&_| (text(row, "name"), text(row, "key")) == (slice, key);
        args.iter().find(is).map(|row| text(row, "display_value"))
    };
    eprintln!("{args:?}");
    assert_eq!(arg("GET /", "debug.id"), Some("7"));
    assert_eq!(arg("GET /", "debug.tach.unfinished"), Some("true"));
    assert_eq!(arg("query", "debug.tach.unfinished"), None);
    assert_eq!(arg("query", "debug.rows"), Some("3"));
    assert_eq!(arg("query", "debug.sql"), Some("select"));
    assert_eq!(arg("query", "debug.level"), Some("DEBUG"));
    assert_eq!(arg("query", "debug.trace_id").map(str::len), Some(32));
    assert_eq!(arg("sent", "debug.took"), Some("0.5"));
    assert_eq!(arg("next", "debug.ok"), Some("true"));
    assert!(arg("sent", "source.file_name").is_some_and(|file| file.ends_with("flight.rs")), "{args:?}");
    assert!(column(&threads, "process").iter().all(|name| name.starts_with("flight-")));
    let pid = std::process::id().to_string();
    assert!(column(&threads, "pid").iter().all(|it| **it == pid));
}
