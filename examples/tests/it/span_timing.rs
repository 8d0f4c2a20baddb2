//! A layer that prints the durations of closed spans.

use crate::example;

#[test]
fn the_durations_of_closed_spans_are_printed() {
    let output = example("span_timing").output().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = lines.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    for (line, name) in lines.into_iter().zip(["shared", "waiting"]) {
        assert!(line.starts_with(&format!("{name}: busy for ")), "{line}");
        assert!(line.contains(", idle for "), "{line}");
    }
}
