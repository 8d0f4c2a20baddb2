//! The tests of budgets with axum, tonic and reqwest.

use crate::run::{self, cargo, run};

/// Lints the tests and runs them.
pub(crate) fn check() -> Result<(), String> {
    // They are not in the workspace, because tonic needs a newer Rust.
    let package = ["--manifest-path", "tower-tests/Cargo.toml"];
    let target = run::target();
    run(cargo(&["fmt", "--check"]).args(package))?;
    let mut clippy = cargo(&["clippy", "--locked", "--all-targets"]);
    clippy.args(package).env("CARGO_TARGET_DIR", &target);
    run(clippy.args(["--", "-D", "warnings"]))?;
    run(cargo(&["test", "--locked"]).args(package).env("CARGO_TARGET_DIR", &target))
}
