//! Processes that are killed with open spans, spans that wait for a tail, and spans on their way.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::{env, fs, process, thread};

use core::mem;
use core::time::Duration;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::{Span, TracesData};
use prost::Message as _;
use tach_pipeline::{
    Builder, FlightFormat, FlightRecorder, Guard, Otlp, Pipeline, Signal, Sink, Tail,
};
use test_support::receiver;

use crate::kills::{kill_after, started};
use crate::scene::{COLLECTOR, Count, FIRST, Random, Scene, Summary};

const UNFINISHED: &str = "tach.unfinished";

/// The spans that a collector has received.
type Received = Arc<Mutex<Vec<Span>>>;

fn builder(scene: &Scene, seed: u64) -> Builder {
    let collector = Otlp::new().endpoint(&env::var(COLLECTOR).unwrap());
    let builder = Pipeline::builder()
        .sink(Sink::file(scene.log("app.log")))
        .sink(Sink::otlp(collector.signals([Signal::Traces])))
        .survive(scene.files());
    let builder = if seed % 2 == 1 { builder.tail(Tail::ratio(1.0)) } else { builder };
    if seed % 3 == 2 { builder.queue_bytes(16 * 1024) } else { builder }
}

/// Returns a pipeline whose spans only a flight recorder takes.
fn recorder(scene: &Scene, seed: u64) -> Builder {
    let format = FlightFormat::otlp(&Otlp::new());
    let recorder = FlightRecorder::new()
        .max_bytes(if seed % 2 == 0 { 64 * 1024 } else { 4 * 1024 * 1024 })
        .folder(scene.folder.join("flight"), format)
        .slower_than(Duration::from_secs(3_600));
    Pipeline::builder()
        .sink(Sink::file(scene.log("app.log")))
        .flight_recorder(recorder)
        .survive(scene.files())
}

fn build(scene: &Scene, seed: u64, role: &str) -> Guard {
    if role.ends_with("recorder") { recorder(scene, seed) } else { builder(scene, seed) }
        .build()
        .unwrap()
}

/// The child that passes on what is left.
pub(crate) fn recover(scene: &Scene, role: &str) {
    build(scene, 0, role).pipeline().flush(Duration::from_secs(60)).unwrap();
}

/// The child with spans: each thread has one span around some spans with an event each.
pub(crate) fn flood(scene: &Scene, seed: u64, role: &str, is_ready: impl FnOnce()) {
    let guard = build(scene, seed, role);
    let mut random = Random(seed);
    let (threads, pause) = (1 + random.size(4), random.of(&[0, 20, 300]));
    thread::scope(|scope| {
        for number in 0..threads {
            let dispatch = tracing::Dispatch::new(guard.pipeline().subscriber());
            scope.spawn(move || {
                tracing::dispatcher::with_default(&dispatch, || units(scene, number, pause));
            });
        }
        is_ready();
    });
}

fn units(scene: &Scene, thread: usize, pause: u64) {
    let (count, mut random, mut at) = (Count::new(scene, thread), Random(thread as u64), 0);
    for number in 0_u64.. {
        let late = tracing::field::Empty;
        let outer = tracing::info_span!("outer", thread, number, late);
        let _entered = outer.enter();
        for _ in 0..random.below(60) {
            let inner = tracing::info_span!("inner", thread, number = at, late);
            inner.record("late", at);
            inner.in_scope(|| tracing::info!("survives {thread} {at} x end"));
            drop(inner);
            at += 1;
            count.set(at);
            if pause > 0 {
                thread::sleep(Duration::from_micros(random.below(pause)));
            }
        }
        outer.record("late", at);
    }
}

/// The exits of a process with open spans.
const EXITS: [&str; 3] = ["exit", "return", "drop the guard"];

/// The child that ends with two open spans. A guard outlives `main`, unless it is dropped.
pub(crate) fn end(scene: &Scene, seed: u64, role: &str) {
    static GUARD: OnceLock<Guard> = OnceLock::new();
    let guard = builder(scene, seed).build().unwrap();
    tracing::subscriber::set_global_default(guard.pipeline().subscriber()).unwrap();
    let thread: usize = env::var(FIRST).unwrap().parse().unwrap();
    let count = Count::new(scene, thread);
    let outer = tracing::info_span!("outer");
    let inner = outer.in_scope(|| tracing::info_span!("inner"));
    // In half of the runs, the spans are in the queues alone.
    if seed % 2 == 1 {
        guard.pipeline().flush(Duration::from_secs(60)).unwrap();
    }
    inner.in_scope(|| tracing::info!("survives {thread} 0 x end"));
    count.set(1);
    mem::forget((outer, inner));
    match role {
        "drop the guard" => drop(guard),
        "abort with spans" => process::abort(),
        _ => {
            let _first = GUARD.set(guard);
            if role == "exit" {
                process::exit(0);
            }
        }
    }
}

