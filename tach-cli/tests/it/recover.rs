//! `tach recover`, with the files of processes that were killed.

use core::time::Duration;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::{env, fs, thread};

use serde_json::Value;
use tach_log::{Event, Format};
use tach_pipeline::{Otlp, Pipeline, Signal, Sink};
use test_support::receiver;

use crate::support::{Folder, Run, run, tach};

const ROLE: &str = "TACH_CLI_LOGS_IN";
/// What the child's sink does: it hangs, or it is a collector that nobody can reach.
const SINK: &str = "TACH_CLI_LOGS_TO";
const HANGS: &str = "hangs";
const COLLECTS: &str = "collector";
/// An open span of a child with a collector.
const SPAN: &str = "a span that never ends";
const RECORDS: usize = 5;
/// An integer that readers whose numbers are doubles round.
const LARGE: u64 = u64::MAX;

/// A program that logs, and then hangs until it is killed. In a test run it does nothing.
#[test]
fn child_that_logs() {
    let Some(folder) = env::var_os(ROLE).map(PathBuf::from) else { return };
    let sink: Sink = if env::var(SINK).unwrap() == HANGS {
        Sink::file(folder.join("app.log")).format(Hangs).into()
    } else {
        let collector = Otlp::new().endpoint("http://127.0.0.1:1");
        Sink::otlp(collector.signals([Signal::Logs, Signal::Traces])).into()
    };
    let pipeline = Pipeline::builder().sink(sink).survive(folder.join("survivors"));
    let pipeline = pipeline.build().unwrap();
    thread::Builder::new()
        .name("worker".to_owned())
        .spawn(move || {
            for number in 0..RECORDS {
                let pairs = [("number", number as u64), ("large", LARGE)];
                let mut record = log::Record::builder();
                let record = record.target("app").key_values(&pairs);
                let args = format_args!("killed\nwith {number}");
                log::Log::log(&*pipeline, &record.args(args).build());
            }
            let spans = tracing::Dispatch::new(pipeline.subscriber());
            let span = || tracing::info_span!(SPAN);
            let _span = tracing::dispatcher::with_default(&spans, span);
            if env::var(SINK).unwrap() != HANGS {
                // The sink has all of them.
                pipeline.flush(Duration::from_secs(60)).unwrap_err();
            }
            let mut stdout = io::stdout();
            stdout.write_all(b"\nlogged\n").unwrap();
            stdout.flush().unwrap();
            hang()
        })
        .unwrap()
        .join()
        .unwrap();
}

/// Keeps the back end at its first record.
struct Hangs;

impl Format for Hangs {
    fn write(&self, _: &Event<'_>, _: &mut Vec<u8>) -> io::Result<()> {
        hang()
    }
}

fn hang() -> ! {
    loop {
        thread::park();
    }
}

/// Starts the child, and waits until it has logged.
fn child(folder: &Folder, sink: &str) -> Child {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["recover::child_that_logs", "--exact", "--nocapture"])
        .env(ROLE, folder.path())
        .env(SINK, sink)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line == "logged"));
    child
}

fn killed(folder: &Folder) -> u32 {
    let mut child = child(folder, HANGS);
    child.kill().unwrap();
    child.wait().unwrap();
    child.id()
}

fn recover(folder: &Folder, more: &[&str]) -> Run {
    let survivors = folder.path().join("survivors");
    let mut all = vec!["recover", survivors.to_str().unwrap()];
    all.extend(more);
    run(&mut tach(&all))
}

#[test]
fn a_killed_process_has_left_its_records() {
    let folder = Folder::new("recover-lines");
    let pid = killed(&folder);
    for _ in 0..2 {
        let found = recover(&folder, &[]);
        assert_eq!((found.status, &*found.stderr), (Some(0), ""), "{}", found.stdout);
        let lines: Vec<_> = found.stdout.lines().collect();
        assert_eq!(lines.len(), 1 + RECORDS, "{lines:?}");
        let about = format!("process {pid} (");
        assert!(lines[0].starts_with(&about), "{}", lines[0]);
        assert!(lines[0].ends_with(&format!(": {RECORDS} records follow")), "{}", lines[0]);
        for (number, line) in lines[1..].iter().enumerate() {
            let end = format!(
                "Z INFO  app: killed\\nwith {number} recovered_pid={pid} number={number} \
                 large={LARGE} thread=worker"
            );
            assert!(line.contains(&end), "{line}");
        }
    }
    let found = recover(&folder, &["--remove"]);
    assert_eq!(found.stdout.lines().count(), 1 + RECORDS);
    let found = recover(&folder, &[]);
    assert_eq!((found.status, &*found.stdout), (Some(0), ""));
    assert!(found.stderr.contains("has no records"), "{}", found.stderr);
}

