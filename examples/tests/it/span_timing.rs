//! The lines of closed spans, and a layer that reads their durations.

use crate::example;

#[test]
fn closed_spans_are_printed_and_the_idle_one_is_found() {
    let output = example("span_timing").env_remove("RUST_LOG").output().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = lines.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    for (line, name) in lines.into_iter().zip(["shared", "waiting"]) {
        let (_, event) = line.split_once("  INFO ").unwrap();
        assert!(event.starts_with(&format!("{name}: close time.busy=")), "{line}");
        assert!(event.contains(" time.idle="), "{line}");
    }
    let found = String::from_utf8(output.stderr).unwrap();
    assert!(found.ends_with("waiting was idle for most of its time\n"), "{found}");
}
