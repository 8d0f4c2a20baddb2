//! The journal's export format, read back by a reader of this test and by systemd's.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{self, Command};

use proptest::prelude::*;
use serde_json::Value;
use tach_core::{ManualClock, UnixTime};
use tach_pipeline::{JournalExport, Pipeline, Sink};

use crate::support::{LONG, Memory};

type Entry = Vec<(String, Vec<u8>)>;

static CLOCK: ManualClock = ManualClock::new(UnixTime::from_nanos(1_700_000_000_123_456_789));

/// Logs records of a target, a message, a key and a text, and returns the export.
fn export<'a>(records: impl IntoIterator<Item = [&'a str; 4]>) -> Vec<u8> {
    let memory = Memory::default();
    let sink = Sink::writer("memory", memory.clone()).format(JournalExport::new());
    let guard = Pipeline::builder().sink(sink).with_clock(&CLOCK).build().unwrap();
    for [target, message, key, text] in records {
        let fields = [("number", log::kv::Value::from(-1)), (key, text.into())];
        let mut record = log::Record::builder();
        record.level(log::Level::Warn).target(target).key_values(&fields);
        record.file(Some("src/main.rs")).line(Some(7));
        log::Log::log(guard.pipeline(), &record.args(format_args!("{message}")).build());
    }
    guard.pipeline().flush(LONG).unwrap();
    memory.text().into_bytes()
}

/// The entries, as <https://systemd.io/JOURNAL_EXPORT_FORMATS> describes them.
fn entries(mut export: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut entry = Entry::new();
    let cut = |from: &mut &[u8], at: usize| {
        let (before, after) = from.split_at(at);
        *from = &after[1..];
        before.to_owned()
    };
    while !export.is_empty() {
        let end = export.iter().position(|&byte| byte == b'\n').unwrap();
        let line = String::from_utf8(cut(&mut export, end)).unwrap();
        if line.is_empty() {
            entries.push(core::mem::take(&mut entry));
        } else if let Some((name, value)) = line.split_once('=') {
            entry.push((name.to_owned(), value.as_bytes().to_owned()));
        } else {
            let (length, rest) = export.split_first_chunk().unwrap();
            export = rest;
            let length = usize::try_from(u64::from_le_bytes(*length)).unwrap();
            entry.push((line, cut(&mut export, length)));
        }
    }
    assert!(entry.is_empty(), "{entry:?}");
    entries
}

/// Returns the name under which this test runs.
fn program_name() -> String {
    let path = env::args_os().next().unwrap();
    Path::new(&path).file_name().unwrap().to_str().unwrap().to_owned()
}

/// Returns the number by which the operating system calls this thread.
fn thread_id() -> String {
    let path = fs::read_link("/proc/thread-self").unwrap_or_default();
    path.file_name().unwrap_or_default().to_str().unwrap().to_owned()
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[a-zA-Z_0-9=]{0,80}", "[ab=\\x00-\\x1f]{0,9}"]
}

