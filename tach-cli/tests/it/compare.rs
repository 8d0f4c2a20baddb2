//! `tach compare`.

use std::fs;

use serde_json::Value;

use crate::support::{Folder, run, tach};

#[test]
fn two_reports_of_one_host_share_its_facts() {
    let folder = Folder::new("compare");
    let files = ["a.json", "b.json"].map(|name| folder.path().join(name));
    for (file, source) in files.iter().zip(["counter", "os"]) {
        let mut command = tach(&["doctor", "--json", "--for", "1ms"]);
        fs::write(file, run(command.env("TACH_SOURCE", source)).stdout).unwrap();
    }
    let found = run(tach(&["compare", "--json"]).args(&files));
    assert_eq!(found.status, Some(0), "{}", found.stderr);
    let json = found.json();
    assert_eq!(json["hosts"], Value::from(vec!["a", "b"]));
    assert!(json["same"].as_array().unwrap().contains(&"platform".into()), "{json}");
    let times = json["measured_ns"].as_array().unwrap();
    let instant = times.iter().find(|row| row["name"] == "tach Instant, a read").unwrap();
    assert!(instant["values"].as_array().unwrap().iter().all(Value::is_f64), "{instant}");
    let text = run(tach(&["compare"]).args(&files)).stdout;
    assert!(text.starts_with("The same: ") && text.contains("\nMeasured\n"), "{text}");
}

#[test]
fn other_files_are_named() {
    let folder = Folder::new("compare-other");
    let other = folder.write("other.json", "{\"a\": 1}");
    let text = folder.write("text.json", "no JSON");
    for (file, why) in [
        (other.to_str().unwrap(), "is no output of tach doctor --json"),
        (text.to_str().unwrap(), "is no output of tach doctor --json"),
        ("/no/such.json", "can't read /no/such.json"),
    ] {
        let found = run(&mut tach(&["compare", file, file]));
        assert_eq!(found.status, Some(3));
        assert!(found.stderr.contains(why), "{}", found.stderr);
    }
    assert_eq!(run(&mut tach(&["compare", "/no/such.json"])).status, Some(2));
}
