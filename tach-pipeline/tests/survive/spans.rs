//! Processes that are killed with spans on their way to a collector and to a flight recorder.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, fs, thread};

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
use crate::scene::{COLLECTOR, Count, Random, Scene, Summary};

/// The spans that a collector has received.
type Received = Arc<Mutex<Vec<Span>>>;

fn builder(scene: &Scene, seed: u64) -> Builder {
    let collector = Otlp::new().endpoint(env::var(COLLECTOR).unwrap());
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
    check(scene, seed, &spans);
    assert_eq!(counted(scene, " cut="), 0, "seed {seed}");
    Summary { spans: spans.len() as u64, ..summary }
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
    // There may be several files: a start may be killed after it wrote a file, and before it stored
    // that.
    let Some(file) = files.first() else {
        let logged: u64 = scene.returned().iter().sum();
        assert_eq!(logged, 0, "seed {seed}: no file");
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
        // Those that had ended and were not taken from the queues are counted in the report.
        let last = own.last().map_or(-1, |(number, _)| *number);
        assert!(last <= i64::try_from(returned).unwrap(), "seed {seed}: {last} of {returned}");
        // The events of the oldest spans are older, and may have made room.
        let mut whole = own.iter().skip_while(|(_, events)| *events == 0);
        assert!(whole.all(|(_, events)| *events == 1), "seed {seed}: {own:?}");
    }
    Summary { spans: spans.len() as u64, ..scene.check(seed) }
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

/// Asserts that each span is whole and there once, and that none is missing before another one of
/// its thread.
fn check(scene: &Scene, seed: u64, spans: &[Span]) {
    let lines = scene.lines();
    let doubtful = lines.iter().filter_map(|line| {
        let (_, rest) = line.split_once("the next ")?;
        rest.split_once(" events of ")?.0.parse::<u64>().ok()
    });
    let mut doubtful: u64 = doubtful.sum();
    let place = scene.folder.display();
    let mut all = BTreeMap::<(&str, i64, i64), &Span>::new();
    for span in spans {
        let of = |key| integer(span, key).unwrap_or(-1);
        let key = (&*span.name, of("thread"), of("number"));
        if all.insert(key, span).is_some() {
            assert!(doubtful > 0, "seed {seed}: {key:?} is there twice, {place}");
            doubtful -= 1;
        }
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano, "seed {seed}: {span:?}");
        assert_eq!(span.dropped_attributes_count + span.dropped_events_count, 0);
        assert!(integer(span, "late").is_some(), "seed {seed}: {span:?}");
        assert!(span.name != "inner" || span.events.len() == 1, "seed {seed}: {span:?}");
    }
    for thread in 0..scene.returned().len() {
        let thread = i64::try_from(thread).unwrap();
        for name in ["inner", "outer"] {
            let of_thread = all.range((name, thread, -1)..=(name, thread, i64::MAX));
            for (number, ((.., is), _)) in (0..).zip(of_thread) {
                assert_eq!(*is, number, "seed {seed}: a span {name} of {thread} is lost, {place}");
            }
        }
    }
}

fn integer(span: &Span, key: &str) -> Option<i64> {
    let field = span.attributes.iter().find(|field| field.key == key)?;
    match field.value.as_ref()?.value.as_ref()? {
        Value::IntValue(value) => Some(*value),
        Value::StringValue(value) => value.parse().ok(),
        _ => None,
    }
}
