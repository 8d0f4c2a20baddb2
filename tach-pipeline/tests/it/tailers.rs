//! Programs that remember where they stopped reading, beside a rotation.
//!
//! The programs are `logtail2`, of Debian's package logtail, and `pygtail`, of the Python package
//! index. Without them these tests check nothing.

use core::time::Duration;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Instant;

use tach_core::{ManualClock, UnixTime};
use tach_pipeline::{Names, Pipeline, Rotation, Sink};

use crate::support::{Folder, LONG, info};

const LINES: usize = 30_000;
/// How many lines there are between two calls of the program: less than a file, and a number that
/// does not divide it.
const CALLS: usize = 700;
/// How many lines are written at once.
const WRITES: usize = 50;
/// How many lines have one day by the pipeline's clock.
const DAY: usize = 3_000;

/// Returns the path of a program, if it is installed.
fn installed(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let found = env::split_paths(&path).map(|folder| folder.join(name)).find(|it| it.is_file());
    if found.is_none() {
        eprintln!("NOT RUN: {name} is not installed");
    }
    found
}

fn has_plain_files(folder: &Folder) -> usize {
    let names = fs::read_dir(folder.path("")).unwrap().map(|it| it.unwrap().file_name());
    names.filter(|name| Path::new(name).extension() != Some("gz".as_ref())).count()
}

/// Writes 30,000 lines, calls the program every 700 lines, and returns the messages that it
/// printed.
fn tailed(program: &Path, rotation: Rotation, compresses: bool) -> Vec<String> {
    let name = program.file_name().unwrap().to_str().unwrap();
    // The state of the program is no file of the log's folder.
    let [folder, state] = ["tailed", "tailer"].map(|it| Folder::new(&format!("{it}-{name}")));
    let (log, offset) = (folder.path("app.log"), state.path("offset"));
    let clock: &ManualClock = Box::leak(Box::new(ManualClock::new(UnixTime::EPOCH)));
    clock.set("2026-11-20T12:00:00Z".parse().unwrap());
    let sink = Sink::file(&log).rotate(rotation);
    let guard = Pipeline::builder().with_clock(clock).sink(sink).build().unwrap();
    let mut text = String::new();
    for number in 0..LINES {
        if number > 0 && number % DAY == 0 {
            clock.advance(Duration::from_secs(24 * 60 * 60));
        }
        info(guard.pipeline(), &number.to_string());
        // A rotation comes between two writes, and so between two calls.
        if number % WRITES == WRITES - 1 {
            guard.pipeline().flush(LONG).unwrap();
        }
        if number % CALLS == CALLS - 1 || number == LINES - 1 {
            guard.pipeline().flush(LONG).unwrap();
            // The log and the youngest old file stay uncompressed.
            let start = Instant::now();
            while compresses && has_plain_files(&folder) > 2 {
                assert!(start.elapsed() < LONG, "the old files are not compressed");
                thread::sleep(Duration::from_millis(1));
            }
            let mut tailer = Command::new(program);
            if program.ends_with("logtail2") {
                tailer.arg("-f").arg(&log).arg("-o").arg(&offset);
            } else {
                tailer.arg("-o").arg(&offset).arg(&log);
            }
            let output = tailer.output().unwrap();
            assert!(output.status.success(), "{output:?}");
            text.push_str(&String::from_utf8(output.stdout).unwrap());
        }
    }
    // A file that was compressed too early may be read with an offset within another one.
    text.lines().map(|line| line.rsplit(' ').next().unwrap_or_default().to_owned()).collect()
}

fn expected() -> Vec<String> {
    (0..LINES).map(|number| number.to_string()).collect()
}

fn delayed(rotation: Rotation) -> (Rotation, bool) {
    #[cfg(feature = "gzip")]
    return (rotation.delay_gzip(), true);
    #[cfg(not(feature = "gzip"))]
    (rotation, false)
}

/// Checks that the program reads each line once with each kind of names that it knows. It does not
/// know the default names.
fn check(name: &str) {
    let Some(program) = installed(name) else { return };
    let size = Rotation::new().max_bytes(150_000);
    for (rotation, compresses) in [
        (size.names(Names::Numbers), false),
        delayed(size.names(Names::Numbers)),
        delayed(Rotation::new().daily().names(Names::Dates)),
    ] {
        let found = tailed(&program, rotation, compresses);
        assert_eq!(found.len(), LINES, "{name} {rotation:?}");
        assert!(found == expected(), "{name} {rotation:?}");
    }
    let found = tailed(&program, size, false);
    assert!(found.len() < LINES, "{name} knows the default names");
}

#[test]
fn logtail2_reads_each_line_once() {
    check("logtail2");
}

#[test]
fn pygtail_reads_each_line_once() {
    check("pygtail");
}
