//! Tests in a process of their own.

use std::env;
use std::process::Command;

/// Runs the ignored test `name` of this program in another process, with these variables, and asserts that it
/// passes.
#[track_caller]
pub(crate) fn assert_passes(name: &str, variables: &[(&str, &str)]) {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"]);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{text}\n{errors}", output.status);
    assert!(text.contains("1 passed"), "{text}");
}
