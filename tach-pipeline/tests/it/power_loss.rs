//! A model of a machine that loses power: of a file, only the bytes before its last sync are left,
//! and only if the file's name was synced with its folder. What follows may be torn.

use std::collections::HashMap;
use std::env;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use tach_pipeline::{Pipeline, Rotation, Sink, SyncPolicy};
use test_support::test_of_this_program;

use crate::support::{Folder, LONG, info};

const FOLDER: &str = "TACH_PIPELINE_POWER_LOSS";
const RECORDS: usize = 1_000;
const AT_ONCE: usize = 25;

/// Not a test: a program that says when its records are on the disk.
#[test]
#[ignore = "the child of the next test"]
fn flushes() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let rotation = Rotation::new().max_bytes(64 * 1024).keep(1_000);
    let file = Sink::file(Path::new(&folder).join("app.log")).rotate(rotation);
    let guard = Pipeline::builder().sink(file.sync(SyncPolicy::Every)).build().unwrap();
    let mut mark = File::options().write(true).open("/dev/null").unwrap();
    for number in 1..=RECORDS {
        info(guard.pipeline(), &format!("{} {number}", "x".repeat(500)));
        if number % AT_ONCE == 0 {
            guard.pipeline().flush(LONG).unwrap();
            mark.write_all(format!("flushed {number}").as_bytes()).unwrap();
        }
    }
}

/// A file of the model.
#[derive(Default)]
struct Disk {
    written: usize,
    synced: usize,
    /// Whether the folder has the name after a loss of power.
    is_named: bool,
}

/// Returns the path of the first descriptor in a call, as strace prints it.
fn path_of(call: &str) -> Option<&str> {
    call.split_once('<')?.1.split_once('>').map(|(path, _)| path)
}

/// Follows the calls of a program. Calls `flushed` for each of its marks, with the files.
fn replay(trace: &str, mut flushed: impl FnMut(usize, &HashMap<String, Disk>)) {
    let mut files = HashMap::<String, Disk>::new();
    let mut unfinished = HashMap::<&str, String>::new();
    for line in trace.lines() {
        let (thread, call) = line.split_once(' ').unwrap();
        let call = call.trim_start();
        if let Some((begin, _)) = call.split_once(" <unfinished ...>") {
            unfinished.insert(thread, begin.to_owned());
            continue;
        }
        let call = match call.split_once(" resumed>") {
            Some((_, end)) => unfinished.remove(thread).unwrap_or_default() + end,
            None => call.to_owned(),
        };
        let Some((name, _)) = call.split_once('(') else { continue };
        let Some((_, result)) = call.rsplit_once(" = ") else { continue };
        let Some(count) = result.split(['<', ' ']).next().and_then(|it| it.parse::<usize>().ok())
        else {
            continue;
        };
        let texts: Vec<_> = call.split('"').skip(1).step_by(2).collect();
        match (name, path_of(&call)) {
            ("write", Some("/dev/null")) => {
                let number = texts[0].trim_start_matches("flushed ").parse().unwrap();
                flushed(number, &files);
            }
            ("write", Some(path)) => files.entry(path.to_owned()).or_default().written += count,
            ("openat", Some(folder)) if call.contains("O_EXCL") => {
                files.insert(format!("{folder}/{}", texts[0]), Disk::default());
            }
            ("fdatasync", Some(path)) => {
                let file = files.entry(path.to_owned()).or_default();
                file.synced = file.written;
            }
            ("fsync", Some(folder)) => {
                let prefix = format!("{folder}/");
                let of_folder = files.iter_mut().filter(|(path, _)| path.starts_with(&prefix));
                of_folder.for_each(|(_, file)| file.is_named = true);
            }
            // After a loss of power the file has one name or the other.
            ("renameat2", Some(folder)) => {
                let [from, to] = [texts[0], texts[1]].map(|name| format!("{folder}/{name}"));
                let file = files.remove(&from).unwrap();
                files.insert(to, file);
            }
            _ => {}
        }
    }
}

#[test]
fn flushed_records_outlive_a_loss_of_power() {
    let folder = Folder::new("power-loss");
    let trace = env::temp_dir().join(format!("tach-pipeline-power-trace-{}", std::process::id()));
    let child = test_of_this_program("power_loss::flushes");
    let mut strace = Command::new("strace");
    let calls = "trace=openat,write,fdatasync,fsync,renameat2";
    strace.args(["-f", "-qq", "-y", "-s", "64", "-e", calls, "-o"]).arg(&trace);
    strace.arg(child.get_program()).args(child.get_args()).env(FOLDER, folder.path(""));
    let Ok(output) = strace.output() else {
        eprintln!("NOT RUN: flushed_records_outlive_a_loss_of_power needs strace");
        assert_ne!(env::var("TACH_TESTS").as_deref(), Ok("all"));
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(&trace).unwrap();
    fs::remove_file(trace).unwrap();
    let mut marks = 0;
    // A file keeps its contents, and is known by its last name.
    let contents: HashMap<_, _> = fs::read_dir(folder.path(""))
        .unwrap()
        .map(|file| fs::read(file.unwrap().path()).unwrap())
        .map(|text| (first_number(&text), text))
        .collect();
    let mut most_files = 0;
    replay(&text, |number, files| {
        marks += 1;
        let of_log = files.iter().filter(|(path, _)| path.contains("/app.log"));
        let mut left = 0;
        // The first file has the first records, and so on.
        let mut files: Vec<_> = of_log.collect();
        files.sort_by_key(|(path, _)| (path.ends_with("app.log"), (*path).clone()));
        let mut texts: Vec<_> = contents.iter().collect();
        texts.sort();
        for ((_, file), (_, text)) in files.iter().zip(texts) {
            let synced = if file.is_named { &text[..file.synced] } else { &[] };
            left += synced.split(|byte| *byte == b'\n').count() - 1;
        }
        assert!(left >= number, "{left} of {number} are left");
        most_files = files.len().max(most_files);
    });
    assert_eq!(marks, RECORDS / AT_ONCE);
    assert!(most_files > 5, "{most_files}");
}

/// Returns the number of the first record of a file.
fn first_number(text: &[u8]) -> usize {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let number = String::from_utf8_lossy(line).rsplit(' ').next().and_then(|it| it.parse().ok());
    number.unwrap_or(usize::MAX)
}
