//! `tach now`.

use std::time::UNIX_EPOCH;

use tach_core::UnixTime;

use crate::support::{run, tach};

fn os_ns() -> u64 {
    u64::try_from(UNIX_EPOCH.elapsed().unwrap().as_nanos()).unwrap()
}

#[test]
fn the_time_is_the_systems_to_within_its_bound() {
    let before = os_ns();
    let found = run(&mut tach(&["now", "--json"]));
    let after = os_ns();
    let json = found.json();
    let (ns, bound) = (json["unix_ns"].as_u64().unwrap(), json["uncertainty_ns"].as_u64().unwrap());
    assert!(bound > 0);
    assert!(before.saturating_sub(bound) <= ns && ns <= after + bound, "{before} {ns} {after}");
    assert_eq!(json["time"], UnixTime::from_nanos(ns).to_string());
    if let Some(utc) = json["utc_uncertainty_ns"].as_u64() {
        assert!(utc >= bound);
    }
    assert_eq!(found.status, Some(0));
}

#[test]
fn the_line_for_people_has_the_time_and_the_bound() {
    let found = run(&mut tach(&["now"]));
    let (time, rest) = found.stdout.split_once(" ±").unwrap();
    time.parse::<UnixTime>().unwrap();
    assert!(rest.contains(" to the OS clock; "), "{rest}");
}

#[test]
fn a_command_line_that_cannot_be_used_is_named() {
    let found = run(&mut tach(&["when"]));
    assert_eq!(found.status, Some(2));
    assert!(found.stderr.contains("'when'"), "{}", found.stderr);
}
