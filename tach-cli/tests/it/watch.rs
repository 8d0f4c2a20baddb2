//! `tach watch`.

#[cfg(target_os = "linux")]
use std::io::{BufRead as _, BufReader};
#[cfg(target_os = "linux")]
use std::process::Stdio;

use serde_json::Value;

use crate::support::{run, tach};

#[test]
fn the_first_line_is_the_state_and_others_are_events() {
    let found = run(&mut tach(&["watch", "--json", "--for", "100ms", "--every", "10ms"]));
    let lines: Vec<Value> =
        found.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["events"], Value::from(vec!["start"]));
    // The tests may be run with TACH_SOURCE, and the child is not.
    if std::env::var_os("TACH_SOURCE").is_none() {
        assert_eq!(lines[0]["source"], tach_core::status().source.as_str());
    }
    assert!(lines[0]["counts"]["backward_steps"].is_u64());
    assert!(lines[1..].iter().all(|line| !line["events"].as_array().unwrap().is_empty()));
    assert_eq!(found.status, Some(i32::from(lines.len() > 1)));
}

#[test]
fn people_get_the_source_and_the_counts() {
    let found = run(tach(&["watch", "--for", "20ms"]).env("TACH_SOURCE", "os"));
    let first = found.stdout.lines().next().unwrap();
    assert!(first.contains("Z  start  source os ±") && first.contains("steps +0 -0"), "{first}");
}

#[test]
fn looks_need_a_pause() {
    let found = run(&mut tach(&["watch", "--for", "20ms", "--every", "0s"]));
    let names_both = found.stderr.contains("--every") && found.stderr.contains("longer than");
    assert!(found.status == Some(2) && names_both, "{}", found.stderr);
}

/// `head` closes the pipe, and no event follows. A failure hangs.
#[cfg(target_os = "linux")]
#[test]
fn it_ends_when_nobody_reads_any_more() {
    let mut child = tach(&["watch", "--every", "10ms"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("start"), "{first}");
    assert!(child.wait().unwrap().success());
}
