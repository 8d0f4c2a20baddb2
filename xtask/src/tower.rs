//! The tests of budgets with axum, tonic and reqwest, and the prices of a budget and of a request.

#![expect(clippy::print_stdout, reason = "says what was not run")]

use std::path::Path;

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
    let mut test = cargo(&["test", "--locked"]);
    let has = |name| program(name, &["--version"]).output().is_ok_and(|it| it.status.success());
    if Path::new("/usr/lib/postgresql").exists() && has("redis-server") {
        test.env("TACH_TESTS", "all");
    } else {
        println!("databases: NOT RUN: postgresql or redis-server is not installed");
    }
    run(test.args(package).env("CARGO_TARGET_DIR", &target))?;
    if !has("valgrind") {
        println!("budgets: NOT RUN: valgrind is not installed");
        return Ok(());
    }
    for (name, arguments) in [("budgets", &["--", "--limits"][..]), ("requests", &[])] {
        let mut price = cargo(&["run", "--locked", "--release", "--bin", name]);
        run(price.args(package).env("CARGO_TARGET_DIR", &target).args(arguments))?;
    }
    Ok(())
}
