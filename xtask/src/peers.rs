//! The tests that peers wrote for the promises that tach makes too, run against tach.
//!
//! A peer's files come from where its users get them, in one version, and stay in `target/peers`
//! and the user's caches: nothing of them is in the repository. The package `xtask/peers/NAME`
//! offers the peer's names over tach, and includes the tests. Each mode's results are compared with
//! the list of differences, where each has its reason.
#![expect(clippy::print_stdout, reason = "prints the results of each peer and mode")]

mod opentelemetry_sdk;
mod quanta;
mod results;
mod rust_std;
mod slog;
pub(crate) mod source;
pub(crate) mod taken;
mod tracing_opentelemetry;
mod tracing_subscriber;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use self::results::Results;
use self::source::{Found, Source};
use self::taken::File;
use crate::ci::Tier;
use crate::files;
use crate::run::{self, cargo, program, root, run};

/// A crate whose tests are run against tach.
struct Peer {
    /// The name of its package in `xtask/peers`.
    name: &'static str,
    source: Source,
    form: Form,
    /// The files with tests that are run.
    taken: &'static [File],
    /// Files with tests that are not run, each with the reason. A folder ends with a slash.
    left_out: &'static [(&'static str, &'static str)],
    /// Parts of the names of the tests that are run, or none for all.
    filters: &'static [&'static str],
    /// Parts of the names of tests that run in processes of their own: each part has a process for
    /// the tests that it names. They change or count what is global, such as the process's logger.
    alone: &'static [&'static str],
    expected: Expected,
}

/// What the tests are compiled with.
enum Form {
    /// A package that offers the peer's names over tach, and includes the tests.
    Names,
    /// The peer itself, in which the tests are changed. Its package has a manifest and, if the
    /// tests need it, `clocked.rs`, another file of the crate.
    Itself,
}

/// The results that a peer's tests have in every mode.
struct Expected {
    passed: usize,
    differences: &'static [Difference],
}

/// A test that fails, and why that is no fault.
struct Difference {
    test: &'static str,
    /// A part of its message. A failure without it is another one.
    message: &'static str,
    reason: &'static str,
}

/// The file that a peer gets which is compiled itself.
const OWN: &str = "clocked.rs";

/// Environments of the tests.
const MODES: [(&str, &[(&str, &str)]); 3] = [
    ("default", &[]),
    ("order enforced", &[("TACH_ORDER", "enforced")]),
    ("the OS's clock", &[("TACH_SOURCE", "os")]),
];

const PEERS: [&Peer; 7] = [
    &quanta::PEER,
    &rust_std::PEER,
    &slog::PEER,
    &opentelemetry_sdk::PEER,
    &tracing_opentelemetry::OVER_THE_WIRE,
    &tracing_opentelemetry::CLOCKED,
    &tracing_subscriber::PEER,
];

/// The peers whose tests are compiled and run in seconds.
const QUICK: [&str; 3] = ["quanta", "slog", "std"];

/// The consequence of a peer whose files can't be had on this system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Fails,
    IsPrinted,
}

/// Runs the tests of all peers, or of the peers that are named. If a peer's files can't be had on
/// this system, prints `NOT RUN`, or fails with `TACH_TESTS=all`.
pub(crate) fn check(names: &[String]) -> Result<(), String> {
    let is_needed = env::var_os("TACH_TESTS").is_some_and(|value| value == "all");
    check_those(names, if is_needed { Missing::Fails } else { Missing::IsPrinted })
}

/// Runs the tests of all peers, whose files must all be available, or in a change's tier those that
/// take seconds.
pub(crate) fn check_tier(tier: Tier) -> Result<(), String> {
    match tier {
        Tier::Change => check(&QUICK.map(str::to_owned)),
        Tier::Full => check_those(&[], Missing::Fails),
    }
}

