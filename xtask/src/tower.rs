//! The tests of budgets with axum, tonic and reqwest, and the price of a budget.

#![expect(clippy::print_stdout, reason = "says what was not run")]

use crate::run::{self, cargo, program, run};

/// Lints the tests and runs them.
pub(crate) fn check() -> Result<(), String> {
    // The tests are not in the workspace, because tonic needs a newer Rust.
    let package = ["--manifest-path", "tower-tests/Cargo.toml"];
    let target = run::target();
    run(cargo(&["fmt", "--check"]).args(package))?;
    let mut clippy = cargo(&["clippy", "--locked", "--all-targets"]);
    clippy.args(package).env("CARGO_TARGET_DIR", &target);
    run(clippy.args(["--", "-D", "warnings"]))?;
    run(cargo(&["test", "--locked"]).args(package).env("CARGO_TARGET_DIR", &target))?;
    if !program("valgrind", &["--version"]).output().is_ok_and(|it| it.status.success()) {
        println!("budgets: NOT RUN: valgrind is not installed");
        return Ok(());
    }
    let mut price = cargo(&["run", "--locked", "--release", "--bin", "budgets"]);
    run(price.args(package).env("CARGO_TARGET_DIR", &target).args(["--", "--limits"]))
}
