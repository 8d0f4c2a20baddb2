//! The tests with the address sanitizer, and those of queues, rings and slots with the thread
//! sanitizer. The endurance program finds leaks.
#![expect(clippy::print_stdout, reason = "CI's summary looks for the line")]

use std::env;
use std::path::Path;
use std::process::Command;

use crate::run::{SHORT_TESTS, cargo, program, run, target};

/// The packages with `unsafe` code, and those that call the system for them.
const PACKAGES: [&str; 8] = [
    "tach-core",
    "tach-files",
    "tach-pipeline",
    "tach-record",
    "tach-sinks",
    "tach-spans",
    "tach-survive",
    "tach-tracing",
];

/// The packages with the memory that threads share.
const SHARED: [&str; 2] = ["tach-record", "tach-spans"];

/// Runs both.
pub(crate) fn check() -> Result<(), String> {
    let host = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    addresses(&host)?;
    threads(&host)
}

/// Runs the tests of the packages with `unsafe` code. The sanitizer is unstable, and a variable of
/// the compiler allows it.
fn addresses(host: &str) -> Result<(), String> {
    let mut test = cargo(&["test", "--all-features", "--no-fail-fast", "--lib", "--tests"]);
    test.args(["--target", host]);
    for package in PACKAGES {
        test.args(["--package", package]);
    }
    // Ignore leaks and signals: tests make clocks and pipelines that live as long as the process,
    // and end by signals.
    test.env("ASAN_OPTIONS", "detect_leaks=0:handle_segv=0").envs(SHORT_TESTS);
    test.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    run(test.env("CARGO_TARGET_DIR", target().join("sanitize")))
}

/// Runs the unit tests of shared memory. The standard library must be built with the sanitizer too:
/// otherwise its locks and threads look like races. Prints that no nightly toolchain has its
/// source.
fn threads(host: &str) -> Result<(), String> {
    let nightly = Command::new("rustc").args(["+nightly", "--print", "sysroot"]).output();
    let sysroot = nightly.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned());
    let source = format!("{}/lib/rustlib/src/rust/library", sysroot.unwrap_or_default());
    if !Path::new(&source).exists() {
        println!("threads: NOT RUN: `rustup toolchain install nightly -c rust-src` has the source");
        return Ok(());
    }
    let mut test =
        program("cargo", &["+nightly", "test", "-Zbuild-std", "--all-features", "--lib"]);
    test.args(["--no-fail-fast", "--target", host]);
    for package in SHARED {
        test.args(["--package", package]);
    }
    // Skip a test that shares no memory: it waits for the kernel, and under the sanitizer longer
    // than it allows.
    test.args(["--", "--skip", "linux_has_it"]);
    test.env("RUSTFLAGS", "-Zsanitizer=thread").envs(SHORT_TESTS);
    run(test.env("CARGO_TARGET_DIR", target().join("threads")))
}
