//! The tests of the clock and of the formats by Miri, as programs that depend on them run it.
#![expect(clippy::print_stdout, reason = "CI's summary looks for the line")]

use crate::run::{program, run, target};

/// A thousandth of the usual lengths: Miri interprets each instruction.
const LENGTHS: [(&str, &str); 3] =
    [("TACH_SCENARIOS", "1"), ("TACH_RUNS", "1"), ("PROPTEST_CASES", "2")];

/// Runs the tests, or prints that no nightly toolchain has Miri.
pub(crate) fn check() -> Result<(), String> {
    let miri = |arguments: &[&str]| program("cargo", &[&["+nightly", "miri"], arguments].concat());
    if !miri(&["--version"]).output().is_ok_and(|version| version.status.success()) {
        println!("miri: NOT RUN: `rustup toolchain install nightly -c miri -c rust-src` has it");
        return Ok(());
    }
    let mut test = miri(&["test", "--all-features", "--no-fail-fast", "--lib", "--test", "it"]);
    test.args(["--package", "tach-core", "--package", "tach-log"]).envs(LENGTHS);
    // Disable isolation, which forbids the real-time clock and the files in which proptest keeps
    // failures.
    run(test
        .env("MIRIFLAGS", "-Zmiri-disable-isolation")
        .env("CARGO_TARGET_DIR", target().join("miri")))
}
