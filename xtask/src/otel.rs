//! The tests with the real OpenTelemetry Collector and Jaeger.

use std::path::PathBuf;

use crate::cache;
use crate::run::{self, Priority, cargo, run, script};

/// Programs, each after the variable that holds its path for the tests.
const PROGRAMS: [(&str, &str); 3] =
    [("OTELCOL_BIN", "otelcol"), ("JAEGER_BIN", "jaeger"), ("FAKETIME_LIB", "libfaketime.so")];

/// Runs a pipeline for minutes, and checks that nothing is lost and nothing grows.
pub(crate) fn endurance(minutes: &str) -> Result<(), String> {
    let package = ["--release", "--manifest-path", "otel-tests/Cargo.toml", "--bin", "endurance"];
    let mut command = cargo(&["run", "--locked"]);
    command.args(package).env("CARGO_TARGET_DIR", run::target());
    run(command.args(["--", minutes]))
}

/// Fetches libfaketime, and returns the variable that names it for tests, and its path.
pub(crate) fn faketime() -> Result<(&'static str, PathBuf), String> {
    let home = set_up(&["faketime"], Priority::Now)?;
    let [.., (variable, name)] = PROGRAMS;
    Ok((variable, home.join("bin").join(name)))
}

/// Installs missing programs, or those that are named. Returns the folder that they are in.
pub(crate) fn set_up(those: &[&str], priority: Priority) -> Result<PathBuf, String> {
    let home = cache::folder("TACH_OTEL_HOME", "tach-otel")?;
    let mut setup = script("xtask/otel/setup.sh", priority);
    run(setup.args(those).env("TACH_OTEL_HOME", &home))?;
    Ok(home)
}

/// Installs missing programs, lints the tests and runs them.
pub(crate) fn check() -> Result<(), String> {
    let home = set_up(&[], Priority::Now)?;
    // The tests are not in the workspace, because the exporter needs a newer Rust.
    let package = ["--manifest-path", "otel-tests/Cargo.toml"];
    let target = run::target();
    run(cargo(&["fmt", "--check"]).args(package))?;
    let mut clippy = cargo(&["clippy", "--locked", "--all-targets"]);
    clippy.args(package).env("CARGO_TARGET_DIR", &target);
    run(clippy.args(["--", "-D", "warnings"]))?;
    let mut test = cargo(&["test", "--locked"]);
    test.args(package).env("CARGO_TARGET_DIR", &target).env("TACH_TESTS", "all");
    for (variable, name) in PROGRAMS {
        test.env(variable, home.join("bin").join(name));
    }
    run(&mut cargo(&["build", "--locked", "--package", "examples", "--example", "service"]))?;
    test.env("SERVICE_BIN", run::target().join("debug/examples/service"));
    run(&mut test)
}
