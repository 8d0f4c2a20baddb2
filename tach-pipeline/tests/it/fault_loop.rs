//! The program of `cargo xtask faults`: one of its system calls fails, and no record is lost
//! uncounted.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs, io, process};

use tach_pipeline::{Builder, Pipeline, Rotation, Sink, SyncPolicy};

use crate::support::{LONG, info};

const RECORDS: u64 = 10_000;
/// The most incidents. Each of the states that may begin is reported at once, and again after one
/// second, two more, and so on.
const FEW: u64 = 20;

/// Returns the folder, if this is the fault loop's program.
fn folder() -> Option<PathBuf> {
    env::var_os("TACH_FAULTS_FOLDER").map(PathBuf::from)
}

/// Not a test: the program.
#[test]
#[ignore = "the program of the fault loop"]
fn program() {
    run(|builder, _| builder);
}

/// Not a test: the program with a file of its queues.
#[test]
#[cfg(feature = "survive")]
#[ignore = "the program of the fault loop"]
fn program_that_survives() {
    run(|builder, folder| builder.survive(folder.join("survivors")));
}

fn run(option: impl FnOnce(Builder, &Path) -> Builder) {
    let Some(folder) = folder() else { return };
    // Wait until strace is attached.
    let _may_fail = io::stdin().read(&mut [0]);
    let incidents = Arc::<AtomicU64>::default();
    let count = Arc::clone(&incidents);
    let rotation = Rotation::new().max_bytes(512 * 1024).keep(1_000);
    let file = Sink::file(folder.join("app.log")).rotate(rotation).sync(SyncPolicy::Every);
    let builder = Pipeline::builder().sink(file).flush_timeout(LONG).on_incident(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let report = match option(builder, &folder).build() {
        Err(error) => format!("not built: {error}"),
        Ok(guard) => {
            let pipeline = guard.pipeline().clone();
            for number in 0..RECORDS {
                info(&pipeline, &format!("{} {number}", "x".repeat(100)));
            }
            drop(guard);
            let stats = pipeline.stats();
            let sink = &stats.sinks()[0];
            let lost = stats.dropped() + sink.dropped() + sink.waiting();
            format!("{lost} {}", incidents.load(Ordering::SeqCst))
        }
    };
    // The call that is made to fail may be one of these.
    let path = folder.join("report");
    (0..9).find(|_| fs::write(&path, &report).is_ok()).unwrap();
    // The test's own output could fail.
    process::exit(0);
}

/// Not a test: reads what the program has written.
#[test]
#[ignore = "the check of the fault loop"]
fn check() {
    let Some(folder) = folder() else { return };
    let report = fs::read_to_string(folder.join("report")).unwrap();
    let mut found = BTreeMap::<u64, u32>::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = if path.is_file() { fs::read_to_string(path).unwrap() } else { continue };
        for line in text.lines().filter(|line| line.contains("app: x")) {
            let number = line.rsplit_once(' ').unwrap().1.parse().unwrap();
            *found.entry(number).or_default() += 1;
        }
    }
    if report.starts_with("not built: ") {
        return assert_eq!(found, BTreeMap::new());
    }
    let numbers: Vec<u64> = report.split(' ').filter_map(|number| number.parse().ok()).collect();
    let [lost, incidents] = numbers[..] else { panic!("{report}") };
    let missing = RECORDS - found.len() as u64;
    assert!(missing <= lost, "{missing} are missing, {lost} are counted");
    assert!(incidents <= FEW, "{incidents} incidents");
    // Only a write that the disk does not confirm is repeated.
    let is_repeated = found.values().any(|times| *times > 1);
    assert!(!is_repeated || env::var("TACH_FAULTS_CALL").is_ok_and(|call| call == "fdatasync"));
}