proptest! {
    #[test]
    fn whatever_a_record_holds_is_in_one_entry(
        target in text(), message in text(), key in text(), value in text(),
    ) {
        let target = if target.is_empty() { "app".to_owned() } else { target };
        let export = export([[&*target, &message, &key, &value], ["a", "b", "c", "d"]]);
        let entries = entries(&export);
        prop_assert_eq!(entries.len(), 2);
        let (names, values): (Vec<_>, Vec<_>) = entries[0].iter().cloned().unzip();
        let [time, own, program] =
            ["__REALTIME_TIMESTAMP", "SYSLOG_TIMESTAMP", "SYSLOG_IDENTIFIER"];
        let place = ["CODE_FILE", "CODE_LINE"];
        let mut head = vec![time, own, "PRIORITY", program, place[0], place[1], "TARGET", "MESSAGE"];
        let mut expected = vec!["1700000000123456", "2023-11-14T22:13:20.123456Z", "4"];
        let (program, thread) = (program_name(), thread_id());
        expected.extend([&*program, "src/main.rs", "7", &target, &message]);
        if cfg!(target_os = "linux") {
            head.insert(6, "TID");
            expected.insert(6, &thread);
        }
        head.push("NUMBER");
        expected.extend(["-1", &value]);
        let (name, names) = names.split_last().unwrap();
        prop_assert_eq!(names, &head);
        prop_assert!(name.len() <= 64 && name.starts_with(|first: char| first.is_ascii_uppercase()));
        prop_assert!(name.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_')));
        prop_assert!(!head.contains(&name.as_str()) || name == "NUMBER");
        let expected: Vec<_> = expected.iter().map(|value| value.as_bytes().to_owned()).collect();
        prop_assert_eq!(values, expected);
    }
}

#[test]
fn names_are_those_that_the_journal_takes() {
    let long = "x".repeat(100);
    let cases = [
        ("attempt", "ATTEMPT"),
        ("http.status-code", "HTTP_STATUS_CODE"),
        ("_PID", "F_PID"),
        ("__CURSOR", "F__CURSOR"),
        ("1st", "F1ST"),
        ("", "F"),
        ("größe", "GR__E"),
        ("a=b\nc", "A_B_C"),
        ("Message", "MESSAGE_"),
        ("priority", "PRIORITY_"),
        ("target", "TARGET_"),
        ("syslog.identifier", "SYSLOG_IDENTIFIER_"),
        ("code.file", "CODE_FILE_"),
        ("tid", "TID_"),
        (&long, &long.to_uppercase()[..62]),
    ];
    for (key, name) in cases {
        let entries = entries(&export([["app", "message", key, "value"]]));
        assert_eq!(entries[0].last(), Some(&(name.to_owned(), b"value".to_vec())));
    }
}

#[cfg(feature = "slog")]
#[test]
fn levels_have_syslog_s_priorities() {
    let memory = Memory::default();
    let sink = Sink::writer("memory", memory.clone()).format(JournalExport::new());
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    let log = slog::Logger::root(guard.pipeline().clone(), slog::o!());
    slog::crit!(log, "2");
    slog::error!(log, "3");
    slog::warn!(log, "4");
    slog::info!(log, "6");
    slog::debug!(log, "7");
    guard.pipeline().flush(LONG).unwrap();
    for entry in entries(memory.text().as_bytes()) {
        let value = |of| entry.iter().find(|(name, _)| name == of).map(|(_, value)| value);
        assert_eq!(value("PRIORITY"), value("MESSAGE"), "{entry:?}");
    }
}

#[cfg(feature = "tracing")]
#[test]
fn a_line_of_a_fmt_subscriber_is_the_message() {
    let memory = Memory::default();
    let sink = Sink::writer("memory", memory.clone()).format(JournalExport::new());
    let guard = Pipeline::builder().sink(sink).with_clock(&CLOCK).build().unwrap();
    let subscriber = tracing_subscriber::fmt()
        .without_time()
        .with_ansi(false)
        .with_writer(guard.pipeline().make_writer());
    tracing::subscriber::with_default(subscriber.finish(), || {
        tracing::warn!(target: "app", number = 1, "two\nlines");
    });
    guard.pipeline().flush(LONG).unwrap();
    let entries = entries(memory.text().as_bytes());
    let message = entries[0].iter().find(|(name, _)| name == "MESSAGE").unwrap();
    assert_eq!(String::from_utf8_lossy(&message.1), " WARN app: two\nlines number=1");
}

/// systemd's reader imports the entries, and `journalctl` prints them as JSON.
#[test]
#[ignore = "needs systemd-journal-remote: cargo xtask journal"]
fn systemd_takes_in_whatever_a_record_holds() {
    let program = |variable| env::var_os(variable).expect("cargo xtask journal names the program");
    let awkward = [
        "",
        "plain",
        "two\nlines",
        "\n\n",
        "=\n_PID=1\n\nMESSAGE=forged\n",
        "\u{1b}[31m",
        "tab\t",
        "é\0",
    ];
    let keys = ["key", "_PID", "__REALTIME_TIMESTAMP", "message", "1", "a b"];
    let records = awkward.iter().flat_map(|text| keys.map(|key| ["app::db", text, key, text]));
    let records: Vec<_> = records.collect();
    let folder = env::temp_dir().join(format!("tach-pipeline-journal-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (exported, journal) = (folder.join("export"), folder.join("tach.journal"));
    fs::write(&exported, export(records.iter().copied())).unwrap();
    let mut remote = Command::new(program("JOURNAL_REMOTE_BIN"));
    let taken = remote.arg("-o").arg(&journal).arg(&exported).output().unwrap();
    assert!(taken.status.success(), "{taken:?}");
    let mut journalctl = Command::new(program("JOURNALCTL_BIN"));
    let shown = journalctl.arg("--file").arg(&journal).args(["--all", "-o", "json"]).output();
    let shown = String::from_utf8(shown.unwrap().stdout).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let entries: Vec<Value> =
        shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(entries.len(), records.len());
    let names = ["KEY", "F_PID", "F__REALTIME_TIMESTAMP", "MESSAGE_", "F1", "A_B"];
    for ((entry, [_, text, ..]), name) in entries.iter().zip(records).zip(names.iter().cycle()) {
        assert_eq!(entry["__REALTIME_TIMESTAMP"], "1700000000123456");
        assert_eq!(entry["PRIORITY"], "4");
        assert_eq!(entry["TARGET"], "app::db");
        assert_eq!(entry["NUMBER"], "-1");
        assert!(entry.get("_PID").is_none(), "{entry}");
        assert_eq!([shown_as(&entry["MESSAGE"]), shown_as(&entry[name])], [text, text], "{entry}");
    }
}

/// Returns the text of a field: `journalctl` prints unprintable text as a list of bytes.
fn shown_as(value: &Value) -> String {
    match value.as_array() {
        Some(bytes) => {
            let bytes = bytes.iter().map(|byte| u8::try_from(byte.as_u64().unwrap()).unwrap());
            String::from_utf8(bytes.collect()).unwrap()
        }
        None => value.as_str().unwrap().to_owned(),
    }
}
