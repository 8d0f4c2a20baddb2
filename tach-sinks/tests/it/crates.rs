//! The crates that format records and take a writer.

use std::io::Write;
use std::sync::Mutex;

use slog::Drain as _;
use tach_sinks::{File, Rotation, Writer};

use crate::Folder;

const RECORDS: usize = 3_000;

fn open(folder: &Folder) -> Writer {
    File::new(folder.log()).rotate(Rotation::new().max_bytes(64 * 1024)).open().unwrap()
}

/// Checks that the files have each record once, whole and in order, and returns how many files
/// there are.
fn check(folder: &Folder, number: impl Fn(&str) -> usize) -> usize {
    let names = folder.names();
    // Old files sort by their times, and behind `app.log`.
    let (log, old) = names.split_first().unwrap();
    let texts: Vec<_> = old.iter().chain([log]).map(|name| folder.read(name)).collect();
    for (text, name) in texts.iter().zip(old.iter().chain([log])) {
        assert!(text.ends_with('\n') && text.len() <= 64 * 1024, "{name}");
    }
    let numbers: Vec<_> = texts.iter().flat_map(|text| text.lines()).map(number).collect();
    assert_eq!(numbers, (0..RECORDS).collect::<Vec<_>>());
    names.len()
}

#[test]
fn tracing_subscriber() {
    let folder = Folder::new("tracing");
    let writer = Mutex::new(open(&folder));
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(writer).finish();
    tracing::subscriber::with_default(subscriber, || {
        (0..RECORDS).for_each(|number| tracing::info!(number, "a record of some length"));
    });
    let number = |line: &str| line.rsplit_once('=').unwrap().1.parse().unwrap();
    assert!(check(&folder, number) > 3);
}

/// fern writes a record and its line end apart, and flushes after each.
#[test]
fn fern() {
    let folder = Folder::new("fern");
    let writer: Box<dyn Write + Send> = Box::new(open(&folder));
    let (_, logger) = fern::Dispatch::new().chain(writer).into_log();
    for number in 0..RECORDS {
        let record = format!("{:->80} {number}", "");
        logger.log(&log::Record::builder().args(format_args!("{record}")).build());
    }
    let number = |line: &str| line.rsplit_once(' ').unwrap().1.parse().unwrap();
    assert!(check(&folder, number) > 3);
}

/// slog-json makes many writes of a record.
#[test]
fn slog_json() {
    let folder = Folder::new("slog");
    let drain = Mutex::new(slog_json::Json::default(open(&folder))).ignore_res();
    let logger = slog::Logger::root(drain, slog::o!());
    (0..RECORDS).for_each(|number| slog::info!(logger, "ready"; "number" => number));
    let number = |line: &str| {
        let (_, rest) = line.split_once("\"number\":").unwrap();
        rest.split_once([',', '}']).unwrap().0.parse().unwrap()
    };
    assert!(check(&folder, number) > 3);
}
