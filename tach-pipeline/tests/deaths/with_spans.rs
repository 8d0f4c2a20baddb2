//! Deaths of processes with spans and a flight recorder, and what a collector received.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::{Span, TracesData};
use prost::Message as _;
use tach_otlp::{Otlp, Signal};
use test_support::receiver;
use tracing::field::Empty;

use self::Op::{End, Event, Flush, Start, Values};
use super::{Counts, Scene, Snapshot};
use tach_pipeline::{FlightFormat, FlightRecorder, Guard, Pipeline, Sink};
use test_support::is_alone;

/// The word of a file that states how far it was passed on. All bits are set if nothing is left.
const TAKEN: core::ops::Range<usize> = 88..96;

/// What the process does with spans, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Start(usize),
    Values(usize),
    Event(usize),
    End(usize),
    Flush,
}

/// The first span is around the others except for the last, and stays open for long. In all, they
/// fill the part of the file several times.
const OPS: &[Op] = &[
    Start(0),
    Flush,
    Values(0),
    Start(1),
    Event(1),
    Flush,
    Event(0),
    End(1),
    Start(2),
    Flush,
    Event(2),
    Start(3),
    Values(3),
    End(3),
    Start(4),
    Start(5),
    Flush,
    Event(5),
    End(2),
    Flush,
    Event(4),
    End(4),
    Start(6),
    End(6),
    Flush,
    End(5),
    End(0),
    Start(7),
    Flush,
    Event(7),
    Values(7),
];

/// A collector, and what it has received.
struct Collector {
    address: String,
    received: Arc<Mutex<Vec<Span>>>,
    /// How many operations have returned, and how many spans were received.
    counts: Counts,
}

impl Collector {
    fn new() -> Self {
        let (received, counts) = (Arc::<Mutex<Vec<_>>>::default(), Counts::default());
        let both = (Arc::clone(&received), Arc::clone(&counts.received));
        let (address, _) = receiver::serve_by(move |_, body| {
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            let scopes = request.resource_spans.into_iter().flat_map(|spans| spans.scope_spans);
            let mut received = both.0.lock().unwrap();
            for span in scopes.flat_map(|scope| scope.spans) {
                received.push(span);
                // ORDERING: Release, with the Acquire of the observer.
                both.1.fetch_add(1, Ordering::Release);
            }
            receiver::OK.to_vec()
        });
        Self { address, received, counts }
    }

    /// Returns a pipeline with a flight recorder alone.
    fn recorder(scene: &Scene) -> Guard {
        let format = FlightFormat::otlp(&Otlp::new());
        let recorder = FlightRecorder::new().folder(Self::flight(scene), format);
        let recorder = recorder.max_bytes(64 * 1024).slower_than(Duration::from_secs(3_600));
        let builder = Pipeline::builder().sink(Sink::file(scene.log())).flight_recorder(recorder);
        builder.survive(scene.files()).build().unwrap()
    }

    fn flight(scene: &Scene) -> PathBuf {
        scene.0.join("flight")
    }

    fn pipeline(&self, scene: &Scene) -> Guard {
        let otlp = Otlp::new().endpoint(&self.address).signals([Signal::Traces]);
        let builder = Pipeline::builder().sink(Sink::file(scene.log())).sink(Sink::otlp(otlp));
        builder.survive(scene.files()).build().unwrap()
    }

    fn take(&self) -> Vec<Span> {
        core::mem::take(&mut *self.received.lock().unwrap())
    }
}

fn operate(pipeline: &Pipeline, returned: &AtomicU64) {
    let mut spans = BTreeMap::<usize, tracing::Span>::new();
    tracing::subscriber::with_default(pipeline.subscriber(), || {
        for op in OPS {
            match *op {
                Start(number) => {
                    let parent = spans.get(&0).and_then(tracing::Span::id);
                    let text = "x".repeat(400);
                    let span =
                        tracing::info_span!(parent: parent, "span", number, text, late = Empty);
                    spans.insert(number, span);
                }
                Values(number) => {
                    spans[&number].record("late", 7);
                }
                Event(number) => spans[&number].in_scope(|| tracing::info!("event of {number}")),
                End(number) => drop(spans.remove(&number)),
                Flush => pipeline.flush(Duration::from_secs(60)).unwrap(),
            }
            // ORDERING: Release, with the Acquire of the observer.
            returned.fetch_add(1, Ordering::Release);
        }
        spans.clear();
    });
}

fn deaths(collector: &Collector) -> Vec<Snapshot> {
    let scene = Scene::new();
    scene.deaths(&collector.counts, || {
        let guard = collector.pipeline(&scene);
        let returned = Arc::clone(&collector.counts.returned);
        // A thread that has logged keeps the store until it ends.
        thread::spawn(move || operate(guard.pipeline(), &returned)).join().unwrap();
    })
}

fn number(span: &Span) -> usize {
    let number = span.attributes.iter().find(|it| it.key == "number").unwrap();
    match number.value.clone().unwrap().value.unwrap() {
        Value::IntValue(number) => usize::try_from(number).unwrap(),
        Value::StringValue(number) => number.parse().unwrap(),
        other => panic!("{other:?}"),
    }
}

