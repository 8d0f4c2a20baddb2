//! The benchmarks, their records, and the documents and the picture that quote them.

mod cli;
mod documents;
mod picture;
mod record;

use std::env;
use std::fs;
use std::process::Command;

use bench_tables::{FILE, Table};
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::record::Record;
use crate::run::{self, cargo, output, run};

/// A program that measures.
pub(crate) struct Benchmark {
    name: &'static str,
    /// The manifest of its workspace.
    workspace: &'static str,
    package: &'static str,
    program: &'static str,
    /// Cargo's arguments that choose the features.
    features: &'static [&'static str],
    /// What the whole measurement is started with.
    arguments: &'static [&'static str],
    tables: Tables,
}

/// Where the tables come from.
enum Tables {
    /// The program writes them to the file that [`FILE`] names.
    Written,
    /// The program prints JSON.
    Printed(fn(&Value) -> Vec<Table>),
}

const OWN: &str = "Cargo.toml";

const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "clocks",
        workspace: OWN,
        package: "benches",
        program: "table",
        features: &[],
        arguments: &[],
        tables: Tables::Written,
    },
    Benchmark {
        name: "otel",
        workspace: OWN,
        package: "benches",
        program: "table",
        features: &[],
        arguments: &["otel"],
        tables: Tables::Written,
    },
    Benchmark {
        name: "first-use",
        workspace: OWN,
        package: "benches",
        program: "first_use",
        features: &[],
        arguments: &[],
        tables: Tables::Written,
    },
    Benchmark {
        name: "ages",
        workspace: OWN,
        package: "benches",
        program: "ages",
        features: &[],
        arguments: &[],
        tables: Tables::Written,
    },
    Benchmark {
        name: "pipeline",
        workspace: OWN,
        package: "benches",
        program: "pipeline",
        features: &[],
        arguments: &[],
        tables: Tables::Written,
    },
    Benchmark {
        name: "whole-process",
        workspace: OWN,
        package: "benches",
        program: "whole_process",
        features: &[],
        arguments: &[],
        tables: Tables::Written,
    },
    Benchmark {
        name: "budgets",
        workspace: OWN,
        package: "benches",
        program: "budgets",
        features: &[],
        arguments: &[],
        tables: Tables::Written,
    },
    Benchmark {
        name: "budget-instructions",
        workspace: OWN,
        package: "benches",
        program: "budgets",
        features: &[],
        arguments: &["--instructions"],
        tables: Tables::Written,
    },
    Benchmark {
        name: "load",
        workspace: "tower-tests/Cargo.toml",
        package: "tower-tests",
        program: "load",
        features: &[],
        arguments: &[],
        tables: Tables::Written,
    },
    Benchmark {
        name: "spans",
        workspace: "otel-tests/Cargo.toml",
        package: "otel-tests",
        program: "span_costs",
        features: &["--no-default-features"],
        arguments: &[],
        tables: Tables::Written,
    },
    Benchmark {
        name: "spans-opentelemetry",
        workspace: "otel-tests/Cargo.toml",
        package: "otel-tests",
        program: "span_costs",
        features: &[],
        arguments: &["3", "tach", "tach, unsampled"],
        tables: Tables::Written,
    },
    Benchmark {
        name: "order",
        workspace: OWN,
        package: "tach-cli",
        program: "tach",
        features: &[],
        arguments: &["skew", "--threads", "2", "--for", "20s", "--json"],
        tables: Tables::Printed(cli::skew),
    },
    Benchmark {
        name: "truth",
        workspace: OWN,
        package: "tach-cli",
        program: "tach",
        features: &[],
        arguments: &["drift", "--load", "2", "--for", "3700s", "--json"],
        tables: Tables::Printed(cli::drift),
    },
];

/// Runs a benchmark and writes its record, or fills the documents from the records, or compares
/// them.
pub(crate) fn run_or_check(arguments: &[String]) -> Result<(), String> {
    match arguments.split_first() {
        Some((flag, [])) if flag == "--check" => check(),
        Some((flag, [])) if flag == "--tables" => {
            let records = record::all()?;
            picture::write(&records)?;
            documents::fill_all(&records)
        }
        Some((name, own)) => measure(named(name)?, own),
        None => Err(format!("bench needs --check, --tables, or a benchmark: {}", names())),
    }
}

/// Compares the documents and the picture with the records.
pub(crate) fn check() -> Result<(), String> {
    let records = record::all()?;
    picture::check(&records)?;
    documents::check_all(&records)
}

fn named(name: &str) -> Result<&'static Benchmark, String> {
    let found = BENCHMARKS.iter().find(|one| one.name == name);
    found.ok_or_else(|| format!("\"{name}\" is not a benchmark; these are: {}", names()))
}

fn names() -> String {
    BENCHMARKS.iter().map(|one| one.name).collect::<Vec<_>>().join(", ")
}

/// Runs a benchmark. Writes a record if it is the whole measurement: with arguments of the caller's
/// it may be shorter, or a part.
fn measure(benchmark: &Benchmark, arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return match benchmark.tables {
            Tables::Written => run(command(benchmark).args(arguments)),
            Tables::Printed(_) => {
                let Benchmark { name, program, arguments, .. } = benchmark;
                Err(format!("{name} takes no arguments; \"{program} {}\" does", arguments[0]))
            }
        };
    }
    // First, so that no measurement is lost if the facts can't be had.
    let mut record = Record::begin(benchmark)?;
    let mut command = command(benchmark);
    command.args(benchmark.arguments);
    record.tables = match benchmark.tables {
        Tables::Written => written(command),
        Tables::Printed(tables) => output(&mut command).and_then(|text| Ok(tables(&parse(&text)?))),
    }
    .map_err(|problem| format!("{}: {problem}", benchmark.name))?;
    record.write()
}

fn written(mut command: Command) -> Result<Vec<Table>, String> {
    let path = env::temp_dir().join(format!("tach-tables-{}.json", std::process::id()));
    run(command.env(FILE, &path))?;
    let text = fs::read_to_string(&path).map_err(|error| format!("no tables: {error}"))?;
    fs::remove_file(&path).ok();
    parse(&text)
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("the tables: {error}"))
}

fn command(benchmark: &Benchmark) -> Command {
    let Benchmark { workspace, package, program, features, .. } = benchmark;
    let mut command = cargo(&["run", "--release", "--locked", "--manifest-path", workspace]);
    command.args(["--package", package, "--bin", program]).args(*features);
    if *workspace != OWN {
        command.env("CARGO_TARGET_DIR", run::target().join(package));
    }
    command.arg("--");
    command
}
