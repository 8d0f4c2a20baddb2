//! `tach skew`.

use std::process::Stdio;

use serde_json::Value;

use crate::support::{run, tach};

fn clock<'a>(json: &'a Value, name: &str) -> &'a Value {
    json["clocks"].as_array().unwrap().iter().find(|clock| clock["name"] == name).unwrap()
}

#[test]
fn promised_order_is_kept() {
    let found = run(&mut tach(&["skew", "--json", "--for", "100ms"]));
    let json = found.json();
    assert_eq!(found.status, Some(0), "{json}");
    assert_ne!(json["conclusion"], "broken");
    assert_eq!(json["clocks"].as_array().unwrap().len(), 6);
    let monotonic = clock(&json, "tach MonotonicInstant");
    assert_eq!((&monotonic["promise"], &monotonic["inversions"]), (&"strict".into(), &0.into()));
    assert!(monotonic["reads"].as_u64().unwrap() > 0);
    if cfg!(target_os = "linux") {
        for core in json["cores"].as_array().unwrap() {
            assert!(core["bound_ns"].as_f64().unwrap() > 0.0, "{core}");
        }
    }
}

#[test]
fn enforced_order_is_kept_and_an_ordered_read_promises_none() {
    let mut enforced = tach(&["skew", "--json", "--for", "100ms"]);
    let found = run(enforced.env("TACH_ORDER", "enforced"));
    let json = found.json();
    assert_eq!(found.status, Some(0), "{json}");
    let monotonic = clock(&json, "tach MonotonicInstant");
    assert_eq!((&monotonic["promise"], &monotonic["inversions"]), (&"strict".into(), &0.into()));
    let is_enforced = tach_core::status().source == tach_core::Source::Counter;
    let ordered = if is_enforced { "none" } else { "strict" };
    assert_eq!(clock(&json, "tach OrderedInstant")["promise"], ordered);
}

#[test]
fn without_a_counter_there_is_no_control() {
    let found = run(tach(&["skew", "--for", "20ms", "--threads", "3"]).env("TACH_SOURCE", "os"));
    assert_eq!(found.status, Some(0));
    let last = found.stdout.lines().last().unwrap();
    assert!(last.contains("there is no control: this run proves nothing"), "{}", found.stdout);
    assert!(found.stdout.contains("on 3 threads, 0.02 s each"), "{}", found.stdout);
}

/// `head` closes the pipe when it has its lines.
#[test]
fn a_reader_that_has_gone_is_no_failure() {
    let mut child = tach(&["skew", "--for", "50ms"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn one_thread_is_too_few() {
    let found = run(&mut tach(&["skew", "--threads", "1"]));
    assert_eq!(found.status, Some(2));
    assert!(found.stderr.contains("2..=1024"), "{}", found.stderr);
}
