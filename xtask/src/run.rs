//! Commands and the folder they run in.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Lengths of tests that could be of any length. Without these variables there are ten thousand
/// simulated machines, 20 processes of a kind, and 256 inputs of a property.
pub(crate) const SHORT_TESTS: [(&str, &str); 3] =
    [("TACH_SCENARIOS", "50"), ("TACH_RUNS", "5"), ("PROPTEST_CASES", "64")];

/// Returns the workspace's folder.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Returns the folder of everything that is built.
pub(crate) fn target() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root().join(target)
}

/// Creates a command of the cargo that runs this program, in the workspace's folder.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    program(&env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()), arguments)
}

/// Creates a command in the workspace's folder.
pub(crate) fn program(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(root());
    command
}

/// Prints a command and runs it.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let line = line(command);
    eprintln!("\n$ {line}");
    let status = command.status().map_err(|error| format!("can't start \"{line}\": {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("\"{line}\" failed: {status}")) }
}

/// Runs a command and returns its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let line = line(command);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("can't start \"{line}\": {error}"))?;
    if !output.status.success() {
        return Err(format!("\"{line}\" failed: {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("the output of \"{line}\": {error}"))
}

fn line(command: &Command) -> String {
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    let name = Path::new(command.get_program()).file_name().unwrap_or_default();
    format!("{} {}", name.to_string_lossy(), words.join(" "))
}
