//! The tests with the real OpenTelemetry Collector and Jaeger.

use std::env;
use std::path::PathBuf;

use crate::cache;
use crate::run::{cargo, program, root, run};

/// The variables by which the tests find the programs, and the programs.
const PROGRAMS: [(&str, &str); 3] =
    [("OTELCOL_BIN", "otelcol"), ("JAEGER_BIN", "jaeger"), ("FAKETIME_LIB", "libfaketime.so")];

/// Sets up what is missing, lints the tests and runs them.
pub(crate) fn check() -> Result<(), String> {
    let home = cache::folder("TACH_OTEL_HOME", "tach-otel")?;
    let mut setup = program("bash", &["xtask/otel/setup.sh"]);
    run(setup.env("TACH_OTEL_HOME", &home))?;
    // They are no part of the workspace.
    let package = ["--manifest-path", "otel-tests/Cargo.toml"];
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let workspace_target = root().join(target);
    let target = workspace_target.join("otel");
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
    test.env("SERVICE_BIN", workspace_target.join("debug/examples/service"));
    run(&mut test)
}
