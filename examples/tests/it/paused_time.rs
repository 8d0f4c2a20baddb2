//! Paused time: every run prints the same lines.

use crate::example;

#[test]
fn a_day_of_retries_has_exact_times() {
    let output = example("paused_time").env_remove("RUST_LOG").output().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = lines.lines().collect();
    assert_eq!(lines.len(), 11, "{lines:#?}");
    assert_eq!(
        lines[0],
        "2023-11-14T22:13:20.000Z  INFO no answer; trying again in 250ms left=86400s"
    );
    assert_eq!(
        lines[9],
        "2023-11-15T04:17:25.250Z  INFO no answer; trying again in 65536s left=64554.75s"
    );
    assert_eq!(lines[10], "2023-11-15T22:13:20.000Z ERROR giving up after 86400s");
}
