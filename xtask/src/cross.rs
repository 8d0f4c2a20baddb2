//! The tests on every other platform, or only its compilation where nothing can run it.
#![expect(clippy::print_stdout, reason = "the table is the task's output")]

mod home;
mod targets;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Instant;

use crate::ci::Tier;
use crate::run::{Priority, SHORT_TESTS, program, root, run};
use crate::workspace;
use home::{Compiler, Home};
use targets::{Means, TARGETS, Target, Work};

/// The targets with another width or another byte order than the host's. Every other target has the
/// arithmetic of the host or of one of these. It skips the long tests of arithmetic: simulated
/// years and faults, properties of any input, comparisons with other libraries. If its tests run,
/// it also skips the features `serde`, `jiff02`, `jiff1` and `local-time`.
const OTHER_ARITHMETIC: [&str; 2] = ["i686-unknown-linux-gnu", "s390x-unknown-linux-gnu"];

/// The targets of a change's tier, each with its C compiler.
const QUICK: [(&str, &str); 2] = [("i686", "cc-i686"), ("aarch64", "cc-aarch64")];

/// Checks all targets, or those with these names. After a failure the others still run.
pub(crate) fn check(names: &[String]) -> Result<(), String> {
    if let Some(unknown) = names.iter().find(|name| !TARGETS.iter().any(|one| one.name == **name)) {
        let known: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        return Err(format!("\"{unknown}\" is not a target; these are: {}", known.join(" ")));
    }
    let home = Home::find()?;
    let is_asked_for =
        |target: &&Target| names.is_empty() || names.iter().any(|name| name == target.name);
    let waiting = Mutex::new(TARGETS.iter().filter(is_asked_for));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let mut lines = BTreeMap::new();
    let mut failed = Vec::new();
    thread::scope(|scope| {
        let (set_up, ready) = mpsc::channel();
        // Set up two targets while others are tested: a set-up mostly compiles one crate, on one
        // core.
        for _ in 0..2 {
            let set_up = set_up.clone();
            scope.spawn(|| {
                let set_up = set_up;
                while let Some(target) = next() {
                    let _nobody_waits =
                        set_up.send((target, home.set_up(target.name, Priority::Now)));
                }
            });
        }
        drop(set_up);
        for (target, result) in ready {
            eprintln!("\n== {}", target.name);
            let start = Instant::now();
            let (verdict, detail) = match result.and_then(|()| target.check(&home)) {
                Ok(done) => ("ok", done),
                Err(problem) => {
                    failed.push(target.name);
                    ("FAILED", problem)
                }
            };
            let seconds = start.elapsed().as_secs();
            let place = TARGETS.iter().position(|one| one.name == target.name);
            lines.insert(place, format!("{:16} {verdict:6} {seconds:4} s  {detail}", target.name));
        }
    });
    println!();
    for line in lines.values() {
        println!("{line}");
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

/// Checks all targets, or in a change's tier those of another width or another counter whose
/// compilers are installed.
pub(crate) fn check_tier(tier: Tier) -> Result<(), String> {
    if tier == Tier::Full {
        return check(&[]);
    }
    let home = Home::find()?;
    let (there, missing): (Vec<_>, Vec<_>) =
        QUICK.into_iter().partition(|(_, compiler)| home.bin(compiler).exists());
    for (name, _) in missing {
        println!(
            "{name}: NOT RUN: its compiler is not installed; `cargo xtask cross {name}` does it"
        );
    }
    let names: Vec<_> = there.into_iter().map(|(name, _)| name.to_owned()).collect();
    if names.is_empty() { Ok(()) } else { check(&names) }
}

/// Sets all targets up with what other programs leave of the CPU. [`check`] waits for what is being
/// made, and makes what could not be made.
pub(crate) fn set_up_ahead() -> Result<(), String> {
    let home = Home::find()?;
    TARGETS.iter().try_for_each(|target| home.set_up(target.name, Priority::Idle))
}

impl Target {
    /// Does the work and returns a description of it.
    fn check(&self, home: &Home) -> Result<String, String> {
        let mut done = String::new();
        for triple in self.triples {
            // Two of these targets never have std, and `native` checks the same target as `msrv`.
            if !matches!(self.work, Work::Msrv | Work::WebWithoutStd | Work::BareMetal) {
                run(core(home, "check", triple, "", Std::Without).arg("--lib"))?;
            }
            done = match &self.work {
                Work::Msrv => msrv(home),
                Work::Tests(means) => tests(home, triple, means, &["--lib", "--tests"]),
                Work::Reads(means) => {
                    tests(home, triple, means, &["--lib", "--test=it", "--test=source"])
                }
                Work::Web(place) => web(home, triple, *place),
                Work::WebWithoutPerformance => web_without_performance(home, triple),
                Work::WebWithoutStd => web_without_std(home, triple),
                Work::WebOtel => web_otel(home, triple),
                Work::BareMetal => {
                    let manifest = ["--manifest-path", "xtask/bare-metal/Cargo.toml"];
                    let mut build = home.cargo(Compiler::Newest, &["build", "--locked"]);
                    run(build.args(manifest).args(["--target", triple]))?;
                    Ok(format!("linked only: {}", self.triples.join(", ")))
                }
                Work::Check(arguments) => {
                    run(core(home, "check", triple, "", Std::With).args(*arguments))?;
                    // These packages have files for each kind of system.
                    let others = [
                        "tach-files",
                        "tach-pipeline",
                        "tach-record",
                        "tach-sinks",
                        "tach-spans",
                        "tach-survive",
                    ];
                    let others = others.into_iter().flat_map(|name| ["--package", name]);
                    let check = ["check", "--locked", "--all-features", "--target", triple];
                    run(home.cargo(Compiler::Newest, &check).args(others))?;
                    Ok(format!("checked only: {}", self.triples.join(", ")))
                }
            }?;
        }
        Ok(done)
    }
}

fn msrv(home: &Home) -> Result<String, String> {
    let mut check = home.cargo(Compiler::Msrv, &["check", "--locked", "--all-features"]);
    run(check.args(workspace::arguments()?))?;
    let mut compiler = home.cargo(Compiler::Msrv, &["--version"]);
    Ok(format!("checked with {}", first_line(&mut compiler)?))
}

/// Runs the tests twice, the second time with the counter as the source.
///
/// Under an emulator the kernel is the host's and trusts no other CPU's counter, so only
/// `TACH_SOURCE` makes tach read it. The tests that the second run leaves out set the variable
/// themselves.
fn tests(home: &Home, triple: &str, means: &Means, which: &[&str]) -> Result<String, String> {
    let test = || {
        let mut test = core(home, "test", triple, means.flags, Std::With);
        if let Some(linker) = means.linker {
            test.env(setting(triple, "LINKER"), home.bin(linker));
        }
        if let Some(runner) = means.runner {
            runs_with(&mut test, triple, &home.bin(runner));
        }
        if let Some(counter) = means.counter {
            test.env("TACH_EXPECTED_COUNTER", counter);
        }
        // An emulator takes seconds to print a backtrace, and each test that panics prints one.
        test.env("RUST_BACKTRACE", "0");
        test.env_remove("TACH_ORDER").envs(SHORT_TESTS).arg("--no-fail-fast");
        test
    };
    let by_default = run(test().args(which).env_remove("TACH_SOURCE"));
    let by_counter = run(test().args(["--test", "it"]).env("TACH_SOURCE", "counter"));
    by_default.and(by_counter)?;
    let Some(runner) = means.runner else { return Ok("tests run natively".to_owned()) };
    Ok(format!("tests run under {}", first_line(Command::new(home.bin(runner)).arg("--version"))?))
}

fn web(home: &Home, triple: &str, place: Option<&str>) -> Result<String, String> {
    let mut test = web_tests(home, triple);
    let mut host = Command::new("node");
    if let Some(place) = place {
        test.env(place, "1");
        test.env("CHROMEDRIVER", home.bin("chromedriver"));
        test.env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", home.webdriver());
        host = Command::new(home.bin("chromedriver"));
    }
    run(&mut test)?;
    let name = if place.is_some() { "" } else { "Node " };
    Ok(format!("tests run in {name}{}", first_line(host.arg("--version"))?))
}

fn web_without_performance(home: &Home, triple: &str) -> Result<String, String> {
    let mut test = web_tests(home, triple);
    let preload = root().join("xtask/cross/without-performance.cjs");
    run(test.env("NODE_OPTIONS", format!("--require={:?}", preload.display().to_string())))?;
    Ok("tests run in Node without performance".to_owned())
}

/// Runs a script that calls the module, because no test harness works without std.
fn web_without_std(home: &Home, triple: &str) -> Result<String, String> {
    let manifest = ["--manifest-path", "xtask/wasm32v1/Cargo.toml"];
    let mut build = home.cargo(Compiler::Newest, &["build", "--locked", "--target", triple]);
    run(build.args(manifest))?;
    let module = Compiler::Newest.target().join(triple).join("debug/wasm32v1.wasm");
    let package = module.with_file_name("wasm32v1");
    let mut bind = Command::new(home.bin("wasm-bindgen"));
    run(bind.args(["--target", "nodejs", "--out-dir"]).args([&package, &module]))?;
    let mut check = program("node", &["xtask/wasm32v1/check.cjs"]);
    run(check.arg(&package).env_remove("NODE_OPTIONS"))?;
    Ok("a program without std runs in Node".to_owned())
}

/// Sets `getrandom_backend` so that OpenTelemetry takes random numbers from the JavaScript host.
fn web_otel(home: &Home, triple: &str) -> Result<String, String> {
    let mut test = home.cargo(Compiler::Newest, &["test", "--locked", "--target", triple]);
    runs_with(&mut test, triple, &home.bin("run-wasm"));
    run(test
        .args(["--manifest-path", "xtask/wasm-otel/Cargo.toml"])
        .env(setting(triple, "RUSTFLAGS"), "--cfg getrandom_backend=\"wasm_js\""))?;
    Ok("tach-otel's tests run in Node".to_owned())
}

fn web_tests(home: &Home, triple: &str) -> Command {
    let mut test = core(home, "test", triple, "", Std::With);
    runs_with(&mut test, triple, &home.bin("run-wasm"));
    test.args(["--test", "web"]);
    test
}

/// Returns the name of the variable with cargo's setting for one target.
fn setting(triple: &str, name: &str) -> String {
    format!("CARGO_TARGET_{}_{name}", triple.to_uppercase().replace('-', "_"))
}

/// Whether tach-core has the feature `std`.
#[derive(Clone, Copy)]
enum Std {
    With,
    Without,
}

/// Creates a cargo command for tach-core on this target, with these flags for rustc.
fn core(home: &Home, act: &str, triple: &str, flags: &str, std: Std) -> Command {
    let package = ["--locked", "--package", "tach-core", "--target", triple];
    let mut cargo = home.cargo(Compiler::Newest, &[act]);
    // A higher level would take longer to compile than it saves, even under an emulator.
    cargo.args(package).args(["--config", "profile.dev.package.tach-core.opt-level=1"]);
    let is_other = OTHER_ARITHMETIC.contains(&triple);
    let same = if is_other { "" } else { " --cfg tach_same_arithmetic" };
    cargo.env(setting(triple, "RUSTFLAGS"), format!("{flags}{same}"));
    cargo.arg(match std {
        Std::Without => "--no-default-features",
        Std::With if is_other || act == "check" => "--all-features",
        Std::With => "--features=recalibrator,coarse,thread-cpu",
    });
    cargo
}

/// Sets the runner as a list, because cargo would split the value of a variable at spaces.
fn runs_with(cargo: &mut Command, triple: &str, runner: &Path) {
    cargo
        .arg("--config")
        .arg(format!("target.{triple}.runner=[{:?}]", runner.display().to_string()));
}

/// Returns the first line that a program prints, up to the first parenthesis.
fn first_line(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("can't start {command:?}: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let line = printed.lines().next().unwrap_or_default();
    Ok(line.split(" (").next().unwrap_or_default().to_owned())
}
