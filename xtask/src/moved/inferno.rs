//! inferno: a command-line program on `log` and `env_logger`, which ends by an error.

use std::path::Path;
use std::process::Command;

use super::process;
use super::program::{Change, Form, Program};
use super::used::Used;

/// With a time, which the page leaves open.
const FLUSH: &str = ".flush_on(log::Level::Trace, core::time::Duration::from_secs(1));";

/// `main` also prints its error to stderr, so each line must be written before.
const INIT: &str = "let builder = Pipeline::builder()
        .sink(Sink::stderr().format(Line::new().without_time()))
        .filter(match opt.verbose {
            0 => \"warn\",
            1 => \"info\",
            2 => \"debug\",
            _ => \"trace\",
        })
        .filter_from_env(\"RUST_LOG\")
        .flush_on(log::Level::Trace, core::time::Duration::from_secs(1));
    if !opt.quiet {
        builder.init()?;
    }";

pub(super) const PROGRAM: Program = Program {
    name: "inferno",
    version: "0.12.8",
    form: Form::Whole,
    // Remove criterion: it takes longer to compile than the rest, and no benchmark is run.
    repairs: &["cargo remove --dev criterion"],
    commands: &["cargo remove env_logger", "cargo add tach-log", "cargo add tach-pipeline"],
    changes: &[
        uses("src/bin/collapse-dtrace.rs"),
        init("src/bin/collapse-dtrace.rs"),
        uses("src/bin/collapse-ghcprof.rs"),
        init("src/bin/collapse-ghcprof.rs"),
        uses("src/bin/collapse-guess.rs"),
        init("src/bin/collapse-guess.rs"),
        uses("src/bin/collapse-perf.rs"),
        init("src/bin/collapse-perf.rs"),
        uses("src/bin/collapse-sample.rs"),
        init("src/bin/collapse-sample.rs"),
        uses("src/bin/collapse-vsprof.rs"),
        init("src/bin/collapse-vsprof.rs"),
        uses("src/bin/collapse-vtune.rs"),
        init("src/bin/collapse-vtune.rs"),
        uses("src/bin/collapse-xctrace.rs"),
        init("src/bin/collapse-xctrace.rs"),
        uses("src/bin/diff-folded.rs"),
        init("src/bin/diff-folded.rs"),
        uses("src/bin/flamegraph.rs"),
        init("src/bin/flamegraph.rs"),
    ],
    targets: &["--lib", "--bins", "--tests"],
    tests: 47,
    session: Some(session),
    same_line: level_and_target,
    shown: &[[
        "[ERROR inferno::flamegraph] No stack counts found",
        "ERROR inferno::flamegraph: No stack counts found",
    ]],
};

const fn uses(file: &'static str) -> Change {
    Change {
        file,
        begin: "use env_logger::Env;",
        end: "",
        with: "use tach_log::Line;\nuse tach_pipeline::{Pipeline, Sink};",
        own: &[],
    }
}

const fn init(file: &'static str) -> Change {
    let own = &[FLUSH];
    Change { file, begin: "if !opt.quiet {", end: ".init();\n    }", with: INIT, own }
}

/// A file without stacks: an error that is logged, and one that also ends the process.
fn session(folder: &Path) -> Result<Used, String> {
    let run = |name: &str| {
        let mut command = Command::new(folder.join(name));
        process::run(command.args(["-v", "rustfmt.toml"]).current_dir(crate::run::root()))
    };
    let mut used = run("inferno-collapse-guess")?;
    let drawn = run("inferno-flamegraph")?;
    used.stdout.push_str(&drawn.stdout);
    used.stderr.push_str(&drawn.stderr);
    used.end = drawn.end;
    Ok(used)
}

/// Returns `[WARN  target] message` as `WARN  target: message`.
fn level_and_target(line: &str) -> String {
    match line.strip_prefix('[').and_then(|line| line.split_once("] ")) {
        Some((head, message)) => format!("{head}: {message}"),
        None => line.to_owned(),
    }
}
