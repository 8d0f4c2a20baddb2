//! What the lines that the documentation recommends cost their thread, in instructions by
//! callgrind, against the limits in `xtask/prices/limits.toml`.
#![expect(clippy::print_stdout, reason = "the counts are the task's output")]

use core::fmt::Write as _;
use std::path::{Path, PathBuf};

use test_support::receiver::{OK, serve_by};

use crate::files;
use crate::limits::allowed::{Allowed, line};
use crate::run::{cargo, output, program, root, run, target};

/// A program: its section in the file of limits, its features, and the sampler of its spans.
struct Program {
    section: &'static str,
    features: &'static [&'static str],
    sampler: &'static str,
}

const PROGRAMS: [Program; 3] = [
    Program { section: "log", features: &[], sampler: "" },
    Program { section: "service", features: &["--features=service"], sampler: "always_on" },
    Program { section: "unsampled", features: &["--features=service"], sampler: "always_off" },
];

const FILE: &str = "xtask/prices/limits.toml";
/// How often each line is counted.
const TIMES: usize = 2_000;
/// How much a new limit is above what is counted, in hundredths: compilers differ a little.
const ROOM: usize = 102;
/// The part of a limit, in hundredths, that what is counted should reach.
const LEAST: usize = 95;

/// Counts, and fails if a limit is exceeded, or writes the limits.
pub(crate) fn check(writes: bool) -> Result<(), String> {
    if !program("valgrind", &["--version"]).output().is_ok_and(|it| it.status.success()) {
        println!("prices: NOT RUN: valgrind is not installed");
        return Ok(());
    }
    let (collector, _requests) = serve_by(|_, _| OK.to_vec());
    let (mut faults, mut file) = (Vec::new(), HEADER.to_owned());
    let allowed = files::read(&root().join(FILE))?;
    let allowed = Allowed::read(&allowed).map_err(|problem| format!("{FILE}: {problem}"))?;
    for Program { section, features, sampler } in &PROGRAMS {
        let binary = built(features)?;
        let _never_fails = writeln!(file, "\n[{section}]");
        let found = counted(&binary, sampler, &collector)?;
        faults.extend(unseen(section, &allowed, &found));
        for (name, number) in found {
            let _never_fails = writeln!(file, "{}", line(&name, number * ROOM / 100, None));
            let limit = allowed.find(section, &name).map(|limit| limit.number);
            println!("{section:10} {name:10} {number:6} instructions (limit {limit:?})");
            faults.extend(fault(section, &name, number, limit));
        }
    }
    if writes {
        return files::write(&root().join(FILE), &file);
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// The beginning of the file.
const HEADER: &str = "\
# What the lines that the documentation recommends may cost their thread, in instructions:
# `cargo xtask prices`. `cargo xtask prices --write` writes what it counts, and 2 %.
#
# `log` is README's program, and `service` that of the page of a service: spans, records and
# durations for a collector. `unsampled` is the same with a sampler that drops all spans.
";

/// Returns a fault for each line that has a limit and was not counted: its function was renamed, or is
/// inlined.
fn unseen(section: &str, allowed: &Allowed, found: &[(String, usize)]) -> Vec<String> {
    let limits = allowed.limits.iter().filter(|limit| limit.section == section);
    let limits = limits.filter(|limit| found.iter().all(|(name, _)| *name != limit.of));
    limits.map(|limit| format!("{section}, {}: callgrind saw no such function", limit.of)).collect()
}

/// Says if a limit is exceeded, and prints that it is too high.
fn fault(section: &str, name: &str, number: usize, limit: Option<usize>) -> Option<String> {
    let Some(limit) = limit else {
        return Some(format!("{FILE} has no {name} in [{section}]: cargo xtask prices --write"));
    };
    if number * 100 < limit * LEAST {
        println!("{section}, {name}: more than 5 % below: cargo xtask prices --write");
    }
    (number > limit).then(|| {
        format!("{section}, {name}: {number} instructions, and the limit in {FILE} is {limit}")
    })
}

/// Builds the program with these features.
fn built(features: &[&str]) -> Result<PathBuf, String> {
    let folder = target().join("prices");
    // A program of its own for each features, so that neither is built twice.
    let folder = folder.join(if features.is_empty() { "log" } else { "service" });
    let mut build = cargo(&["build", "--release", "--locked", "--package", "prices"]);
    run(build.args(features).arg("--target-dir").arg(&folder))?;
    Ok(folder.join("release/prices"))
}

/// Runs a program below callgrind. Returns the instructions of each of its lines.
fn counted(binary: &Path, sampler: &str, collector: &str) -> Result<Vec<(String, usize)>, String> {
    let counts = target().join("prices/counts");
    let mut valgrind = program("valgrind", &["--tool=callgrind", "--quiet"]);
    valgrind.args(["--compress-strings=no", "--compress-pos=no", "--collect-atstart=no"]);
    valgrind.args(["records", "spans"].map(|room| format!("--toggle-collect=prices::{room}::*")));
    valgrind.arg("--zero-before=prices::counted");
    valgrind.arg(format!("--callgrind-out-file={}", counts.display()));
    valgrind.arg(binary).arg(TIMES.to_string());
    valgrind.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector).env("OTEL_TRACES_SAMPLER", sampler);
    output(&mut valgrind)?;
    let found = lines(&files::read(&counts)?);
    if found.is_empty() {
        return Err("callgrind saw no line: has its function another name?".to_owned());
    }
    Ok(found)
}

/// Returns the instructions of each line, with what it calls, from callgrind's output.
fn lines(counts: &str) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut function = None;
    for line in counts.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            let mut path = name.split("::");
            let is_line = path.next() == Some("prices") && path.next().is_some();
            function = path.next().filter(|_| is_line);
        } else if let (Some(name), true) =
            (function, line.starts_with(|first: char| first.is_ascii_digit()))
        {
            // The costs of a call follow its line, so they are those of the function called.
            let cost = line.split(' ').nth(1).and_then(|cost| cost.parse().ok()).unwrap_or(0);
            match found.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += cost,
                None => found.push((name.to_owned(), cost)),
            }
        }
    }
    for (_, sum) in &mut found {
        *sum /= TIMES;
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the expression that configures a pipeline, without the white space.
    fn pipeline(path: &str) -> String {
        let text = files::read(&root().join(path)).unwrap();
        let (_, from) = text.split_once("Pipeline::builder()").unwrap();
        let (builder, _) = from.split_once(".filter_from_env(\"RUST_LOG\")").unwrap();
        builder.split_whitespace().collect()
    }

    #[test]
    fn a_line_that_is_not_counted_is_a_fault() {
        let allowed = Allowed::read("[log]\nready = 1\ngone = 1\n[service]\nunit = 1").unwrap();
        let faults = unseen("log", &allowed, &[("ready".to_owned(), 1)]);
        assert_eq!(faults, ["log, gone: callgrind saw no such function"]);
    }

    #[test]
    fn the_program_is_that_of_the_page() {
        let page = pipeline("tach-pipeline/docs/tasks/service.md");
        assert!(page.contains("Sink::otlp(Otlp::from_env())"), "{page}");
        for measured in ["xtask/prices/src/service.rs", "otel-tests/src/bin/span_costs/ways.rs"] {
            assert_eq!(pipeline(measured), page, "{measured} is another program");
        }
    }

    #[test]
    fn a_line_has_the_costs_of_what_it_calls() {
        let thousands = TIMES * 1_000;
        let counts = format!(
            "fn=prices::spans::unit\n12 {thousands}\ncfn=a::b\ncalls=2 7\n13 {thousands}\n\n\
             fn=a::b\n7 {thousands}\n\nfn=prices::main\n3 4\n"
        );
        assert_eq!(lines(&counts), [("unit".to_owned(), 2_000)]);
    }

    #[test]
    fn more_than_the_limit_fails() {
        assert_eq!([94, 100].map(|number| fault("log", "ready", number, Some(100))), [None, None]);
        assert!(fault("log", "ready", 101, Some(100)).unwrap().contains("the limit in"));
        assert!(fault("log", "ready", 1, None).unwrap().contains("--write"));
    }
}
