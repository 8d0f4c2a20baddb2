//! Tests that run in a process of their own.

use core::any::type_name;
use std::env;
use std::process::Command;

/// Returns whether this process runs the test alone. Otherwise runs the test in such a process, and
/// asserts that it passes there.
///
/// # Panics
///
/// If the test fails.
pub fn is_alone<F: Fn()>(_test: F) -> bool {
    const CHILD: &str = "TACH_TEST_ALONE";
    if env::var_os(CHILD).is_some() {
        return true;
    }
    let (_, name) = type_name::<F>().split_once("::").expect("a path");
    let mut child = Command::new(env::current_exe().expect("this program has a path"));
    child.args(["--exact", name, "--nocapture"]).env(CHILD, "1");
    let output = child.output().expect("it starts again");
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    false
}
