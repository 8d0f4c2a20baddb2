//! The test programs of README's test command, which other steps run in other ways.
//!
//! `cargo test --package` would build them once more: what a package alone asks of a dependency is
//! not what the whole workspace asks of it.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::run::{cargo, output, root};

/// Creates a command of the integration test `test` of `package`, in the package's folder. Builds
/// the workspace's tests if they are not up to date.
pub(crate) fn test(package: &str, test: &str) -> Result<Command, String> {
    let build = ["test", "--workspace", "--all-features", "--no-run", "--message-format", "json"];
    let messages = output(cargo(&build).stderr(Stdio::inherit()))?;
    let program = program_of(&messages, package, test);
    let program = program.ok_or_else(|| format!("{package} has no test {test}"))?;
    let mut command = Command::new(program);
    command.current_dir(root().join(package));
    Ok(command)
}

/// Returns the path of a test's program by the messages of cargo.
fn program_of(messages: &str, package: &str, test: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let manifest = PathBuf::from(package).join("Cargo.toml");
    let mut programs = messages.filter_map(|message| {
        let target = &message["target"];
        let path = message["manifest_path"].as_str().map(PathBuf::from)?;
        let is_it =
            target["kind"][0] == "test" && target["name"] == test && path.ends_with(&manifest);
        is_it.then(|| message["executable"].as_str().map(PathBuf::from))?
    });
    programs.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_s_program_is_that_of_its_package() {
        let messages = r#"
{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{"kind":["lib"],"name":"it"},"executable":"/t/0"}
{"reason":"compiler-artifact","manifest_path":"/w/b/Cargo.toml","target":{"kind":["test"],"name":"it"},"executable":"/t/1"}
{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{"kind":["test"],"name":"it"},"executable":"/t/2"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(program_of(messages, "a", "it"), Some("/t/2".into()));
        assert_eq!(program_of(messages, "a", "other"), None);
    }
}