fn check_those(names: &[String], missing: Missing) -> Result<(), String> {
    if let Some(unknown) = names.iter().find(|name| PEERS.iter().all(|peer| peer.name != **name)) {
        let known = PEERS.map(|peer| peer.name).join(", ");
        return Err(format!("there is no peer \"{unknown}\", but {known}"));
    }
    let is_asked = |peer: &&&Peer| names.is_empty() || names.iter().any(|name| name == peer.name);
    let faults: Vec<String> =
        PEERS.iter().filter(is_asked).filter_map(|peer| peer.check(missing).err()).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

impl Peer {
    /// Runs the tests in each mode.
    fn check(&self, missing: Missing) -> Result<(), String> {
        let named = |fault: String| format!("{}: {fault}", self.name);
        self.prepare().map_err(named)?;
        let sources = match self.source.find(&self.manifest()).map_err(named)? {
            Found::At(folder) => folder,
            Found::Nowhere(reason) if missing == Missing::IsPrinted => {
                println!("{}: NOT RUN: {reason}", self.name);
                return Ok(());
            }
            Found::Nowhere(reason) => return Err(named(reason)),
        };
        self.take(&sources).map_err(named)?;
        match self.form {
            Form::Names => {
                run(cargo(&["fmt", "--check", "--manifest-path"]).arg(self.manifest()))?;
            }
            Form::Itself if self.package().join(OWN).exists() => {
                run(program("rustfmt", &["--check", "--edition", "2024"])
                    .arg(self.package().join(OWN)))?;
            }
            Form::Itself => {}
        }
        // Compile first, so that an error of the compiler does not count as a failed test.
        run(self.test().arg("--no-run")).map_err(named)?;
        let faults: Vec<String> =
            MODES.iter().filter_map(|mode| self.check_in(mode).map_err(named).err()).collect();
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
    }

    /// Returns the folder of what this repository has.
    fn package(&self) -> PathBuf {
        root().join("xtask/peers").join(self.name)
    }

    fn manifest(&self) -> PathBuf {
        let folder = match self.form {
            Form::Names => self.package(),
            Form::Itself => self.folder(),
        };
        folder.join("Cargo.toml")
    }

    /// Returns the folder of the tests that are run.
    fn folder(&self) -> PathBuf {
        run::target().join("peers").join(self.name)
    }

    /// Writes the manifest beside the sources, unless the package is compiled where it is.
    fn prepare(&self) -> Result<(), String> {
        if let Form::Names = self.form {
            return Ok(());
        }
        let (from, to) = (self.package(), self.folder());
        files::create_folder(&to.join("src"))?;
        let manifest = files::read(&from.join("Cargo.toml"))?;
        let manifest = manifest.replace("../../..", &root().to_string_lossy());
        files::write_if_new(&to.join("Cargo.toml"), &manifest)?;
        files::copy_file(&from.join("Cargo.lock"), &to.join("Cargo.lock"))?;
        let root_file = to.join("src/lib.rs");
        if root_file.exists() { Ok(()) } else { files::write(&root_file, "") }
    }

    /// Writes the tests with their substitutions, and the rest of the peer if it is compiled.
    fn take(&self, sources: &Path) -> Result<(), String> {
        let mut faults = taken::unmentioned(sources, self.taken, self.left_out)?;
        let to = self.folder();
        files::create_folder(&to)?;
        if let Form::Itself = self.form {
            let is_taken = |from: &str| self.taken.iter().any(|file| file.from == from);
            taken::copy_others(sources, &to, is_taken)?;
            let own = self.package().join(OWN);
            if own.exists() {
                files::write_if_new(&to.join("src").join(OWN), &files::read(&own)?)?;
            }
        }
        for file in self.taken {
            let text = files::read(&sources.join(file.from))?;
            let part = match self.form {
                Form::Names => file.take(&text),
                Form::Itself => file.take_within(&text),
            };
            match part {
                Ok(text) => files::write_if_new(&to.join(file.to), &text)?,
                Err(fault) => faults.push(format!("{}: {fault}", file.from)),
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
    }

    /// Returns the command that runs the tests, in no mode.
    fn test(&self) -> Command {
        let mut test = cargo(&["test", "--locked", "--lib", "--manifest-path"]);
        test.arg(self.manifest()).env("PEER_TESTS", self.folder());
        test.env("CARGO_TARGET_DIR", run::target());
        for (variable, _) in MODES.iter().flat_map(|(_, variables)| *variables) {
            test.env_remove(variable);
        }
        test
    }

    /// Runs the tests in a mode and compares their results with those expected.
    fn check_in(&self, (mode, variables): &(&str, &[(&str, &str)])) -> Result<(), String> {
        let start = Instant::now();
        let skipped: Vec<&str> = self.alone.iter().flat_map(|part| ["--skip", part]).collect();
        let mut outputs = vec![self.output(variables, &[self.filters, &skipped].concat())?];
        for part in self.alone {
            outputs.push(self.output(variables, &[part])?);
        }
        let printed: Vec<_> =
            outputs.iter().map(|output| String::from_utf8_lossy(&output.stdout)).collect();
        let mut results = Results::default();
        for (output, printed) in outputs.iter().zip(&printed) {
            // Print cargo's message only if the outcome is unexpected: cargo calls an expected
            // failure an error too.
            results
                .add(printed, output.status.success())
                .inspect_err(|_| eprint!("{}", String::from_utf8_lossy(&output.stderr)))?;
        }
        println!("{} ({mode}): {results} in {:.1?}", self.name, start.elapsed());
        for Difference { test, reason, .. } in self.expected.differences {
            println!("  {test} differs: {reason}");
        }
        let faults = results.faults(&self.expected, self.taken);
        if faults.is_empty() {
            return Ok(());
        }
        for printed in &printed {
            println!("{printed}");
        }
        Err(format!("{mode}: {}", faults.join("; ")))
    }

    /// Runs the tests that `arguments` choose.
    fn output(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Result<Output, String> {
        let mut test = self.test();
        test.envs(variables.iter().copied());
        // Run on one thread: tests of a crate share its statics, and some measure.
        let output = test.args(["--", "--test-threads", "1"]).args(arguments).output();
        output.map_err(|error| format!("can't start cargo: {error}"))
    }
}
