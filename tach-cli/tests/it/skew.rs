//! `tach skew`.

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
    assert_eq!(json["clocks"].as_array().unwrap().len(), 7);
    for name in ["tach MonotonicInstant", "the same, enforced"] {
        let clock = clock(&json, name);
        assert_eq!((&clock["is_strict"], &clock["inversions"]), (&true.into(), &0.into()));
        assert!(clock["reads"].as_u64().unwrap() > 0);
    }
    if cfg!(target_os = "linux") {
        for core in json["cores"].as_array().unwrap() {
            assert!(core["bound_ns"].as_f64().unwrap() > 0.0, "{core}");
        }
    }
}

#[test]
fn without_a_counter_there_is_no_control() {
    let found = run(tach(&["skew", "--for", "20ms", "--threads", "3"]).env("TACH_SOURCE", "os"));
    assert_eq!(found.status, Some(0));
    let last = found.stdout.lines().last().unwrap();
    assert!(last.contains("there is no control: this run proves nothing"), "{}", found.stdout);
    assert!(found.stdout.contains("on 3 threads, 0.02 s each"), "{}", found.stdout);
}

#[test]
fn one_thread_is_too_few() {
    let found = run(&mut tach(&["skew", "--threads", "1"]));
    assert_eq!(found.status, Some(2));
    assert!(found.stderr.contains("2..=1024"), "{}", found.stderr);
}