/// The next start of the program passes on what was only read.
#[test]
fn objects_say_the_same_and_the_next_start_has_all() {
    let folder = Folder::new("recover-json");
    let pid = killed(&folder);
    let found = recover(&folder, &["--json"]);
    let lines = found.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    assert_eq!(lines[0]["process"], pid);
    assert_eq!(lines[0]["records"], RECORDS);
    assert_eq!(lines[0]["alive"], false);
    for (number, line) in lines[1..].iter().enumerate() {
        assert_eq!(line["msg"], format!("killed\nwith {number}"));
        assert_eq!((&line["number"], &line["recovered_pid"]), (&number.into(), &pid.into()));
        // tach-log's JSON: a number, unlike tach's own integers of this size.
        assert_eq!(line["large"], LARGE);
        assert_eq!(line["thread"], "worker");
        assert!(line["ts"].as_str().unwrap().ends_with('Z'));
    }
    let log = folder.path().join("app.log");
    let sink = Sink::file(&log);
    let survivors = folder.path().join("survivors");
    drop(Pipeline::builder().sink(sink).survive(survivors).build().unwrap());
    let text = fs::read_to_string(log).unwrap();
    assert_eq!(text.matches("killed").count(), RECORDS, "{text}");
}

/// A collector gets each record once, and what the process was sending to a collector itself.
#[test]
fn a_collector_gets_what_is_left() {
    let folder = Folder::new("recover-otlp");
    // Both live at the same time, so neither passes the other one's records on.
    for mut child in [HANGS, COLLECTS].map(|sink| child(&folder, sink)) {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let (address, requests) = receiver::serve();
    let found = recover(&folder, &["--otlp", &address, "--remove"]);
    assert_eq!((found.status, &*found.stderr), (Some(0), ""), "{}", found.stdout);
    assert_eq!(found.stdout.lines().count(), 2, "a line about each process: {}", found.stdout);
    let bodies: Vec<_> = requests.try_iter().collect();
    let of_spans = bodies.iter().filter(|(path, _)| path == "/v1/traces");
    let spans = of_spans.map(|(_, body)| String::from_utf8_lossy(body)).collect::<String>();
    assert_eq!(spans.matches(SPAN).count(), 1, "{spans:?}");
    assert!(spans.contains("tach.unfinished"), "{spans:?}");
    let bodies = bodies.iter().map(|(_, body)| String::from_utf8_lossy(body)).collect::<String>();
    for number in 0..RECORDS {
        let times = bodies.matches(&format!("killed\nwith {number}")).count();
        assert_eq!(times, 2, "once for each process: {bodies:?}");
    }
    assert!(recover(&folder, &[]).stderr.contains("has no records"));
}

#[test]
fn a_busy_collector_is_tried_again() {
    let folder = Folder::new("recover-otlp-busy");
    killed(&folder);
    let busy = b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";
    let (address, requests) = receiver::serve_answers(vec![busy.to_vec(), receiver::OK.to_vec()]);
    let found = recover(&folder, &["--otlp", &address]);
    assert_eq!((found.status, &*found.stderr), (Some(0), ""), "{}", found.stdout);
    let [(_, first), (_, second)] = &requests.try_iter().collect::<Vec<_>>()[..] else { panic!() };
    assert_eq!(first, second);
}

/// The file stays.
#[test]
fn a_collector_that_accepts_nothing_is_an_error() {
    let folder = Folder::new("recover-otlp-error");
    killed(&folder);
    let refusal = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
    let (address, _requests) = receiver::serve_answers(vec![refusal.to_vec()]);
    let found = recover(&folder, &["--otlp", &address, "--remove"]);
    assert_eq!(found.status, Some(3));
    assert!(found.stderr.contains("refuses what it is sent"), "{}", found.stderr);
    assert_eq!(recover(&folder, &[]).stdout.lines().count(), 1 + RECORDS);
}

#[test]
fn a_living_process_is_peeked_at() {
    let folder = Folder::new("recover-peek");
    let mut child = child(&folder, HANGS);
    let refused = recover(&folder, &[]);
    assert_eq!((refused.status, &*refused.stdout), (Some(1), ""));
    assert!(refused.stderr.contains("a living process uses the file"), "{}", refused.stderr);
    assert!(refused.stderr.contains("peek reads it"), "{}", refused.stderr);
    for _ in 0..2 {
        let found = recover(&folder, &["--peek"]);
        assert_eq!(found.status, Some(0), "{}", found.stderr);
        assert_eq!(found.stdout.lines().count(), 1 + RECORDS, "{}", found.stdout);
        let about = found.stdout.lines().next().unwrap();
        assert!(about.contains("is alive"), "{about}");
    }
    // It lives on, with its lock.
    assert!(child.try_wait().unwrap().is_none());
    assert_eq!(recover(&folder, &[]).status, Some(1));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(recover(&folder, &[]).stdout.lines().count(), 1 + RECORDS);
}

#[test]
fn what_can_not_be_read_is_said() {
    let folder = Folder::new("recover-errors");
    let missing = recover(&folder, &[]);
    assert_eq!(missing.status, Some(3));
    assert_eq!(missing.stderr.matches("there is no such folder").count(), 1, "{}", missing.stderr);
    killed(&folder);
    let mut files = fs::read_dir(folder.path().join("survivors")).unwrap();
    let path = files.next().unwrap().unwrap().path();
    let bytes = fs::read(&path).unwrap();
    for (at, wanted) in [(8, "another version of tach-pipeline"), (40, "the file is damaged")] {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x55;
        fs::write(&path, bytes).unwrap();
        let found = recover(&folder, &["--remove"]);
        assert_eq!((found.status, &*found.stdout), (Some(1), ""));
        assert!(found.stderr.contains(wanted), "{}", found.stderr);
        assert!(path.exists());
    }
}
