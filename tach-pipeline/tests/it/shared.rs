//! Several processes, or pipelines, that write and rotate one path.

use std::env;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::process::{self, Stdio};
use std::thread;
use std::time::Instant;

use flate2::read::GzDecoder;
use tach_pipeline::{Guard, Names, Pipeline, Rotation, Sink, kind};
use test_support::this_program;

use crate::support::{Folder, LONG, info};

/// The variables with the path for the children of a test, and with the names of old files.
const PATH: &str = "TACH_TEST_SHARED_PATH";
const NAMES: &str = "TACH_TEST_SHARED_NAMES";
/// The kinds of names.
const ALL: [Names; 4] = [Names::Times, Names::Dates, Names::DatesBeforeExtension, Names::Numbers];
/// How many records each child writes.
const RECORDS: usize = 20_000;
/// The default, and that of a file that stays open when another process rotates it.
const FOLLOWS_AND_NOT: [fn(Sink<kind::File>) -> Sink<kind::File>; 2] =
    [|sink| sink, Sink::keep_open];

fn build(folder: &Folder, rotation: Rotation) -> Guard {
    let sink = Sink::file(folder.path("app.log")).rotate(rotation);
    Pipeline::builder().sink(sink).build().unwrap()
}

/// Returns the names in the folder, sorted.
fn names(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(folder.path("")).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn read(folder: &Folder, name: &str) -> String {
    let (mut file, mut text) = (File::open(folder.path(name)).unwrap(), String::new());
    let is_compressed = Path::new(name).extension() == Some("gz".as_ref());
    let read = if is_compressed {
        GzDecoder::new(file).read_to_string(&mut text)
    } else {
        file.read_to_string(&mut text)
    };
    read.unwrap();
    text
}

/// Returns the messages in all files, sorted.
fn messages(folder: &Folder) -> Vec<String> {
    let texts: Vec<_> = names(folder).iter().map(|name| read(folder, name)).collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    let mut messages: Vec<_> =
        lines.map(|line| line.rsplit_once(": ").unwrap().1.to_owned()).collect();
    messages.sort();
    messages
}

fn compresses(rotation: Rotation) -> Rotation {
    #[cfg(feature = "gzip")]
    return rotation.gzip();
    #[cfg(not(feature = "gzip"))]
    rotation
}

/// Not a test: the child of the next test, which rotates the path every 64 KiB.
#[test]
fn writes() {
    let Some(path) = env::var_os(PATH) else { return };
    let (path, name) = (Path::new(&path), process::id());
    let names = ALL[env::var(NAMES).unwrap().parse::<usize>().unwrap()];
    let rotation = Rotation::new().max_bytes(64 * 1024).names(names);
    let sink = Sink::file(path).rotate(compresses(rotation));
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    for number in 0..RECORDS {
        info(guard.pipeline(), &format!("{name} {number:05}"));
        if number % 50 == 0 {
            guard.pipeline().flush(LONG).unwrap();
        }
    }
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(
        guard.pipeline().stats().sinks()[0].failures(),
        0,
        "{names:?} {:?}",
        guard.pipeline().stats()
    );
}

#[test]
fn what_several_processes_write_to_one_path_is_in_its_files_once() {
    for (at, rotated) in ALL.into_iter().enumerate() {
        let folder = Folder::new("shared-race");
        let children = [(); 3].map(|()| {
            let mut child = this_program();
            child.args(["--exact", "shared::writes", "--nocapture"]);
            child.env(PATH, folder.path("app.log")).env(NAMES, at.to_string());
            child.stdout(Stdio::null()).spawn().unwrap()
        });
        let mut expected = Vec::new();
        for mut child in children {
            let name = child.id();
            assert!(child.wait().unwrap().success());
            expected.extend((0..RECORDS).map(|number| format!("{name} {number:05}")));
        }
        expected.sort();
        // The children left files that were still to be compressed.
        let _pipeline = build(&folder, compresses(Rotation::new().daily().names(rotated)));
        let old = |name: &String| name != "app.log";
        let is_done = |name: &String| Path::new(name).extension() == Some("gz".as_ref());
        let start = Instant::now();
        while cfg!(feature = "gzip") && !names(&folder).iter().filter(|it| old(it)).all(is_done) {
            assert!(start.elapsed() < LONG, "{:?}", names(&folder));
            thread::yield_now();
        }
        let found = messages(&folder);
        let is_missing = |record: &&String| found.binary_search(record).is_err();
        let missing: Vec<_> = expected.iter().filter(is_missing).take(5).collect();
        assert_eq!((missing, found.len()), (vec![], expected.len()), "{rotated:?}");
        assert!(names(&folder).len() > 10);
    }
}

/// One pipeline rotates, and the other one still writes to the old file.
#[cfg(feature = "gzip")]
#[test]
fn an_old_file_is_compressed_once_nobody_writes_it() {
    let folder = Folder::new("shared-late");
    let rotation = Rotation::new().daily().gzip();
    let (one, other) = (build(&folder, rotation), build(&folder, rotation));
    info(other.pipeline(), "early");
    other.pipeline().flush(LONG).unwrap();
    one.pipeline().rotate();
    info(one.pipeline(), "new");
    let start = Instant::now();
    while names(&folder).len() < 2 {
        assert!(start.elapsed() < LONG, "the file is never rotated");
        one.pipeline().flush(LONG).unwrap();
    }
    one.pipeline().flush(LONG).unwrap();
    // The thread that would compress the file ends with the pipeline.
    drop(one);
    let before = names(&folder);
    assert!(before.len() == 2 && before[1].ends_with('Z'), "{before:?}");
    let start = Instant::now();
    let mut late = 0;
    while names(&folder)[1].ends_with('Z') {
        assert!(start.elapsed() < LONG, "the old file is never compressed");
        info(other.pipeline(), "late");
        late += 1;
        other.pipeline().flush(LONG).unwrap();
    }
    let found = messages(&folder);
    let count = |text: &str| found.iter().filter(|message| *message == text).count();
    assert_eq!((count("early"), count("new"), count("late")), (1, 1, late));
}

/// Another program takes the lock, and keeps it.
#[test]
fn a_lock_of_another_program_delays_no_write() {
    let folder = Folder::new("shared-locked");
    let path = folder.path("app.log");
    let file = File::create(&path).unwrap();
    assert!(tach_files::try_lock(&file));
    let guard = build(&folder, Rotation::new().daily());
    info(guard.pipeline(), "written");
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(messages(&folder), ["written"]);
}

/// Another program had the lock when the file was opened, and no longer has it.
#[cfg(unix)]
#[test]
fn a_lock_that_was_refused_is_taken_later() {
    let folder = Folder::new("shared-locked-first");
    for (name, options) in ["followed", "kept"].iter().zip(FOLLOWS_AND_NOT) {
        let path = folder.path(name);
        let sink = options(Sink::file(&path).rotate(Rotation::new().daily()));
        let file = File::create(&path).unwrap();
        assert!(tach_files::try_lock(&file));
        let guard = Pipeline::builder().sink(sink).build().unwrap();
        drop(file);
        let start = Instant::now();
        while tach_files::try_lock(&File::open(&path).unwrap()) {
            assert!(start.elapsed() < LONG, "the lock is never taken");
            info(guard.pipeline(), "written");
            guard.pipeline().flush(LONG).unwrap();
        }
    }
}

/// The pipeline that rotates has written nothing itself.
#[test]
fn a_file_that_only_another_pipeline_wrote_is_rotated_on_demand() {
    let folder = Folder::new("shared-demand");
    let [one, other] = [(); 2].map(|()| build(&folder, Rotation::new().daily()));
    info(one.pipeline(), "old");
    one.pipeline().flush(LONG).unwrap();
    other.pipeline().rotate();
    other.pipeline().flush(LONG).unwrap();
    info(other.pipeline(), "new");
    other.pipeline().flush(LONG).unwrap();
    let texts: Vec<_> = names(&folder).iter().map(|name| read(&folder, name)).collect();
    assert!(texts.len() == 2 && texts[0].ends_with("new\n"), "{texts:?}");
}

/// What one pipeline writes counts for the other one too, even if the other does not follow.
#[test]
fn a_file_of_two_pipelines_is_rotated_by_its_length() {
    const MOST: u64 = 10_000_000;
    for options in FOLLOWS_AND_NOT {
        let folder = Folder::new("shared-length");
        let one = build(&folder, Rotation::new().daily());
        let sink = options(Sink::file(folder.path("app.log")));
        let other = sink.rotate(Rotation::new().max_bytes(MOST));
        let other = Pipeline::builder().sink(other).build().unwrap();
        let long = "x".repeat(100_000);
        (0..100).for_each(|_| info(one.pipeline(), &long));
        one.pipeline().flush(LONG).unwrap();
        let start = Instant::now();
        while names(&folder).len() == 1 {
            assert!(start.elapsed() < LONG, "the file is never rotated");
            info(other.pipeline(), "short");
            other.pipeline().flush(LONG).unwrap();
        }
        // A pipeline checks the length once a second.
        let bytes = other.pipeline().stats().sinks()[0].bytes();
        assert!(bytes < MOST / 2, "{bytes}");
    }
}
