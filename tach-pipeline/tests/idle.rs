//! Pipelines whose program logs nothing do nothing: none of their threads wakes up. Each kind of
//! sink, a flight recorder and the file of `survive` have logged before.
#![cfg(target_os = "linux")]

use core::time::Duration;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs, io, process, thread};

use log::{Level, Log as _, Record};
use tach_pipeline::{
    Builder, FlightRecorder, Guard, Otlp, Pipeline, Rotation, Sampling, Signal, Sink, Tail,
};
use test_support::receiver::serve;
use tracing::dispatcher;

/// Longer than the back end waits before it looks again at what waits.
const WINDOW: Duration = Duration::from_secs(3);
/// Long enough for any machine to come to rest.
const LONG: Duration = Duration::from_secs(60);

/// Returns how often each thread of a pipeline has slept, by its number.
fn sleeps() -> BTreeMap<String, u64> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let sleeps = tasks.filter_map(|task| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let value = |key: &str| status.lines().find_map(|line| line.strip_prefix(key));
        let number = value("voluntary_ctxt_switches:")?.trim().parse().ok()?;
        let is_ours = value("Name:")?.trim().starts_with("tach-");
        is_ours.then(|| (task.file_name().to_string_lossy().into_owned(), number))
    });
    sleeps.collect()
}

/// Returns the threads that wake up meanwhile.
fn woken(names: &BTreeMap<String, &'static str>) -> Vec<String> {
    let before = sleeps();
    thread::sleep(WINDOW);
    let after = sleeps();
    let woken = before.iter().filter_map(|(task, before)| {
        let times = after.get(task)?.checked_sub(*before).filter(|times| *times > 0)?;
        Some(format!("{}: {times}", names.get(task).unwrap_or(&"another")))
    });
    woken.collect()
}

fn log_one(guard: &Guard) {
    let record = Record::builder().level(Level::Info).target("app").args(format_args!("a")).build();
    guard.pipeline().log(&record);
}

/// Builds a pipeline that has logged a record and a span.
fn quiet(builder: Builder) -> Guard {
    let guard = builder.build().unwrap();
    log_one(&guard);
    dispatcher::with_default(&guard.pipeline().subscriber().into(), || {
        tracing::info_span!("span").in_scope(|| tracing::info!("within"));
    });
    guard.pipeline().flush(LONG).unwrap();
    guard
}

/// The indexes of the builders with one file, and with a file beside another sink.
const FILE: usize = 1;
const SEVERAL: usize = 3;

fn builders(folder: &Path) -> Vec<(&'static str, Builder)> {
    let file = |name| Sink::file(folder.join(name));
    let new = Pipeline::builder;
    let collector = |signals: &[Signal]| {
        Sink::otlp(Otlp::new().endpoint(&serve().0).signals(signals.iter().copied()))
    };
    let recorder = FlightRecorder::new();
    let tail = Tail::ratio(0.5).max_delay(Duration::from_secs(1));
    vec![
        ("stderr", new().sink(Sink::stderr())),
        ("file", new().sink(file("file"))),
        ("rotation", new().sink(file("rotation").rotate(Rotation::new().daily()))),
        ("several", new().sink(file("several")).sink(Sink::writer("none", io::sink()))),
        ("logs", new().sink(collector(&[Signal::Logs]))),
        ("spans", new().sink(collector(&[Signal::Logs, Signal::Traces]))),
        ("tail", new().sink(collector(&[Signal::Traces])).tail(tail)),
        ("sampled", new().sink(collector(&[Signal::Traces])).sampling(Sampling::ratio(0.5))),
        ("metrics", new().sink(collector(&[Signal::Metrics]))),
        ("repeats", new().sink(file("repeats")).collapse_repeats().rate_limit(5)),
        ("recorder", new().sink(file("recorder")).flight_recorder(recorder)),
        ("survive", new().sink(file("survive")).survive(folder.join("kept"))),
    ]
}

#[test]
fn nothing_wakes_up_for_nothing() {
    let folder: PathBuf = env::temp_dir().join(format!("tach-pipeline-idle-{}", process::id()));
    fs::create_dir(&folder).unwrap();
    let (mut guards, mut names) = (Vec::new(), BTreeMap::new());
    for (name, builder) in builders(&folder) {
        guards.push(quiet(builder));
        for task in sleeps().into_keys() {
            names.entry(task).or_insert(name);
        }
    }
    let start = Instant::now();
    loop {
        // Memory is freed a few seconds later.
        let woken = woken(&names);
        if woken.is_empty() {
            break;
        }
        assert!(start.elapsed() < LONG, "{woken:?}");
    }
    // A request wakes the back end. If it does not, the test runner notices.
    for (guard, name) in [(FILE, "file"), (SEVERAL, "several")] {
        fs::rename(folder.join(name), folder.join("moved")).unwrap();
        guards[guard].pipeline().reopen();
        while !folder.join(name).exists() {
            thread::sleep(Duration::from_millis(1));
        }
        fs::rename(folder.join("moved"), folder.join(name)).unwrap();
        guards[guard].pipeline().reopen();
        guards[guard].pipeline().flush(LONG).unwrap();
    }
    // A call wakes the back end too.
    log_one(&guards[FILE]);
    let lines = || fs::read_to_string(folder.join("file")).unwrap().lines().count();
    while lines() < 3 {
        thread::sleep(Duration::from_millis(1));
    }
    // The control: a record waits for a collector that is away.
    let nobody = Otlp::new().endpoint("http://127.0.0.1:1").signals([Signal::Logs]);
    let builder = Pipeline::builder().sink(Sink::otlp(nobody)).without_flush_at_exit();
    let guard = builder.flush_timeout(Duration::ZERO).on_incident(|_| {}).build().unwrap();
    log_one(&guard);
    // A thread that has just started may have no name yet.
    while woken(&names).is_empty() {
        assert!(start.elapsed() < 2 * LONG, "a record waits, and nothing wakes up");
    }
    drop((guard, guards));
    fs::remove_dir_all(&folder).unwrap();
}
