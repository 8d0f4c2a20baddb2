//! The tests with the address sanitizer. The endurance program finds leaks.

use std::env;

use crate::run::{SHORT_TESTS, cargo, run, target};

/// The packages with `unsafe` code, and those that call the system for them.
const PACKAGES: [&str; 7] = [
    "tach-core",
    "tach-files",
    "tach-pipeline",
    "tach-record",
    "tach-sinks",
    "tach-spans",
    "tach-tracing",
];

/// Runs the tests of the packages with `unsafe` code. The sanitizer is unstable, and a variable of
/// the compiler allows it.
pub(crate) fn check() -> Result<(), String> {
    let host = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let mut test = cargo(&["test", "--all-features", "--no-fail-fast", "--lib", "--tests"]);
    test.args(["--target", &host]);
    for package in PACKAGES {
        test.args(["--package", package]);
    }
    // Tests make clocks and pipelines that live as long as their process, and end by signals.
    test.env("ASAN_OPTIONS", "detect_leaks=0:handle_segv=0").envs(SHORT_TESTS);
    test.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    run(test.env("CARGO_TARGET_DIR", target().join("sanitize")))
}
