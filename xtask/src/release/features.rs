//! Combinations of features.

use crate::run::run;
use crate::tools::Tool;
use crate::workspace;

const HACK: Tool = Tool { name: "cargo-hack", version: "0.6.46" };

/// Lints each published package with each pair of its features, each feature alone, and none. The
/// lints of CI have all of them. Every combination would take ten minutes, for faults that need
/// three features to appear.
pub(crate) fn check() -> Result<(), String> {
    // `default` is a combination of the others. Dev-dependencies need not be removed from the
    // manifests: resolver 3 gives their features to tests only.
    let lint = ["hack", "clippy", "--feature-powerset", "--depth", "2"];
    let mut hack = HACK.command(&lint)?;
    hack.args(["--exclude-features", "default"]);
    run(hack.args(workspace::arguments()?).args(["--", "-D", "warnings"]))
}
