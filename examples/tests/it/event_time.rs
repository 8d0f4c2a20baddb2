//! Text and JSON of one event.

use crate::example;

#[test]
fn each_event_has_one_time_in_text_and_json() {
    let output = example("event_time").env_remove("RUST_LOG").output().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = lines.lines().collect();
    assert_eq!(lines.len(), 4, "{lines:#?}");
    for (pair, message) in lines.chunks(2).zip(["ready", "slow request"]) {
        let json: serde_json::Value = serde_json::from_str(pair[1]).unwrap();
        assert_eq!(json["fields"]["message"], message);
        let text = format!(
            "{} {:>5} {message}",
            json["timestamp"].as_str().unwrap(),
            json["level"].as_str().unwrap()
        );
        assert_eq!(pair[0], text);
    }
}
