//! Commands: where they run, what is said of them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace's folder.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The cargo that runs this program, at the workspace's root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    program(&env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()), arguments)
}

/// A program at the workspace's root.
pub(crate) fn program(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(root());
    command
}

/// Says what it runs, and runs it.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    let name = Path::new(command.get_program()).file_name().unwrap_or_default();
    let line = format!("{} {}", name.to_string_lossy(), words.join(" "));
    eprintln!("\n$ {line}");
    let status = command.status().map_err(|error| format!("can't start \"{line}\": {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("\"{line}\" failed: {status}")) }
}
