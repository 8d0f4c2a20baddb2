//! A library that logs is unloaded, and a later build of it takes its place. The test has a process
//! of its own, whose first pipeline copies texts.
#![expect(unsafe_code, reason = "loads a library")]

use core::time::Duration;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};
use std::{env, fs, process};

use libloading::Library;
use log::Log;
use serde_json::Value;
use tach_log::{Json, Part};
use tach_pipeline::{Durations, FlightFormat, FlightRecorder, Pipeline, Sink};
use test_support::Captured;
use tracing::Dispatch;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry;

const BUILDS: [&str; 2] = ["of the first build", "of the later build"];
const ROUNDS: usize = 1_000;
/// How many times each of the four records is logged in a round.
const RECORDS: usize = 25;
/// Long enough for any machine.
const LONG: Duration = Duration::from_secs(60);

type Work = extern "Rust" fn(&'static dyn Log, Dispatch, usize);

/// Returns the library that cargo has built beside this test.
fn library() -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap();
    folder.join("examples").join(format!("{DLL_PREFIX}plugin{DLL_SUFFIX}"))
}

/// Writes the builds to `folder`, and returns their paths.
fn builds(folder: &Path) -> Option<[PathBuf; 2]> {
    let path = library();
    let Ok(library) = fs::read(&path) else {
        // `cargo test` builds the library, and `cargo test --test plugins` does not.
        let is_required = env::var("TACH_TESTS").is_ok_and(|tests| tests == "all");
        assert!(!is_required, "{} is missing", path.display());
        eprintln!("NOT RUN: {} is missing", path.display());
        return None;
    };
    Some(BUILDS.map(|build| {
        let (first, build) = (BUILDS[0].as_bytes(), build.as_bytes());
        let (mut changed, mut at) = (library.clone(), 0);
        while let Some(next) = library[at..].windows(first.len()).position(|it| it == first) {
            changed[at + next..][..first.len()].copy_from_slice(build);
            at += next + first.len();
        }
        let path = folder.join(String::from_utf8_lossy(build).replace(' ', "-"));
        fs::write(&path, changed).unwrap();
        path
    }))
}

fn is_mapped(path: &Path) -> bool {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.contains(path.to_str().unwrap())
}

/// Returns the message, the target, the span and the field of the records that a call logs.
fn expected(build: &str, number: usize) -> [[String; 4]; 4] {
    let (message, target) = (format!("{build}, record {number}"), format!("plugin::{build}"));
    let records = [
        [build, "plugin", "", ""],
        [&message, &target, "", &number.to_string()],
        [build, "plugin", "", &number.to_string()],
        ["in a span", "plugin", build, &number.to_string()],
    ];
    records.map(|record| record.map(str::to_owned))
}

fn found(line: &str) -> [String; 4] {
    let line: Value = serde_json::from_str(line).unwrap();
    let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
    assert!(text("file").ends_with("plugin.rs") && line["line"].is_u64(), "{line}");
    let field = ["key", "rows", "number"].into_iter().find_map(|key| line[key].as_u64());
    let field = field.map(|number| number.to_string()).unwrap_or_default();
    [text("msg"), text("target"), text("span"), field]
}

#[test]
fn a_library_that_has_logged_may_be_unloaded() {
    let folder = env::temp_dir().join(format!("tach-pipeline-plugins-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    let Some(builds) = builds(&folder) else { return };
    let captured = Captured::default();
    let json = Json::new().with("file", Part::File).with("line", Part::Line);
    let guard = Pipeline::builder()
        .copy_texts()
        .sink(Sink::writer("memory", captured.clone()).format(json))
        .flight_recorder(FlightRecorder::new())
        .durations(Durations::new())
        .rate_limit(u32::MAX)
        .build()
        .unwrap();
    let logger: &'static Pipeline = Box::leak(Box::new(guard.pipeline().clone()));
    let roads = [
        Dispatch::new(guard.pipeline().subscriber()),
        Dispatch::new(registry().with(guard.pipeline().clone())),
    ];
    for round in 0..ROUNDS {
        let path = &builds[round % 2];
        // SAFETY: the library has no code that runs when it is loaded.
        let library = unsafe { Library::new(path) }.unwrap();
        // SAFETY: the function has this type.
        let work = unsafe { library.get::<Work>(b"work") }.unwrap();
        work(logger, roads[round / 2 % 2].clone(), RECORDS);
        library.close().unwrap();
        assert!(!is_mapped(path), "nothing keeps it loaded");
    }
    guard.pipeline().flush(LONG).unwrap();
    let text = captured.text();
    let mut lines = text.lines();
    for round in 0..ROUNDS {
        for expected in (0..RECORDS).flat_map(|number| expected(BUILDS[round % 2], number)) {
            assert_eq!(found(lines.next().unwrap()), expected, "round {round}");
        }
    }
    assert_eq!(lines.next(), None);
    let mut spans = Vec::new();
    guard.pipeline().write_flight(&mut spans, &FlightFormat::trace_events(), LONG).unwrap();
    let spans = String::from_utf8(spans).unwrap();
    let names: Vec<_> =
        guard.pipeline().durations().iter().map(|it| it.name().to_owned()).collect();
    for build in BUILDS {
        assert!(spans.contains(build) && names.iter().any(|it| it == build), "{names:?}");
    }
    fs::remove_dir_all(&folder).unwrap();
}
