//! Every combination of features.

use crate::run::run;
use crate::tools::Tool;
use crate::workspace;

const HACK: Tool = Tool { name: "cargo-hack", version: "0.6.46" };

/// Lints each published package with each combination of its features, and with none.
pub(crate) fn check() -> Result<(), String> {
    // `default` is a combination of the others. Dev-dependencies need not be removed from the
    // manifests: resolver 3 gives their features to tests only.
    let lint = ["hack", "clippy", "--feature-powerset", "--exclude-features", "default"];
    let mut hack = HACK.command(&lint)?;
    run(hack.args(workspace::arguments()?).args(["--", "-D", "warnings"]))
}
