//! The flight recorder.

use std::{env, fs, process};

use crate::example;

#[test]
fn a_panic_and_a_slow_request_are_written() {
    let folder = env::temp_dir().join(format!("tach-example-flight-{}", process::id()));
    let output = example("flight_recorder").arg(&folder).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(files.len(), 2, "{stderr}");
    for file in &files {
        assert!(stderr.contains(&file.display().to_string()), "{stderr}");
        let trace = fs::read(file).unwrap();
        assert!(String::from_utf8_lossy(&trace).contains("request"));
    }
    fs::remove_dir_all(folder).unwrap();
}
