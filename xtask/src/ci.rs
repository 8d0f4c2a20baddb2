//! The steps of CI, in two tiers.
//!
//! README's test command runs beside the other steps: its programs wait more than they compute.
//! Each step is a process of its own, whose output is printed when it has ended, so that the
//! outputs of two steps never mix.
#![expect(clippy::print_stdout, reason = "the summary is CI's output")]

use std::env;
use std::fs::{self, File};
use std::thread;
use std::time::Instant;

use crate::bench;
use crate::built;
use crate::codegen;
use crate::cross;
use crate::faults;
use crate::files;
use crate::fuzz;
use crate::journal;
use crate::limits;
use crate::loom;
use crate::miri;
use crate::moved;
use crate::otel;
use crate::peers;
use crate::prices;
use crate::readers;
use crate::readme;
use crate::release::{api, dependencies, features, lower_bounds, packages};
use crate::run::{self, Priority, SHORT_TESTS, cargo, program, run, run_test, run_tests};
use crate::sanitize;
use crate::tower;
use crate::ways;
use crate::workflow;

pub(crate) const DENY_WARNINGS: [&str; 3] = ["--", "-D", "warnings"];

/// Which steps run, and how long they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// What each change must pass.
    Change,
    /// Everything: by night and before a release.
    Full,
}

/// A step: its name, its line of help, the first tier that runs it, and its function.
pub(crate) struct Step(
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) Tier,
    pub(crate) fn(Tier) -> Result<(), String>,
);

/// README's test command.
const TESTS: &str = "tests";

pub(crate) const STEPS: &[Step] = &[
    Step("format", "check the format of all files", Tier::Change, |_| {
        run(&mut cargo(&["fmt", "--all", "--check"]))
    }),
    Step("records", "compare the documents with the benchmarks' records", Tier::Change, |_| {
        bench::check()
    }),
    Step(
        "limits",
        "compare the size and structure of the code with limits.toml",
        Tier::Change,
        |_| limits::check(false),
    ),
    Step("workflows", "lint the definition of the hosted CI", Tier::Change, |_| workflow::check()),
    Step(
        "dependencies",
        "check dependencies' licences, sources and advisories",
        Tier::Change,
        |_| dependencies::check(),
    ),
    Step("lints", "run clippy with all features", Tier::Change, |_| lints()),
    Step(TESTS, "run README's test command", Tier::Change, readme_tests),
    Step("documentation", "build the documentation", Tier::Change, |_| documentation()),
    Step("api", "compare each package's interface with its list", Tier::Change, |_| {
        api::check(api::Lists::Compared)
    }),
    Step(
        "features",
        "lint the published packages with each feature, or with pairs",
        Tier::Change,
        features::check,
    ),
    Step("no-std", "build tach-core for a program without std", Tier::Change, |_| no_std()),
    Step("codegen", "check the assembly of the hot paths", Tier::Change, |_| codegen::check()),
    Step(
        "loom",
        "run the models, and check that they need every memory ordering",
        Tier::Change,
        loom::check,
    ),
    Step(
        "peers",
        "run peers' tests against tach, and compare the results",
        Tier::Change,
        peers::check_tier,
    ),
    Step(
        "faults",
        "let system calls fail, each at each of its occurrences",
        Tier::Change,
        faults::check,
    ),
    Step("cross", "set up, build and run on the other platforms", Tier::Change, cross::check_tier),
    Step(
        "modes",
        "run tests without features, on other roads, clocks and panics",
        Tier::Full,
        |_| modes(),
    ),
    Step(
        "packages",
        "check the files of the published packages, and rehearse publishing them",
        Tier::Full,
        |_| packages::check(),
    ),
    Step(
        "lower-bounds",
        "compile with the oldest dependencies that the manifests allow",
        Tier::Full,
        |_| lower_bounds::check(),
    ),
    Step("journal", "set up systemd's journal and run the test with it", Tier::Full, |_| {
        journal::check()
    }),
    Step("readers", "set up daemons and tailers and let them read logs", Tier::Full, |_| {
        readers::check()
    }),
    Step(
        "otel",
        "set up a real OpenTelemetry Collector and Jaeger and run the tests with them",
        Tier::Full,
        |_| otel::check(),
    ),
    Step("tower", "run the tests of budgets with axum, tonic and reqwest", Tier::Full, |_| {
        tower::check()
    }),
    Step(
        "moved",
        "move published programs over as the page says, and compare them",
        Tier::Full,
        |_| moved::check(&[]),
    ),
    Step("ways", "count the files and functions that calls pass", Tier::Full, |_| ways::check()),
    Step("prices", "count the instructions of the guide's own lines", Tier::Full, |_| {
        prices::check(false)
    }),
    Step("order", "compare instants of two threads, in real time", Tier::Full, |_| order()),
    Step("kills", "kill processes that log, and a thousand in a row", Tier::Full, |_| kills()),
    Step("fuzz", "build each fuzz target, and run it for a minute", Tier::Full, |_| fuzz::check()),
    Step(
        "sanitize",
        "run the tests with the sanitizers of addresses and threads",
        Tier::Full,
        |_| sanitize::check(),
    ),
    Step("miri", "run the tests of tach-core and tach-log by Miri", Tier::Full, |_| miri::check()),
    Step("endurance", "a pipeline with a collector that dies, for two minutes", Tier::Full, |_| {
        otel::endurance("2")
    }),
];

