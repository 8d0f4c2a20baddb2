//! The benchmarks, their records, and the documents and the picture that quote them.

mod cli;
mod documents;
mod picture;
mod record;
mod versions;

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
    /// The program prints JSON. It is a command for users, so `quick` has its arguments for a short
    /// run.
    Printed { of: fn(&Value) -> Vec<Table>, quick: &'static [&'static str] },
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
        name: "sums",
        workspace: OWN,
        package: "benches",
        program: "sums",
        features: &[],
        arguments: &[],
        tables: Tables::Written,
    },
    Benchmark {
        name: "seldom",
        workspace: OWN,
        package: "benches",
        program: "seldom",
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
        name: "losses",
        workspace: OWN,
        package: "benches",
        program: "losses",
        features: &[],
        arguments: &[],
        tables: Tables::Written,
    },
    Benchmark {
        name: "kills",
        workspace: OWN,
        package: "benches",
        program: "kills",
        features: &["--features=survive"],
        arguments: &[],
        tables: Tables::Written,
    },
    Benchmark {
        name: "budgets",
        workspace: "tower-tests/Cargo.toml",
        package: "tower-tests",
        program: "budgets",
        features: &[],
        arguments: &[],
        tables: Tables::Written,
    },
    Benchmark {
        name: "budget-instructions",
        workspace: "tower-tests/Cargo.toml",
        package: "tower-tests",
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
        name: "span-instructions",
        workspace: "otel-tests/Cargo.toml",
        package: "otel-tests",
        program: "span_costs",
        features: &["--no-default-features"],
        arguments: &["--instructions"],
        tables: Tables::Written,
    },
    Benchmark {
        name: "spans-opentelemetry",
        workspace: "otel-tests/Cargo.toml",
        package: "otel-tests",
        program: "span_costs",
        features: &[],
        arguments: &["tach", "tach, a layer", "tach, unsampled"],
        tables: Tables::Written,
    },
    Benchmark {
        name: "order",
        workspace: OWN,
        package: "benches",
        program: "order",
        features: &[],
        arguments: &[],
        tables: Tables::Written,
    },
    Benchmark {
        name: "truth",
        workspace: OWN,
        package: "tach-cli",
        program: "tach",
        features: &[],
        arguments: &["drift", "--load", "2", "--for", "3700s", "--json"],
        tables: Tables::Printed {
            of: cli::drift,
            quick: &["drift", "--load", "2", "--for", "10s"],
        },
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
        None => Err(format!("name --check, --tables, or a benchmark: {}", names())),
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
    found.ok_or_else(|| {
        format!("\"{name}\" is not a benchmark; name --check, --tables, or one of {}", names())
    })
}

fn names() -> String {
    BENCHMARKS.iter().map(|one| one.name).collect::<Vec<_>>().join(", ")
}

/// Runs a benchmark. Writes a record if it is the whole measurement: with arguments of the caller's
/// it may be shorter, or a part.
#[expect(clippy::print_stdout, reason = "the help is what was asked for")]
fn measure(benchmark: &Benchmark, arguments: &[String]) -> Result<(), String> {
    if let Some(help) = help(benchmark, arguments) {
        println!("{help}");
        return Ok(());
    }
    if !arguments.is_empty() {
        return run(command(benchmark).args(given(benchmark, arguments)?));
    }
    // Collect the facts first: if that fails, no measurement is lost.
    let mut record = Record::begin(benchmark)?;
    let mut command = command(benchmark);
    command.args(benchmark.arguments);
    record.tables = match benchmark.tables {
        Tables::Written => written(command),
        Tables::Printed { of, .. } => output(&mut command).and_then(|text| Ok(of(&parse(&text)?))),
    }
    .map_err(|problem| format!("{}: {problem}", benchmark.name))?;
    record.write()
}

/// Returns the help of a benchmark whose program is a command for users, if it is asked for. The
/// other programs print their own (`bench_tables::Arguments`).
fn help(benchmark: &Benchmark, arguments: &[String]) -> Option<String> {
    let is_asked = arguments.iter().any(|argument| argument == "--help" || argument == "-h");
    let Tables::Printed { quick, .. } = &benchmark.tables else { return None };
    is_asked.then(|| {
        let quick = quick.join(" ");
        format!("arguments: [--quick]\n  --quick  runs \"tach {quick}\", and writes no record")
    })
}

/// Returns the program's arguments for a run with arguments of the caller's: `[--quick] [PART...]`.
/// The program itself refuses what it does not know (`bench_tables::Arguments`).
fn given<'a>(benchmark: &'a Benchmark, arguments: &'a [String]) -> Result<Vec<&'a str>, String> {
    let Benchmark { name, arguments: fixed, tables, .. } = benchmark;
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    if let Tables::Printed { quick, .. } = tables {
        let known = format!("{name} takes --quick alone, which runs \"tach {}\"", quick.join(" "));
        return if arguments == ["--quick"] { Ok(quick.to_vec()) } else { Err(known) };
    }
    // The caller's parts replace the benchmark's own.
    let is_option = |argument: &&str| argument.starts_with('-');
    let has_parts = !arguments.iter().all(is_option);
    let fixed = fixed.iter().copied().filter(|argument| is_option(argument) || !has_parts);
    Ok(fixed.chain(arguments.iter().copied()).collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(name: &str, own: &[&str]) -> Result<Vec<String>, String> {
        let own: Vec<_> = own.iter().map(|&argument| argument.to_owned()).collect();
        let given = given(named(name).unwrap(), &own)?;
        Ok(given.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn all_benchmarks_take_the_same_arguments() {
        for benchmark in BENCHMARKS {
            let quick = arguments(benchmark.name, &["--quick"]).unwrap();
            let is_users = matches!(benchmark.tables, Tables::Printed { .. });
            assert!(is_users || quick.contains(&"--quick".to_owned()), "{}", benchmark.name);
        }
        assert_eq!(arguments("otel", &["--quick"]).unwrap(), ["otel", "--quick"]);
        assert_eq!(arguments("otel", &["log record"]).unwrap(), ["log record"]);
        let instructions = arguments("budget-instructions", &["--quick"]).unwrap();
        assert_eq!(instructions, ["--instructions", "--quick"]);
        assert_eq!(arguments("truth", &["--quick"]).unwrap()[0], "drift");
        let refused = arguments("truth", &["std"]).unwrap_err();
        assert_eq!(
            refused,
            "truth takes --quick alone, which runs \"tach drift --load 2 --for 10s\""
        );
    }

    /// The programs of the others end by themselves after their help.
    #[test]
    fn commands_for_users_have_help_too() {
        let truth = named("truth").unwrap();
        for asked in ["--help", "-h"] {
            let found = help(truth, &[asked.to_owned()]).unwrap();
            assert!(found.contains("[--quick]") && found.contains("tach "), "{found}");
        }
        assert_eq!(run_or_check(&["truth".to_owned(), "--help".to_owned()]), Ok(()));
        assert_eq!(help(truth, &["--quick".to_owned()]), None);
        assert_eq!(help(named("clocks").unwrap(), &["--help".to_owned()]), None);
    }

    #[test]
    fn an_unknown_benchmark_is_named_with_those_that_are_known() {
        let problem = run_or_check(&["span".to_owned()]).unwrap_err();
        assert!(problem.starts_with("\"span\" is not a benchmark"), "{problem}");
        assert!(problem.contains("--tables") && problem.contains("spans-opentelemetry"));
    }
}
