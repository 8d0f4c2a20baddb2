//! systemd-journald, in a mount namespace of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{self, Command, Stdio};

use rustix::fs::fstat;
use serde_json::Value;
use tach_log::{Json, Line};
use tach_pipeline::{Pipeline, Sink};
use test_support::{test_of_this_program, this_program};

use super::{LONGEST, Running, Seen, log, message, reader, records, wait_until};
use crate::support::{Folder, LONG, info};

/// Makes the machine's folders private, and gives them to the journal of the namespace `tach`. So
/// the journal does not read the kernel's log, as the machine's own would.
const SETUP: &str = r#"
set -e
cp -a /etc "$FOLDER/etc"
mkdir -p "$FOLDER/log/journal" "$FOLDER/run/systemd/journal" "$FOLDER/run/systemd/journal.tach"
[ -s /etc/machine-id ] || echo 3d1219c7c4c5404aaa1f6d2a48adfda4 >"$FOLDER/etc/machine-id"
mkdir -p "$FOLDER/etc/systemd"
printf '[Journal]\nStorage=persistent\nRateLimitBurst=0\nSystemMaxUse=8G\nSystemKeepFree=0\n' \
  >"$FOLDER/etc/systemd/journald@tach.conf"
mount --bind "$FOLDER/etc" /etc
mount --bind "$FOLDER/log" /var/log
mount --bind "$FOLDER/run/systemd" /run/systemd
mount --bind /run/systemd/journal.tach /run/systemd/journal
exec "$@"
"#;

#[test]
fn journald_reads_each_entry_once_with_its_own_time() {
    if reader("systemd-journald").is_none() || reader("journalctl").is_none() {
        return;
    }
    let folder = Folder::new("readers-journal");
    let mut test = Command::new("unshare");
    test.args(["--mount", "--propagation", "private", "bash", "-c", SETUP, "bash"]);
    test.env("FOLDER", folder.path("")).arg(this_program().get_program());
    test.args(["--exact", "readers::journal::in_a_namespace", "--ignored", "--nocapture"]);
    let status = test.status().unwrap();
    let has_right = rustix::process::geteuid().is_root();
    assert!(status.success() || !has_right, "{status}");
    if !has_right {
        eprintln!("NOT RUN: only root can mount folders");
    }
}

/// Not a test: the part that runs in the namespace, where the folders are the journal's.
#[test]
#[ignore = "the child of the test above"]
fn in_a_namespace() {
    let socket = Path::new("/run/systemd/journal/socket");
    let mut journald = reader("systemd-journald").unwrap();
    let _journald = Running(journald.arg("tach").stdin(Stdio::null()).spawn().unwrap());
    wait_until("the journal listens", || socket.exists());
    // Write at once: the journal of a namespace ends if nobody writes for half a minute.
    by_stderr(&process::id().to_string());
    let guard = Pipeline::builder().sink(Sink::journald()).build().unwrap();
    log(guard.pipeline(), "a", 0..records());
    guard.pipeline().flush(LONG * 10).unwrap();
    assert_eq!(guard.pipeline().stats().sinks()[0].written(), records() as u64);
    let identifier = std::env::current_exe().unwrap();
    let identifier = identifier.file_name().unwrap().to_str().unwrap();
    let (mut seen, mut times) = (Seen::default(), BTreeSet::new());
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let (mut own, mut last) = (BTreeSet::new(), String::new());
    entries(&format!("_PID={}", process::id()), |entry| {
        let is_ours = entry["SYSLOG_IDENTIFIER"] == identifier
            && entry["PRIORITY"] == "6"
            && entry["TARGET"] == "app"
            && entry["TID"] == thread;
        let text = text(&entry["MESSAGE"]);
        if !is_ours {
            return seen.forge(&text);
        }
        seen.take(&text, |owner, number| message(owner, number, LONGEST));
        times.insert(entry["_SOURCE_REALTIME_TIMESTAMP"].to_string());
        let time = entry["SYSLOG_TIMESTAMP"].as_str().unwrap().to_owned();
        assert!(last <= time, "{last} {time}");
        own.insert(time.clone());
        last = time;
    });
    eprintln!("journald: {} entries, {} times, {} own", records(), times.len(), own.len());
    seen.assert_none_forged();
    seen.assert_whole("a", records());
    assert!(times.len() > records() / 2, "{} times", times.len());
}