fn has(span: &Span, key: &str) -> bool {
    span.attributes.iter().any(|it| it.key == key)
}

/// Asserts that each span is whole, and that a span is there if it had ended before a flush among
/// the first `operations`. The log states how many may be there twice. Returns how many are there.
fn check(scene: &Scene, operations: usize, spans: &[Span], what: &str) -> usize {
    let log = fs::read_to_string(scene.log()).unwrap();
    let doubtful = log.lines().filter_map(|line| {
        line.split_once("the next ")?.1.split_once(" events of ")?.0.parse::<usize>().ok()
    });
    let doubtful: usize = doubtful.sum();
    let mut all = BTreeMap::<usize, Vec<&Span>>::new();
    for span in spans {
        all.entry(number(span)).or_default().push(span);
    }
    let twice: usize = all.values().map(|copies| copies.len() - 1).sum();
    assert!(twice <= doubtful, "{what}: {twice} are there twice, and {doubtful} may be: {log}");
    let flushed = OPS[..operations].iter().rposition(|it| *it == Flush).unwrap_or(0);
    for at in 0..=7 {
        let Some(span) = all.get(&at).and_then(|copies| copies.last()) else {
            assert!(!OPS[..flushed].contains(&End(at)), "{what}: the span {at} is lost");
            continue;
        };
        let has_ended = OPS.contains(&End(at)) || operations == OPS.len();
        assert!(has_ended && !has(span, "tach.unfinished"), "{what}: {at} is open");
        assert!(!has(span, "tach.incomplete"), "{what}: {at}");
        let of = |op: Op| OPS.iter().filter(|it| **it == op).count();
        assert_eq!(has(span, "late"), of(Values(at)) > 0, "{what}: values of {at}");
        assert_eq!(span.events.len(), of(Event(at)), "{what}: events of {at}");
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
    }
    all.len()
}

#[test]
fn a_process_dies_with_spans_after_each_of_its_stores() {
    if !is_alone(a_process_dies_with_spans_after_each_of_its_stores) {
        return;
    }
    // The address is the name of the sink, so it is the same for all.
    let collector = Collector::new();
    let deaths = deaths(&collector);
    let (received, mut there, mut recovered) = (collector.take(), 0, 0);
    assert!(deaths.len() > 100, "{} deaths", deaths.len());
    let every = if std::env::var_os("TACH_DEATHS").is_some() { 1 } else { 5 };
    for (at, death) in deaths.iter().enumerate().step_by(every) {
        let scene = Scene::after(death);
        let recovery = collector.pipeline(&scene);
        recovery.pipeline().flush(Duration::from_secs(60)).unwrap();
        drop(recovery);
        scene.wait();
        let before = &received[..usize::try_from(death.received).unwrap()];
        let again = collector.take();
        recovered += again.len();
        let all = [before, &again].concat();
        let what = format!("death {at} of {}", deaths.len());
        there += check(&scene, usize::try_from(death.returned).unwrap(), &all, &what);
    }
    // A control: enough spans are sent at all. How many deaths there are depends on the rounds.
    assert!(there > 20, "{there} spans");
    assert!(recovered > 5, "{recovered} spans of the batches of processes that died");
}

/// The file of the flight recorder has all that was logged.
#[test]
fn a_process_dies_with_a_flight_recorder_after_each_of_its_stores() {
    if !is_alone(a_process_dies_with_a_flight_recorder_after_each_of_its_stores) {
        return;
    }
    let (scene, counts) = (Scene::new(), Counts::default());
    let deaths = scene.deaths(&counts, || {
        let (guard, returned) = (Collector::recorder(&scene), Arc::clone(&counts.returned));
        thread::spawn(move || operate(guard.pipeline(), &returned)).join().unwrap();
    });
    assert!(deaths.len() > 100, "{} deaths", deaths.len());
    let every = if std::env::var_os("TACH_DEATHS").is_some() { 1 } else { 5 };
    let mut there = 0;
    for (at, death) in deaths.iter().enumerate().step_by(every) {
        let scene = Scene::after(death);
        // The second pipeline finds nothing.
        for _ in 0..2 {
            drop(Collector::recorder(&scene));
            scene.wait();
        }
        let files = fs::read_dir(Collector::flight(&scene)).unwrap();
        let files: Vec<_> = files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect();
        assert!(files.len() < 2, "death {at}: {} files", files.len());
        let data = TracesData::decode(&*files.concat()).unwrap();
        let scopes = data.resource_spans.into_iter().flat_map(|spans| spans.scope_spans);
        let spans: Vec<_> = scopes.flat_map(|scope| scope.spans).collect();
        let what = format!("death {at} of {}", deaths.len());
        // After the end of the pipeline nothing is left, which its file says before it is removed.
        let is_over = death
            .files
            .iter()
            .all(|(_, file)| file.bytes().get(TAKEN).is_some_and(|taken| taken == [0xFF; 8]));
        let operations = if is_over { 0 } else { usize::try_from(death.returned).unwrap() };
        there += check(&scene, operations, &spans, &what);
    }
    assert!(there > 50, "{there} spans");
}
