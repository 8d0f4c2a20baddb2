//! The definition of the hosted CI.

use std::process::Command;

use crate::ci::STEPS;
use crate::files;
use crate::readme;
use crate::run::{program, root, run};
use crate::tools;

/// What each change must pass.
const CHANGE: &str = ".github/workflows/ci.yml";
/// The full tier, with a job for each step.
const FULL: &str = ".github/workflows/nightly.yml";

const LINTER: &str = "github.com/rhysd/actionlint/cmd/actionlint";
const VERSION: &str = "v1.7.12";

/// Checks that the workflows run README's test command and each step of the full tier, and lints
/// them with actionlint, which Go builds. Without Go, prints that they were not linted.
pub(crate) fn check() -> Result<(), String> {
    let command = readme::test_command()?;
    if !runs(&files::read(&root().join(CHANGE))?, &command) {
        return Err(format!("{CHANGE} does not run \"{command} --locked\", as README.md does"));
    }
    let full = files::read(&root().join(FULL))?;
    if let Some(step) = STEPS.iter().find(|step| !has_job(&full, step.0)) {
        return Err(format!("{FULL} has no job for the step {}", step.0));
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
    // Turn off shellcheck and pyflakes, which may or may not be installed.
    run(&mut program(&linter.to_string_lossy(), &["-shellcheck=", "-pyflakes="]))
}

fn runs(workflow: &str, command: &str) -> bool {
    let step = format!("- run: {command} --locked");
    workflow.lines().any(|line| line.trim() == step)
}

/// Returns whether a matrix of jobs has the step. A name that is no step fails as a job.
fn has_job(workflow: &str, step: &str) -> bool {
    workflow.lines().any(|line| line.trim().strip_prefix("- ") == Some(step))
}

#[cfg(test)]
mod tests {
    use super::{has_job, runs};

    #[test]
    fn a_job_has_the_name_of_a_step() {
        let workflow = "        step:\n          - tests\n";
        assert!(has_job(workflow, "tests"));
        assert!(!has_job(workflow, "test"));
        assert!(!has_job(workflow, "step:"));
    }

    #[test]
    fn a_workflow_runs_the_whole_command() {
        let workflow = "    steps:\n      - run: cargo test --workspace --locked\n";
        assert!(runs(workflow, "cargo test --workspace"));
        assert!(!runs(workflow, "cargo test"));
        assert!(!runs(workflow, "cargo test --workspace --all-features"));
    }
}