/// Asserts that spans that are open at an exit are not passed on by the next process. Those of a
/// process that dies are, as a control.
pub(crate) fn exits(scene: &Scene, seed: u64) -> Summary {
    let received = Received::default();
    let collector = serve(&received);
    let child = |role: &str, first: usize| {
        let mut child = scene.command(role, seed, first);
        child.env(COLLECTOR, &collector).spawn().unwrap().wait().unwrap()
    };
    let exit = EXITS[usize::try_from(seed / 2).unwrap() % EXITS.len()];
    for (thread, role) in ["abort with spans", exit].into_iter().enumerate() {
        let status = child(role, thread);
        assert_eq!(status.success(), role == exit, "seed {seed}: {role}: {status}");
        assert!(child("recover spans", 0).success());
        let spans = received.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(spans.len() == 2 && spans.iter().all(is_unfinished), "{seed}: {role}: {spans:?}");
    }
    let summary = scene.check(seed);
    assert_eq!((summary.reports, summary.records), (1, 2), "seed {seed}: {exit}");
    Summary { unfinished: 2, ..summary }
}

fn is_unfinished(span: &Span) -> bool {
    span.attributes.iter().any(|it| it.key == UNFINISHED)
}

/// Kills a process and then, for some seeds, those that pass its spans on.
pub(crate) fn killed(scene: &Scene, seed: u64) -> Summary {
    let received = Received::default();
    let collector = serve(&received);
    let child = |role: &str| {
        let mut command = scene.command(role, seed, 0);
        command.env(COLLECTOR, &collector).spawn().unwrap()
    };
    kill_after(started(child("spans")), Random(seed ^ 0x5eed).below(60_000));
    let mut random = Random(seed ^ 0xdead);
    for _ in 0..random.below(4) {
        kill_after(child("recover spans"), random.below(20_000));
    }
    let status = child("recover spans").wait().unwrap();
    assert!(status.success(), "{status}");
    let summary = scene.check(seed);
    for line in scene.lines().iter().filter(|line| line.contains("survives ")) {
        let is_within = line.contains("outer") && line.contains("inner");
        assert!(is_within, "seed {seed}: {line:?} lacks its spans");
    }
    let spans = received.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let unfinished = check(scene, seed, &spans);
    let reported = counted(scene, " spans=");
    assert!(unfinished <= reported, "seed {seed}: {unfinished} of {reported} spans");
    assert_eq!(counted(scene, " cut=") + counted(scene, " spans_outside="), 0, "seed {seed}");
    Summary { unfinished, ..summary }
}

/// Kills a process with a flight recorder, and then, for some seeds, those that write its file.
pub(crate) fn recorder_killed(scene: &Scene, seed: u64) -> Summary {
    kill_after(started(scene.child("recorder", seed)), Random(seed ^ 0x5eed).below(60_000));
    let mut random = Random(seed ^ 0xdead);
    for _ in 0..random.below(4) {
        kill_after(scene.child("recover recorder", seed), random.below(30_000));
    }
    let status = scene.child("recover recorder", seed).wait().unwrap();
    assert!(status.success(), "{status}");
    let files = fs::read_dir(scene.folder.join("flight")).unwrap().map(|it| it.unwrap().path());
    let files: Vec<_> = files.filter(|it| it.extension().is_some_and(|it| it == "otlp")).collect();
    let [file] = &files[..] else {
        let logged: u64 = scene.returned().iter().sum();
        let recorded = counted(scene, " recorded=");
        assert!(files.is_empty() && logged + recorded == 0, "seed {seed}: {files:?}");
        return scene.check(seed);
    };
    let data = TracesData::decode(&*fs::read(file).unwrap()).unwrap();
    let scopes = data.resource_spans.into_iter().flat_map(|spans| spans.scope_spans);
    let spans: Vec<_> = scopes.flat_map(|scope| scope.spans).collect();
    for (thread, returned) in scene.returned().into_iter().enumerate() {
        let of = |key, span: &Span| integer(span, key).unwrap_or(-1);
        let thread = i64::try_from(thread).unwrap();
        let own = spans.iter().filter(|it| of("thread", it) == thread && it.name == "inner");
        let mut own: Vec<_> = own.map(|span| (of("number", span), span.events.len())).collect();
        own.sort_unstable();
        let follow = own.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0);
        assert!(follow, "seed {seed}: a span of {thread} is missing or there twice: {own:?}");
        let last = i64::try_from(returned).unwrap() - 1;
        // The newest are there, whatever was logged before.
        let newest = own.iter().find(|(number, _)| *number == last);
        assert!(last < 0 || newest.is_some_and(|it| it.1 == 1), "seed {seed}: {last} in {own:?}");
    }
    let unfinished = spans.iter().filter(|span| is_unfinished(span));
    Summary { unfinished: unfinished.count() as u64, ..scene.check(seed) }
}

