//! The definition of the hosted CI.

use std::process::Command;

use crate::files;
use crate::readme;
use crate::run::{program, root, run};
use crate::tools;

const WORKFLOW: &str = ".github/workflows/ci.yml";

const LINTER: &str = "github.com/rhysd/actionlint/cmd/actionlint";
const VERSION: &str = "v1.7.12";

/// Checks that the workflow runs README's test command, and lints it with actionlint, which Go
/// builds. Without Go, prints that it was not linted.
pub(crate) fn check() -> Result<(), String> {
    let command = readme::test_command()?;
    if !runs(&files::read(&root().join(WORKFLOW))?, &command) {
        return Err(format!("{WORKFLOW} does not run \"{command} --locked\", as README.md does"));
    }
    if Command::new("go").arg("version").output().is_err() {
        eprintln!("\nWORKFLOWS NOT LINTED: there is no Go to build the linter with");
        return Ok(());
    }
    let folder = tools::folder(&format!("actionlint-{VERSION}"))?;
    let linter = folder.join("actionlint");
    if !linter.exists() {
        let mut install = program("go", &["install", &format!("{LINTER}@{VERSION}")]);
        run(install.env("GOBIN", &folder).env("GOFLAGS", "-mod=readonly"))?;
    }
    // Without shellcheck and pyflakes, which may or may not be installed.
    run(&mut program(&linter.to_string_lossy(), &["-shellcheck=", "-pyflakes="]))
}

fn runs(workflow: &str, command: &str) -> bool {
    let step = format!("- run: {command} --locked");
    workflow.lines().any(|line| line.trim() == step)
}

#[cfg(test)]
mod tests {
    use super::runs;

    #[test]
    fn a_workflow_runs_the_whole_command() {
        let workflow = "    steps:\n      - run: cargo test --workspace --locked\n";
        assert!(runs(workflow, "cargo test --workspace"));
        assert!(!runs(workflow, "cargo test"));
        assert!(!runs(workflow, "cargo test --workspace --all-features"));
    }
}
