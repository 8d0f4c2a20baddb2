//! The definition of the hosted CI.

use std::process::Command;

use crate::run::{program, run};
use crate::tools;

const LINTER: &str = "github.com/rhysd/actionlint/cmd/actionlint";
const VERSION: &str = "v1.7.12";

/// Lints the workflows with actionlint, which Go builds. Without Go, prints that they were not
/// checked.
pub(crate) fn check() -> Result<(), String> {
    if Command::new("go").arg("version").output().is_err() {
        eprintln!("\nWORKFLOWS NOT CHECKED: there is no Go to build the linter with");
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