/// Returns the sum of a number in the reports about dead processes.
fn counted(scene: &Scene, key: &str) -> u64 {
    let number = |line: &String| {
        let (_, rest) = line.split_once(key)?;
        rest.split(' ').next()?.parse::<u64>().ok()
    };
    let lines = scene.lines();
    let reports = lines.iter().filter(|line| line.contains("ended before it had written"));
    reports.filter_map(number).sum()
}

fn serve(received: &Received) -> String {
    let received = Arc::clone(received);
    receiver::serve_by(move |_, body| {
        let request = ExportTraceServiceRequest::decode(body).unwrap();
        let scopes = request.resource_spans.into_iter().flat_map(|spans| spans.scope_spans);
        let spans = scopes.flat_map(|scope| scope.spans);
        received.lock().unwrap_or_else(PoisonError::into_inner).extend(spans);
        receiver::OK.to_vec()
    })
    .0
}

/// Asserts that each span is there once, as far as its calls had returned. Returns how many are
/// unfinished.
fn check(scene: &Scene, seed: u64, spans: &[Span]) -> u64 {
    let lines = scene.lines();
    let doubtful = lines.iter().filter_map(|line| {
        let (_, rest) = line.split_once("the next ")?;
        rest.split_once(" events of ")?.0.parse::<u64>().ok()
    });
    let mut doubtful: u64 = doubtful.sum();
    let ids: HashSet<_> = spans.iter().map(|span| &span.span_id).collect();
    let mut all = BTreeMap::<(&str, i64, i64), &Span>::new();
    for span in spans {
        let of = |key| integer(span, key).unwrap_or(-1);
        let key = (&*span.name, of("thread"), of("number"));
        if all.insert(key, span).is_some() {
            assert!(
                doubtful > 0,
                "seed {seed}: {key:?} is there twice, {}",
                scene.folder.display()
            );
            doubtful -= 1;
        }
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano, "seed {seed}: {span:?}");
    }
    let mut unfinished = 0;
    for (thread, returned) in scene.returned().into_iter().enumerate() {
        let thread = i64::try_from(thread).unwrap();
        let of = |name: &'static str| {
            all.range((name, thread, -1)..=(name, thread, i64::MAX))
                .map(|(key, span)| (key.2, *span))
        };
        for (name, ended) in [("inner", i64::try_from(returned).unwrap()), ("outer", -1)] {
            let mut next = 0;
            for (number, span) in of(name) {
                let place = scene.folder.display();
                assert_eq!(number, next, "seed {seed}: a span {name} of {thread} is lost, {place}");
                next += 1;
                let is_open = is_unfinished(span);
                let is_last = of(name).next_back().is_some_and(|(last, _)| last == number);
                assert!(!is_open || is_last && number >= ended, "seed {seed}: {span:?} had ended");
                unfinished += u64::from(is_open);
                if name == "inner" {
                    assert!(ids.contains(&span.parent_span_id), "seed {seed}: no parent: {span:?}");
                    if number < ended {
                        assert_eq!(span.events.len(), 1, "seed {seed}: {span:?}");
                        assert_eq!(integer(span, "late"), Some(number), "seed {seed}: {span:?}");
                    }
                } else if !is_last {
                    assert!(integer(span, "late").is_some(), "seed {seed}: {span:?}");
                }
                assert_eq!(span.dropped_attributes_count + span.dropped_events_count, 0);
            }
            let place = scene.folder.display();
            assert!(next >= ended, "seed {seed}: {ended} of {thread} had ended, {next}, {place}");
        }
    }
    unfinished
}

fn integer(span: &Span, key: &str) -> Option<i64> {
    let field = span.attributes.iter().find(|field| field.key == key)?;
    match field.value.as_ref()?.value.as_ref()? {
        Value::IntValue(value) => Some(*value),
        Value::StringValue(value) => value.parse().ok(),
        _ => None,
    }
}