impl Step {
    /// Runs the step as long as it is in a tier, or in the first tier that has it.
    pub(crate) fn run(&self, tier: Tier) -> Result<(), String> {
        self.3(tier.max(self.2))
    }
}

/// Runs the steps with these names, or all steps of a tier: of the full one after `--full`.
pub(crate) fn check(arguments: &[String]) -> Result<(), String> {
    let (options, names): (Vec<&str>, Vec<&str>) =
        arguments.iter().map(String::as_str).partition(|argument| argument.starts_with('-'));
    let tier = match options[..] {
        [] => Tier::Change,
        ["--full"] => Tier::Full,
        _ => return Err(format!("ci takes --full and names of steps, not {}", options.join(" "))),
    };
    if names.is_empty() {
        return all(tier);
    }
    let find = |name: &&str| {
        let step = STEPS.iter().find(|step| step.0 == *name);
        step.ok_or_else(|| {
            let all: Vec<_> = STEPS.iter().map(|step| step.0).collect();
            format!("there is no step \"{name}\", but {}", all.join(", "))
        })
    };
    let steps = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    steps.into_iter().try_for_each(|step| step.run(tier))
}

/// Runs every step, also after one that fails, so that one run shows all failures.
fn all(tier: Tier) -> Result<(), String> {
    let start = Instant::now();
    if tier == Tier::Full {
        // Prepare what late steps need while tests wait and leave the CPU idle. A late step repeats
        // what failed here.
        thread::spawn(|| {
            let made = otel::set_up(&[], Priority::Idle).and_then(|_| cross::set_up_ahead());
            made.unwrap_or_else(|problem| println!("ahead of the other steps: {problem}"));
        });
    }
    files::create_folder(&run::target().join("ci"))?;
    let (tests, others): (Vec<_>, Vec<_>) =
        STEPS.iter().filter(|step| step.2 <= tier).partition(|step| step.0 == TESTS);
    let lane =
        |steps: Vec<&Step>| -> Vec<_> { steps.into_iter().map(|step| alone(step, tier)).collect() };
    let results = thread::scope(|scope| {
        let tests = scope.spawn(|| lane(tests));
        let mut results = lane(others);
        results.extend(tests.join().unwrap_or_else(|_| vec![Err("a thread panicked".into())]));
        results
    });
    println!();
    for Ok(line) | Err(line) in &results {
        println!("{line}");
    }
    println!("{:16} {:4} s", "in all", start.elapsed().as_secs());
    let failed = results.iter().filter(|result| result.is_err()).count();
    println!("steps: {} passed, {failed} failed", results.len() - failed);
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} steps failed", results.len())) }
}

