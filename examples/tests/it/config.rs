//! A configuration from a file.

use std::path::Path;
use std::process::Output;
use std::{env, fs};

use serde_json::Value;

use crate::example;

fn run(file: &Path) -> Output {
    example("config").arg(file).env_remove("RUST_LOG").output().unwrap()
}

#[test]
fn a_file_decides_what_each_sink_gets() {
    let output = run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("config.toml"));
    assert!(output.status.success(), "{output:?}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr, "WARN  config: denied password=[redacted]\n");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let records: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let levels: Vec<_> = records.iter().map(|record| &record["severity"]).collect();
    assert_eq!(levels, ["INFO", "WARN"]);
    for record in &records {
        assert!(record["at"].as_str().unwrap().ends_with('Z'));
        assert_eq!(record["service"], "shop");
    }
    assert_eq!(records[1]["password"], "[redacted]");
}

#[test]
fn a_mistake_in_the_file_ends_the_program_with_the_key() {
    let file = env::temp_dir().join(format!("tach-config-{}.toml", std::process::id()));
    fs::write(&file, "[[sinks]]\nstderr = true\nformats = 'json'\n").unwrap();
    let output = run(&file);
    fs::remove_file(&file).unwrap();
    assert!(!output.status.success(), "{output:?}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("sinks[0].formats: "), "{stderr}");
    assert!(stderr.contains("unknown field `formats`, expected one of "), "{stderr}");
    assert!(stderr.contains("`stderr_or_journal`, `file`, "), "{stderr}");
}
