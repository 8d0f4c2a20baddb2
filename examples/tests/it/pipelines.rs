//! Pipelines: files, levels, and ends of processes.

use std::fs;

use crate::example;
use crate::folder::Folder;

#[test]
fn a_file_rotates_by_its_size() {
    let folder = Folder::new("rotation");
    let output = example("rotation").arg(&folder.path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut files: Vec<_> = fs::read_dir(&folder.path).unwrap().map(|it| it.unwrap()).collect();
    files.sort_by_key(|file| file.file_name().len());
    // A thread of its own deletes old ones, so after a burst there may be more than two.
    assert!(files.len() >= 3, "{files:?}");
    assert_eq!(files[0].file_name(), "app.log");
    let last = fs::read_to_string(files[0].path()).unwrap();
    assert!(last.ends_with(" number=9999\n"), "{last}");
    for file in &files {
        assert!(file.metadata().unwrap().len() <= 100 * 1024, "{file:?}");
    }
    // The next runs delete these old ones, on a thread that may come late.
    let is_there = || files[1..].iter().any(|file| file.path().exists());
    let mut runs = 0;
    while is_there() {
        assert!(runs < 20, "old files stay");
        runs += 1;
        assert!(example("rotation").arg(&folder.path).status().unwrap().success());
    }
}

#[cfg(unix)]
#[test]
fn sigterm_ends_a_service_after_its_records_are_written() {
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::process::ExitStatusExt as _;

    let mut service = example("signals").spawn().unwrap();
    let mut line = String::new();
    BufReader::new(service.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "waits for a signal\n");
    crate::interrupt(&service, "TERM");
    let output = service.wait_with_output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(lines.lines().count(), 50, "{lines}");
    assert!(lines.ends_with(" INFO  signals: served number=50\n"), "{lines}");
    assert_eq!(output.status.signal(), Some(15));
}

#[test]
fn an_error_outlives_the_process() {
    let folder = Folder::new("abort");
    let file = folder.path.join("app.log");
    let output = example("abort").arg(&file).output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    let text = fs::read_to_string(file).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[1].ends_with(" ERROR abort: the end disk=full"), "{text}");
}

#[test]
fn rust_log_replaces_the_default() {
    let lines = |rust_log: Option<&str>| {
        let mut command = example("rust_log");
        match rust_log {
            Some(directives) => command.env("RUST_LOG", directives),
            None => command.env_remove("RUST_LOG"),
        };
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert_eq!(lines(None), "INFO  rust_log: ready\n");
    let query = "TRACE rust_log::db: a query text=\"select 1\"\n";
    assert_eq!(lines(Some("warn,rust_log::db=trace")), query);
}

#[test]
fn without_systemd_the_journal_s_example_writes_to_stderr() {
    let mut command = example("journald");
    let output = command.env_remove("JOURNAL_STREAM").env_remove("RUST_LOG").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.ends_with("Z INFO  journald: ready port=3000\n"), "{stderr}");
}

#[test]
fn a_tail_keeps_errors_slow_traces_and_a_part_of_the_others() {
    let (endpoint, requests) = test_support::receiver::serve();
    let output = example("tail").env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let sent: Vec<u8> = requests.try_iter().flat_map(|(_, body)| body).collect();
    let count = |name: &[u8]| sent.windows(name.len()).filter(|part| *part == name).count();
    assert_eq!(count(b"the database is gone"), 10);
    // Two spans a trace. More than a tenth of the others has a chance of less than 1e-60.
    let traces = count(b"query");
    assert!((11..100).contains(&traces), "{traces}");
}

#[test]
fn a_budget_shrinks_over_three_hops() {
    let output = example("budgets").output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let (left, slow) = stdout.trim_end().split_once('\n').unwrap();
    let left: Vec<u32> =
        left.split(", ").map(|it| it.strip_suffix(" ms").unwrap().parse().unwrap()).collect();
    assert_eq!(left.len(), 3, "{stdout}");
    // Each hop keeps 20 ms for its own answer.
    assert!(left[0] == 2_000 && left.windows(2).all(|pair| pair[1] + 20 <= pair[0]), "{stdout}");
    assert_eq!(slow, "504 Gateway Timeout");
}
