//! Dumps as trace events, read as the viewers read them.

use core::error::Error;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::{io, process, thread};

use serde_json::Value;
use tach_core::{ManualClock, UnixTime};
use tach_pipeline::{FlightFormat, FlightRecorder, Guard, Pipeline, Sink};
use tracing::Instrument as _;
use tracing::instrument::WithSubscriber as _;

use super::within;
use crate::support::{LONG, subscriber};

/// A span or a mark of a dump.
#[derive(Debug)]
struct Slice {
    name: String,
    /// The number of the thread, or the id of an asynchronous event.
    track: String,
    start: u64,
    /// `None` for a mark, and for a span without an end.
    end: Option<u64>,
    is_mark: bool,
    event: Value,
}

impl Slice {
    fn arg(&self, key: &str) -> &Value {
        &self.event["args"][key]
    }
}

fn pipeline(clock: Option<Arc<ManualClock>>) -> Guard {
    let builder = Pipeline::builder().filter("trace").sink(Sink::writer("none", io::sink()));
    let builder = match clock {
        Some(clock) => builder.with_clock(clock),
        None => builder,
    };
    builder.flight_recorder(FlightRecorder::new()).build().unwrap()
}

fn dump(pipeline: &Pipeline) -> String {
    let mut written = Vec::new();
    pipeline.write_flight(&mut written, &FlightFormat::trace_events(), LONG).unwrap();
    String::from_utf8(written).unwrap()
}

/// Returns a time in nanoseconds, by the digits: a number of JSON may be rounded.
fn nanos(time: &Value) -> u64 {
    let text = time.to_string();
    let (micros, decimals) = text.split_once('.').unwrap_or((&text, ""));
    format!("{micros}{decimals:0<3}").parse().unwrap()
}

/// Reads a dump, and checks that the spans of each track nest.
fn read(dump: &str) -> (Vec<Slice>, BTreeMap<String, String>) {
    let dump: Value = serde_json::from_str(dump).unwrap();
    let (mut slices, mut threads) = (Vec::<Slice>::new(), BTreeMap::new());
    for event in dump["traceEvents"].as_array().unwrap() {
        assert_eq!(event["pid"], process::id(), "{event}");
        let text = |key: &str| event[key].as_str().unwrap().to_owned();
        let phase = text("ph");
        let is_async = ["b", "e"].contains(&&*phase);
        let track = if is_async { text("id") } else { event["tid"].to_string() };
        if phase == "M" {
            let name = event["args"]["name"].as_str().unwrap().to_owned();
            if event["name"] == "thread_name" {
                assert_eq!(threads.insert(track, name), None, "{event}");
            }
            continue;
        }
        let start = nanos(&event["ts"]);
        if phase == "e" {
            // This event ends the one with its category, id and name.
            let began = slices.iter_mut().find(|slice| slice.track == track).unwrap();
            for key in ["cat", "id", "name"] {
                assert_eq!(began.event[key], event[key], "{event}");
            }
            assert_eq!(began.end.replace(start), None, "{event}");
            continue;
        }
        let is_mark = phase == "i";
        let end = (phase == "X").then(|| start + nanos(&event["dur"]));
        let (name, event) = (text("name"), event.clone());
        slices.push(Slice { name, track, start, end, is_mark, event });
    }
    let spans = || slices.iter().filter(|slice| !slice.is_mark);
    for (at, one) in spans().enumerate() {
        for other in spans().skip(at + 1).filter(|other| other.track == one.track) {
            let [end, of_other] = [one, other].map(|it| it.end.unwrap_or(u64::MAX));
            let is_apart = end <= other.start || of_other <= one.start;
            let is_within = one.start <= other.start && of_other <= end;
            assert!(is_apart || is_within, "{one:?} {other:?}");
        }
    }
    (slices, threads)
}

fn named<'a>(slices: &'a [Slice], name: &str) -> &'a Slice {
    slices
        .iter()
        .find(|slice| slice.name == name)
        .unwrap_or_else(|| panic!("no {name}: {slices:?}"))
}

#[test]
fn nanoseconds_are_exact() {
    let clock = Arc::new(ManualClock::new(UnixTime::from_nanos(1_700_000_000_000_000_017)));
    let guard = pipeline(Some(clock.clone()));
    within(guard.pipeline(), || {
        let outer = tracing::info_span!("outer").entered();
        clock.advance(Duration::from_nanos(12_345));
        tracing::info!("mark");
        let inner = tracing::info_span!("inner").entered();
        clock.advance(Duration::from_nanos(7));
        drop(inner);
        clock.advance(Duration::from_secs(9));
        drop(outer);
    });
    let dump = dump(guard.pipeline());
    for expected in [
        r#""otherData":{"start":"2023-11-14T22:13:20.000000017Z"}"#,
        r#""ts":0.000,"dur":9000012.352,"cat":"it::flight::trace_events","#,
        r#""ts":12.345,"dur":0.007,"cat":"it::flight::trace_events","#,
        r#""ts":12.345,"s":"t","cat":"it::flight::trace_events","#,
    ] {
        assert!(dump.contains(expected), "{expected}: {dump}");
    }
    read(&dump);
}

