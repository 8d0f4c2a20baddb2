//! The pipeline.

use serde_json::{Value, json};

use crate::example;

#[test]
fn three_front_ends_write_to_two_sinks() {
    let output = example("pipeline").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let mut records: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for record in &mut records {
        assert!(record["ts"].take().as_str().unwrap().ends_with('Z'));
    }
    let expected = [
        json!({"ts": null, "level": "INFO", "target": "pipeline", "msg": "ready", "port": 3000}),
        json!({"ts": null, "level": "WARN", "target": "pipeline", "msg": "slow", "ms": 9.5,
            "pool": "a"}),
        json!({"ts": null, "level": "INFO", "target": "pipeline", "msg": "done", "span": "get",
            "id": 7}),
    ];
    assert_eq!(records, expected);
    let stderr = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<_> = stderr.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    assert_eq!(lines, ["WARN  pipeline: slow ms=9.5 pool=a"]);
}
