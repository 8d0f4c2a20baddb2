//! `tach bench`.

use crate::support::{run, tach};

#[test]
fn each_group_begins_with_std() {
    let found = run(&mut tach(&["bench", "--json", "--rounds", "2"]));
    assert_eq!(found.status, Some(0), "{}", found.stderr);
    let json = found.json();
    let groups = json["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 3);
    for group in groups {
        let costs = group["costs"].as_array().unwrap();
        assert!(costs[0]["name"].as_str().unwrap().starts_with("std "), "{group}");
        assert!(costs.iter().all(|cost| cost["ns"].as_f64().unwrap() > 0.0), "{group}");
    }
}

#[test]
fn no_rounds_are_too_few() {
    let found = run(&mut tach(&["bench", "--rounds", "0"]));
    assert_eq!(found.status, Some(2));
    assert!(found.stderr.contains("--rounds"), "{}", found.stderr);
}
