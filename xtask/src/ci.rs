//! The steps of CI.
#![expect(clippy::print_stdout, reason = "the summary is CI's output")]

use std::thread;
use std::time::Instant;

use crate::bench;
use crate::built;
use crate::codegen;
use crate::cross;
use crate::journal;
use crate::loom;
use crate::moved;
use crate::otel;
use crate::peers;
use crate::readme;
use crate::release::{dependencies, features, lower_bounds, packages, public_types};
use crate::run::{Priority, cargo, program, run, run_test, run_tests};
use crate::schemas;
use crate::tower;
use crate::workflow;

const DENY_WARNINGS: [&str; 3] = ["--", "-D", "warnings"];

/// A step: its name and its function.
type Step = (&'static str, fn() -> Result<(), String>);

const STEPS: &[Step] = &[
    ("format", || run(&mut cargo(&["fmt", "--all", "--check"]))),
    ("lints", lints),
    ("records", bench::check),
    ("README's test command", readme_tests),
    ("tests without features", || {
        run(&mut cargo(&["test", "--package", "tach-tracing"]))?;
        // Nested values are texts.
        run(&mut cargo(&["test", "--package", "tach-log"]))?;
        // Collectors that need gRPC or TLS are refused.
        run(&mut cargo(&["test", "--package", "tach-otlp"]))
    }),
    ("the public API by other means", || {
        // The spans of the pipeline by a registry's layer, in place of its own subscriber.
        run_test(built::test("tach-pipeline", "it")?.env("TACH_ROAD", "layer"))?;
        for (variable, value) in [("TACH_ORDER", "enforced"), ("TACH_SOURCE", "os")] {
            run_test(built::test("tach-core", "it")?.env(variable, value))?;
        }
        // Spans under steps of the wall clock, where nothing but the OS clock tells of a step.
        for test in ["it", "stepped"] {
            let mut test = built::test("tach-otel", test)?;
            run_test(test.env("TACH_SOURCE", "os").env("TACH_SPANS", "10000"))?;
        }
        Ok(())
    }),
    ("documentation", || {
        let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--all-features"]);
        run(doc.env("RUSTDOCFLAGS", "-D warnings"))
    }),
    ("no_std", no_std),
    ("feature combinations", features::check),
    ("packages", packages::check),
    ("public types", public_types::check),
    ("lower bounds", lower_bounds::check),
    ("dependencies", dependencies::check),
    ("workflows", workflow::check),
    ("code generation", codegen::check),
    ("loom models", loom::check),
    ("systemd's journal", journal::check),
    ("services' schemas", schemas::check),
    ("OpenTelemetry's back ends", otel::check),
    ("budgets on real hops", tower::check),
    ("peers' tests", peers::check_all),
    ("programs that move over", || moved::check(&[])),
    ("order across threads", || {
        let skew = ["--package", "tach-cli", "--", "skew", "--for", "1s"];
        run(cargo(&["run", "--release"]).args(skew))
    }),
    ("the other platforms", || cross::check(&[])),
];

/// Runs every step, also after one that fails, so that one run shows all failures.
pub(crate) fn all() -> Result<(), String> {
    // Many tests wait, and leave the CPU to what late steps need. These make what could not be made.
    thread::spawn(|| {
        let made = otel::set_up(&[], Priority::Idle).and_then(|_| cross::set_up_ahead());
        made.unwrap_or_else(|problem| println!("ahead of the other steps: {problem}"));
    });
    let results: Vec<_> = STEPS.iter().map(|&(name, step)| timed(name, step)).collect();
    println!();
    for Ok(line) | Err(line) in &results {
        println!("{line}");
    }
    match results.iter().filter(|result| result.is_err()).count() {
        0 => Ok(()),
        count => Err(format!("{count} of {} steps failed", results.len())),
    }
}

/// Runs a step and returns its line of the summary.
fn timed(name: &str, step: fn() -> Result<(), String>) -> Result<String, String> {
    println!("xtask: {name}");
    let start = Instant::now();
    step().map_err(|problem| format!("{name:28} FAILED: {problem}"))?;
    Ok(format!("{name:28} ok in {:.0?}", start.elapsed()))
}

fn lints() -> Result<(), String> {
    let all = ["clippy", "--workspace", "--all-targets", "--all-features"];
    run(cargo(&all).args(DENY_WARNINGS))
}

/// Runs the test command that README.md gives to its readers.
fn readme_tests() -> Result<(), String> {
    let command = readme::test_command()?;
    let mut words = command.split_whitespace();
    let name = words.next().unwrap_or_default();
    // With this variable a test fails if something that it needs is missing. Otherwise it only says
    // so.
    let mut test = program(name, &words.collect::<Vec<_>>());
    let (library, path) = otel::faketime()?;
    run_tests(test.env("TACH_TESTS", "all").env(library, path))
}

/// Builds tach-core for a program without std.
pub(crate) fn no_std() -> Result<(), String> {
    run(&mut cargo(&[
        "build",
        "--release",
        "--manifest-path",
        "xtask/no-std/Cargo.toml",
        "--target-dir",
        "target/no-std",
    ]))
}
