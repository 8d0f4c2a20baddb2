//! Dumps of the flight recorder, read by Perfetto's own engine.

use std::thread;
use std::time::Duration;

use otel_tests::{Perfetto, Row, Rows};
use tach_pipeline::{FlightFormat, FlightRecorder, Guard, Pipeline, Sink};
use tracing::Instrument as _;
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;

const LONG: Duration = Duration::from_secs(60);

fn pipeline() -> Guard {
    let recorder = FlightRecorder::new();
    let builder = Pipeline::builder().filter("trace").sink(Sink::writer("none", std::io::sink()));
    builder.flight_recorder(recorder).build().unwrap()
}

fn write(pipeline: &Pipeline, format: &FlightFormat) -> Vec<u8> {
    let mut written = Vec::new();
    pipeline.write_flight(&mut written, format, LONG).unwrap();
    written
}

fn text<'a>(row: &'a Row, key: &str) -> &'a str {
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
    let trace = with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
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
        let written = write(&pipeline, &FlightFormat::perfetto());
        drop(request);
        written
    });
    let [slices, args, arrows, threads] = perfetto.query(
        &trace,
        [
            SLICES,
            ARGS,
            ARROWS,
            "select thread.name, process.name as process, process.pid \
            from thread_track join thread using (utid) join process using (upid)",
        ],
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
    assert_eq!(arg("GET /", "debug.id"), Some("7"));
    assert_eq!(arg("GET /", "debug.tach_unfinished"), Some("true"));
    assert_eq!(arg("query", "debug.tach_unfinished"), None);
    assert_eq!(arg("query", "debug.rows"), Some("3"));
    assert_eq!(arg("query", "debug.sql"), Some("select"));
    assert_eq!(arg("query", "debug.level"), Some("DEBUG"));
    assert_eq!(arg("query", "debug.trace_id").map(str::len), Some(32));
    assert_eq!(arg("sent", "debug.took"), Some("0.5"));
    assert_eq!(arg("next", "debug.ok"), Some("true"));
    assert!(
        arg("sent", "source_location.file_name").is_some_and(|file| file.ends_with("flight.rs")),
        "{args:?}"
    );
    assert!(column(&threads, "process").iter().all(|name| name.starts_with("flight-")));
    let pid = std::process::id().to_string();
    assert!(column(&threads, "pid").iter().all(|it| **it == pid));
}

/// Tasks take turns on a few threads, and move between them: nothing may be drawn wrongly, and
/// nothing may be lost.
#[test]
fn perfetto_reads_many_tasks() {
    const TASKS: usize = 300;
    let Some(perfetto) = Perfetto::find() else { return };
    let pipeline = pipeline();
    let subscriber = tracing_subscriber::registry().with(pipeline.clone());
    let dispatch = tracing::Dispatch::new(subscriber);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(3)
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let tasks = (0..TASKS).map(|task| {
            let work = async move {
                for step in 0..3 {
                    let wait = tokio::time::sleep(Duration::from_millis(task as u64 % 7));
                    let step = tracing::info_span!("step", step);
                    wait.instrument(step).await;
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
    let trace = write(&pipeline, &FlightFormat::perfetto());
    let [names, wrong, apart] = perfetto.query(
        &trace,
        [
            "select name, count() as n, min(dur) as least from slice group by name order by name",
            // Parents in the trace that are other tasks' spans.
            "select child.name from slice child join slice parent on child.parent_id = parent.id \
                where extract_arg(child.arg_set_id, 'debug.trace_id') \
                <> extract_arg(parent.arg_set_id, 'debug.trace_id')",
            "select count() as n from flow",
        ],
    );
    assert_eq!(column(&names, "name"), ["slept", "step", "task"]);
    let counts = [3 * TASKS, 3 * TASKS, TASKS].map(|count| count.to_string());
    assert_eq!(column(&names, "n"), counts);
    assert!(column(&names, "least").iter().all(|least| !least.starts_with('-')), "{names:?}");
    assert_eq!(wrong, Rows::new(), "no span is within another task's");
    assert!(column(&apart, "n")[0].parse::<usize>().unwrap() <= 3 * TASKS);
}

#[test]
fn values_of_all_kinds_are_arguments() {
    let Some(perfetto) = Perfetto::find() else { return };
    let pipeline = pipeline();
    let error = std::io::Error::other("disk full");
    let error: &(dyn std::error::Error + 'static) = &error;
    with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
        let negative = -1_i64;
        tracing::info!(negative, most = u64::MAX, wide = u128::MAX, half = 0.5, yes = true, error);
        tracing::info!(text = "a\u{1}\"\u{1F600}", "");
    });
    let [args] = perfetto.query(&write(&pipeline, &FlightFormat::perfetto()), [ARGS]);
    let arg = |key: &str| {
        args.iter().find(|row| text(row, "key") == key).map(|row| text(row, "display_value"))
    };
    assert_eq!(arg("debug.negative"), Some("-1"));
    assert_eq!(arg("debug.most"), Some("18446744073709551615"));
    assert_eq!(arg("debug.wide"), Some(&*u128::MAX.to_string()));
    assert_eq!(arg("debug.half"), Some("0.5"));
    assert_eq!(arg("debug.yes"), Some("true"));
    assert_eq!(arg("debug.error"), Some("disk full"));
    assert_eq!(arg("debug.text"), Some("a\u{1}\"\u{1F600}"));
}