/// Runs a step in a process of its own, prints its output, and returns its line of the summary.
fn alone(Step(name, ..): &Step, tier: Tier) -> Result<String, String> {
    let failed = |problem: String| format!("{name:16} FAILED: {problem}");
    let start = Instant::now();
    let path = run::target().join("ci").join(name);
    let can_not = |error| failed(format!("{}: {error}", path.display()));
    let log = File::create(&path).map_err(can_not)?;
    let this = env::current_exe().map_err(can_not)?;
    let mut step = program(&this.to_string_lossy(), &["ci", name]);
    step.args((tier == Tier::Full).then_some("--full"));
    step.stdout(log.try_clone().map_err(can_not)?).stderr(log);
    let status = step.status().map_err(can_not)?;
    let output = fs::read(&path).map_err(can_not)?;
    let output = String::from_utf8_lossy(&output);
    let seconds = start.elapsed().as_secs();
    println!("\nxtask: {name}\n{}\nxtask: {name} took {seconds} s", output.trim_end());
    if status.success() {
        let is_whole =
            !["NOT RUN", "NOT CHECKED", "NOT LINTED"].iter().any(|it| output.contains(it));
        let rest = if is_whole { "" } else { ", a part NOT RUN: see its output" };
        return Ok(format!("{name:16} {seconds:4} s{rest}"));
    }
    // The program's last words, which may be several lines.
    let problem = output.rsplit_once("xtask: ").map_or("", |(_, problem)| problem).trim_end();
    Err(failed(format!("{status}: {problem}")))
}

fn lints() -> Result<(), String> {
    let all = ["clippy", "--workspace", "--all-targets", "--all-features"];
    run(cargo(&all).args(DENY_WARNINGS))
}

/// Runs the test command that README.md gives to its readers.
fn readme_tests(tier: Tier) -> Result<(), String> {
    let command = readme::test_command()?;
    let mut words = command.split_whitespace();
    let name = words.next().unwrap_or_default();
    let mut test = program(name, &words.collect::<Vec<_>>());
    if tier == Tier::Change {
        test.envs(SHORT_TESTS);
    }
    let (library, path) = otel::faketime()?;
    // With this variable, a test fails if something that it needs is missing. Without it, the test
    // only says so.
    run_tests(test.env("TACH_TESTS", "all").env(library, path))
}

fn documentation() -> Result<(), String> {
    let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--all-features"]);
    run(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Builds tach-core for a program without std.
pub(crate) fn no_std() -> Result<(), String> {
    let mut build = cargo(&["build", "--release", "--manifest-path", "xtask/no-std/Cargo.toml"]);
    run(build.arg("--target-dir").arg(run::target().join("no-std")))
}

/// Runs tests without features, tests of the public API on other roads and clocks, and the table of
/// ends where each panic aborts.
fn modes() -> Result<(), String> {
    // Without features nested values are texts, and collectors that need gRPC or TLS are refused.
    for package in ["tach-tracing", "tach-log", "tach-otlp"] {
        run(&mut cargo(&["test", "--package", package]))?;
    }
    let mut exit = cargo(&["run", "--locked", "--manifest-path", "xtask/panic-abort/Cargo.toml"]);
    exit.arg("--target-dir").arg(run::target().join("panic-abort"));
    let (library, path) = otel::faketime()?;
    run_test(exit.env(library, path))?;
    // Run the tests with the pipeline as a layer of a registry, not as a subscriber.
    run_test(built::test("tach-pipeline", "it")?.env("TACH_ROAD", "layer"))?;
    for (variable, value) in [("TACH_ORDER", "enforced"), ("TACH_SOURCE", "os")] {
        for test in ["it", "in_place"] {
            run_test(built::test("tach-core", test)?.env(variable, value))?;
        }
    }
    // Test spans under steps of the wall clock, with the OS clock as the only sign of a step.
    for test in ["it", "stepped"] {
        let mut test = built::test("tach-otel", test)?;
        run_test(test.env("TACH_SOURCE", "os").env("TACH_SPANS", "10000"))?;
    }
    Ok(())
}

/// Kills processes whose records outlive them, more often than the tests do.
fn kills() -> Result<(), String> {
    let mut row = built::test("tach-pipeline", "survive")?;
    run_test(row.arg("deaths_in_a_row").env("TACH_KILLS", "2000"))?;
    run_test(built::test("tach-pipeline", "survive")?.env("TACH_KILLS", "50"))
}

/// Compares instants of two threads, in real time.
fn order() -> Result<(), String> {
    let order = ["test", "--release", "--package", "tach-core", "--test", "it", "order::"];
    run(&mut cargo(&order))?;
    run(cargo(&order).env("TACH_ORDER", "enforced"))
}