/// Programs whose stderr systemd has connected to the journal, or to something else.
fn by_stderr(parent: &str) {
    let mut journal = UnixStream::connect("/run/systemd/journal/stdout").unwrap();
    // The name, the unit, the level, and whether lines have prefixes and are forwarded.
    journal.write_all(b"service\n\n6\n1\n0\n0\n0\n").unwrap();
    let journal = OwnedFd::from(journal);
    let status = fstat(&journal).unwrap();
    let stream = format!("{}:{}", status.st_dev, status.st_ino);
    for (way, stream) in [("journal", &*stream), ("lines", "1:1")] {
        let mut child = test_of_this_program("readers::journal::service");
        child.env("TACH_PIPELINE_READERS_SERVICE", format!("{parent}-{way}"));
        child.env("JOURNAL_STREAM", stream).stdout(Stdio::null());
        child.stderr(journal.as_fd().try_clone_to_owned().unwrap());
        assert!(child.status().unwrap().success());
    }
    let mut found = BTreeMap::new();
    entries("PRIORITY=3", |entry| {
        let text = text(&entry["MESSAGE"]);
        found.insert(text, entry["ANSWER"].as_str().map(str::to_owned));
    });
    // `journalctl -p err` has the error of the service, with its field. A stream of lines, the
    // control, has one level.
    assert_eq!(found, BTreeMap::from([(format!("{parent}-journal"), Some("42".to_owned()))]));
    let mut lines = 0;
    entries("PRIORITY=6", |entry| {
        lines += usize::from(text(&entry["MESSAGE"]).contains(&format!("{parent}-lines")));
    });
    assert_eq!(lines, 1);
    // The journal divides a line at 48 KiB, and reads a level where the rest begins.
    for (stream, expected) in [(&*stream, 0), ("1:1", 1)] {
        let mut child = test_of_this_program("readers::journal::service");
        child.env("TACH_PIPELINE_READERS_SERVICE", "long").env("JOURNAL_STREAM", stream);
        child.stdout(Stdio::null()).stderr(journal.as_fd().try_clone_to_owned().unwrap());
        assert!(child.status().unwrap().success());
        let mut emergencies = 0;
        entries("PRIORITY=0", |_| emergencies += 1);
        assert_eq!(emergencies, expected, "{stream}");
    }
}

/// Not a test: a program that systemd has started.
#[test]
#[ignore = "the child of the test above"]
fn service() {
    let Ok(name) = std::env::var("TACH_PIPELINE_READERS_SERVICE") else { return };
    if name == "long" {
        let sink = Sink::stderr().format(Line::new().without_time().without_level());
        let guard = Pipeline::builder().sink(sink).build().unwrap();
        let start = "x".repeat(48 * 1024 - "app: ".len());
        info(guard.pipeline(), &format!("{start}<0>chosen by a client"));
        guard.pipeline().flush(LONG).unwrap();
        process::exit(0);
    }
    let sink = Sink::stderr_or_journal().format(Json::new());
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    let fields = [("answer", 42)];
    log::Log::log(
        guard.pipeline(),
        &log::Record::builder()
            .level(log::Level::Error)
            .target("app")
            .args(format_args!("{name}"))
            .key_values(&fields)
            .build(),
    );
    guard.pipeline().flush(LONG).unwrap();
    process::exit(0);
}

/// Calls `each` with the entries that journalctl finds.
fn entries(selected: &str, mut each: impl FnMut(&Value)) {
    let mut journalctl = reader("journalctl").unwrap();
    let mut sync = reader("journalctl").unwrap();
    let _synced = sync.args(["--namespace=tach", "--sync"]).status().unwrap();
    journalctl.args(["--namespace=tach", "--all", "--no-pager", "-o", "json", selected]);
    let mut child = journalctl.stdout(Stdio::piped()).spawn().unwrap();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        each(&serde_json::from_str(&line.unwrap()).unwrap());
    }
    assert!(child.wait().unwrap().success());
}

/// Returns the text of a field: journalctl prints text with control characters as a list of bytes.
fn text(value: &Value) -> String {
    let Some(bytes) = value.as_array() else {
        return value.as_str().unwrap_or_default().to_owned();
    };
    let bytes = bytes.iter().map(|byte| u8::try_from(byte.as_u64().unwrap()).unwrap());
    String::from_utf8(bytes.collect()).unwrap()
}