#[test]
fn spans_and_events_have_their_tracks_and_fields() {
    let guard = pipeline(None);
    let dump = within(guard.pipeline(), || {
        let request = tracing::info_span!(target: "app", "request", id = 7, otel.name = "GET /");
        let entered = request.enter();
        let query = tracing::debug_span!("query", sql = "select", rows = tracing::field::Empty);
        query.in_scope(|| tracing::info!(target: "app::db", took = 0.5, "sent"));
        query.record("rows", 3);
        drop(query);
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        let worker = thread::Builder::new().name("worker".to_owned()).spawn({
            let request = request.clone();
            move || {
                tracing::dispatcher::with_default(&dispatch, || {
                    let work = tracing::info_span!(parent: &request, "work");
                    work.in_scope(|| tracing::info_span!("part").in_scope(|| {}));
                    // The task of this span ends on another thread.
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
        let written = dump(guard.pipeline());
        drop(request);
        written
    });
    let (slices, threads) = read(&dump);
    assert_eq!(slices.len(), 8, "{slices:?}");
    let thread = |name: &str| threads.get(&named(&slices, name).track).map(String::as_str);
    let main = thread::current().name().map(str::to_owned);
    for name in ["GET /", "query", "sent", "next", "outside"] {
        assert_eq!(thread(name), main.as_deref(), "{name}");
    }
    assert_eq!((thread("work"), thread("part")), (Some("worker"), Some("worker")));
    assert_eq!(named(&slices, "moved").event["ph"], "b");
    let of = |name: &str| named(&slices, name);
    assert!(of("GET /").end.is_none() && of("query").end > Some(of("query").start));
    assert!(of("sent").is_mark && !of("next").is_mark);
    assert!(of("query").start <= of("sent").start && Some(of("sent").start) <= of("query").end);
    assert_eq!(
        (&of("GET /").event["cat"], &of("sent").event["cat"]),
        (&"app".into(), &"app::db".into())
    );
    let id = of("GET /").arg("tach.span_id").as_str().unwrap();
    assert_eq!(id.len(), 16);
    for child in ["query", "work", "moved", "next"] {
        assert_eq!(of(child).arg("tach.parent_id"), id, "{child}");
        assert_eq!(of(child).arg("tach.trace_id"), of("GET /").arg("tach.trace_id"));
    }
    assert_eq!(
        (of("GET /").arg("id"), of("GET /").arg("tach.unfinished")),
        (&7.into(), &true.into())
    );
    assert_eq!(of("query").arg("tach.unfinished"), &Value::Null);
    assert_eq!(of("next").arg("tach.follows_from"), of("moved").arg("tach.span_id"));
    assert_eq!((of("query").arg("rows"), of("query").arg("sql")), (&3.into(), &"select".into()));
    assert_eq!(of("query").arg("tach.level"), "DEBUG");
    assert_eq!((of("sent").arg("took"), of("next").arg("ok")), (&0.5.into(), &true.into()));
    assert!(of("sent").arg("tach.place").as_str().unwrap().contains("trace_events.rs:"));
}

/// Tasks take turns on a few threads, and move between them: nothing may be drawn wrongly, and
/// nothing may be lost.
#[test]
fn tasks_that_take_turns_have_tracks_of_their_own() {
    const TASKS: usize = 300;
    let guard = pipeline(None);
    let dispatch = subscriber(guard.pipeline());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).build().unwrap();
    runtime.block_on(async {
        let tasks = (0..TASKS).map(|task| {
            let work = async move {
                for step in 0..3 {
                    let wait = async {
                        for _ in 0..task % 7 {
                            tokio::task::yield_now().await;
                        }
                    };
                    wait.instrument(tracing::info_span!("step", step)).await;
                    tracing::info!(task, "slept");
                }
            };
            let span = tracing::info_span!("task", task);
            tokio::spawn(work.instrument(span).with_subscriber(dispatch.clone()))
        });
        let tasks: Vec<_> = tracing::dispatcher::with_default(&dispatch, || tasks.collect());
        for task in tasks {
            task.await.unwrap();
        }
    });
    let (slices, _) = read(&dump(guard.pipeline()));
    let count = |name: &str| slices.iter().filter(|slice| slice.name == name).count();
    assert_eq!((count("task"), count("step"), count("slept")), (TASKS, 3 * TASKS, 3 * TASKS));
    let spans = || slices.iter().filter(|slice| !slice.is_mark);
    assert!(spans().all(|span| span.end >= Some(span.start)));
    // No span is within another task's.
    for (at, one) in spans().enumerate() {
        let of_track = spans().enumerate().filter(|(_, other)| other.track == one.track);
        for (_, other) in of_track.filter(|(other, _)| *other != at) {
            let is_within = one.start < other.start && other.end < one.end;
            let is_of_task = one.arg("tach.trace_id") == other.arg("tach.trace_id");
            assert!(!is_within || is_of_task, "{one:?} {other:?}");
        }
    }
}

#[test]
fn values_of_all_kinds_are_arguments() {
    let guard = pipeline(None);
    let error = io::Error::other("disk full");
    let error: &(dyn Error + 'static) = &error;
    within(guard.pipeline(), || {
        let negative = -1_i64;
        tracing::info!(negative, most = u64::MAX, wide = u128::MAX, half = 0.5, yes = true, error);
        tracing::info!(text = "a\u{1}\"\u{1F600}", nan = f64::NAN, "\"quoted\"");
    });
    let (slices, _) = read(&dump(guard.pipeline()));
    let [plain, quoted] = &slices[..] else { panic!("{slices:?}") };
    for (key, expected) in [
        ("negative", Value::from(-1)),
        // A reader would round this number.
        ("most", "18446744073709551615".into()),
        ("wide", u128::MAX.to_string().into()),
        ("half", 0.5.into()),
        ("yes", true.into()),
        ("error", "disk full".into()),
    ] {
        assert_eq!(plain.arg(key), &expected, "{key}");
    }
    assert_eq!(quoted.name, "\"quoted\"");
    assert_eq!(quoted.arg("text"), "a\u{1}\"\u{1F600}");
    assert_eq!(quoted.arg("nan"), &Value::Null);
}
