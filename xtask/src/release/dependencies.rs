//! Licences, sources and advisories of all dependencies, by `deny.toml`.

use std::env;
use std::path::Path;

use super::lower_bounds;
use crate::run::{cargo, root, run};
use crate::tools::Tool;

const DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2" };

/// Set where the database of advisories must be reachable, as in hosted CI.
const REQUIRED: &str = "TACH_ADVISORIES";

/// Checks the rules of `deny.toml`, and that neither the versions that are locked nor the lowest
/// ones that the published packages allow have an advisory. Where the database of advisories can't
/// be had, prints that the advisories were not checked, or fails if `TACH_ADVISORIES=required`.
pub(crate) fn check() -> Result<(), String> {
    run(&mut DENY.command(&["check", "licenses", "bans", "sources"])?)?;
    if let Err(problem) = run(&mut DENY.command(&["fetch", "db"])?) {
        if env::var_os(REQUIRED).is_some_and(|value| value == "required") {
            return Err(problem);
        }
        eprintln!("\nADVISORIES NOT CHECKED: their database can't be had here");
        return Ok(());
    }
    advisories(&root())?;
    advisories(&lower_bounds::locked()?)
}

/// Checks the versions that are locked in this folder.
fn advisories(folder: &Path) -> Result<(), String> {
    run(cargo(&["fetch", "--locked"]).current_dir(folder))?;
    let mut deny = DENY.command(&["--all-features", "--offline", "--config"])?;
    deny.arg(root().join("deny.toml")).arg("--manifest-path").arg(folder.join("Cargo.toml"));
    run(deny.args(["check", "advisories"]))
}
