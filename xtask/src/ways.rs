//! How many files and functions a call passes, and the back end's work of a record: what a reader
//! goes through who follows it.
//!
//! Callgrind counts 20 calls of a program without optimization, in which nothing is inlined.
//! Counted are the functions of the workspace, and the files in which they stand. A run may fall on
//! a look at the OS clock, or on a wake-up of the back end, so the run with the fewest files
//! counts.
#![expect(clippy::print_stdout, reason = "the counts are the task's output")]

use std::collections::BTreeSet;
use std::path::Path;

use crate::files;
use crate::run::{cargo, output, program, root, run, target};

/// A way, and its limits: the most files at the caller and on the back end.
struct Way {
    name: &'static str,
    call: Limit,
    record: Limit,
}

/// The most files. The limit goes down with them, and to the aim in the end.
struct Limit {
    files: usize,
    aim: usize,
}

const WAYS: [Way; 2] = [
    Way { name: "log", call: Limit { files: 20, aim: 20 }, record: Limit { files: 30, aim: 30 } },
    // A span with an event, for a file and a collector.
    Way { name: "span", call: Limit { files: 35, aim: 35 }, record: Limit { files: 50, aim: 30 } },
];

/// How many runs there are of each way.
const RUNS: usize = 10;
/// The function of the program that makes the calls.
const CALLS: &str = "ways::calls";
/// The function that the back end calls when the records before those calls are written.
const WRITTEN: &str = "ways::written";
/// The function that passes the records of a round on: from their queues to the sinks' batches.
const RECORDS: &str = "tach_pipeline::back_end::BackEnd::pass_on_some";

/// Functions, each with its file below the workspace's folder.
type Passed = BTreeSet<(String, String)>;

/// Prints the counts, and fails if a limit is exceeded, or is too high by more than a tenth.
pub(crate) fn check() -> Result<(), String> {
    if !program("valgrind", &["--version"]).output().is_ok_and(|it| it.status.success()) {
        println!("ways: NOT RUN: valgrind is not installed");
        return Ok(());
    }
    let folder = target().join("ways");
    let mut build = cargo(&["build", "--package", "ways"]);
    build.arg("--target-dir").arg(&folder).env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
    run(build.args(["--config", "profile.dev.package.tach-core.opt-level=0"]))?;
    let mut faults = Vec::new();
    for Way { name, call, record } in WAYS {
        let runs: Vec<_> = (0..RUNS).map(|_| counted(name, &folder)).collect::<Result<_, _>>()?;
        for (at, what, limit) in [(0, "a call", call), (1, "a record on the back end", record)] {
            let passed =
                runs.iter().map(|run| &run[at]).min_by_key(|passed| in_files(passed).len());
            let Some(passed) = passed else { continue };
            let files = in_files(passed).len();
            let counted = format!("{name:5} {what:25} {files:3} files, {} functions", passed.len());
            println!("{counted} (limit {}, aim {})", limit.files, limit.aim);
            faults.extend(limit.fault(files).map(|fault| {
                let list: Vec<_> = in_files(passed).into_iter().collect();
                format!("{name}, {what}: {fault}\n    {}", list.join("\n    "))
            }));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

impl Limit {
    fn fault(&self, files: usize) -> Option<String> {
        let limit = self.files;
        if files == 0 {
            return Some("callgrind saw no function: has it another name?".to_owned());
        }
        if files > limit {
            return Some(format!("{files} files, and the limit is {limit}"));
        }
        let is_low = files * 10 < limit * 9 && limit > self.aim;
        is_low.then(|| format!("{files} files: lower the limit of {limit} in xtask/src/ways.rs"))
    }
}

fn in_files(passed: &Passed) -> BTreeSet<&str> {
    passed.iter().map(|(file, _)| &**file).collect()
}

/// Runs a way below callgrind. Returns what its calls have passed, and the back end for them.
fn counted(way: &str, folder: &Path) -> Result<[Passed; 2], String> {
    let counts = folder.join("counts");
    files::fresh_folder(&counts)?;
    let mut valgrind = program("valgrind", &["--tool=callgrind", "--separate-threads=yes"]);
    valgrind.args(["--compress-strings=no", "--compress-pos=no", "--collect-atstart=no"]);
    valgrind.args([CALLS, RECORDS].map(|function| format!("--toggle-collect={function}")));
    // Count only what the calls cost.
    valgrind.args([CALLS, WRITTEN].map(|function| format!("--zero-before={function}")));
    valgrind.arg(format!("--callgrind-out-file={}", counts.join("of").display()));
    output(
        valgrind.arg("--quiet").arg(folder.join("debug/ways")).arg(way).arg(counts.join("log")),
    )?;
    let (mut at_call, mut of_record) = (Passed::new(), Passed::new());
    for path in files::entries(&counts)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(thread) = name.strip_prefix("of-") else { continue };
        // The first thread makes the calls.
        let of = if thread == "01" { &mut at_call } else { &mut of_record };
        of.extend(passed(&files::read(&path)?, &root()));
    }
    Ok([at_call, of_record])
}

/// Returns the functions of the workspace that have costs in callgrind's output.
fn passed(counts: &str, root: &Path) -> Passed {
    let mut passed = Passed::new();
    let (mut file, mut function, mut is_call) = ("", "", false);
    for line in counts.lines() {
        if let Some(name) = line.strip_prefix("fl=") {
            file = name;
        } else if let Some(name) = line.strip_prefix("fn=") {
            function = name;
        } else if line.starts_with("calls=") {
            // The costs in the next line are the other function's.
            is_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit()) {
            let own = Path::new(file).strip_prefix(root).ok().filter(|_| !is_call);
            let own = own.filter(|file| !file.starts_with("xtask") && !file.starts_with("target"));
            passed.extend(own.map(|file| (file.display().to_string(), function.to_owned())));
            is_call = false;
        }
    }
    passed
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: &str = "\
positions: line
fl=/w/tach-core/src/a.rs
fn=tach_core::a::first
12 5
fi=/rustc/library/core/src/cell.rs
3 4
cfi=/w/tach-core/src/b.rs
cfn=tach_core::b::second
calls=2 7
13 40

fl=/w/tach-core/src/b.rs
fn=tach_core::b::second
7 40

fl=/w/tach-core/src/c.rs
fn=tach_core::c::calls_only
calls=2 7
13 40

fl=/rustc/library/core/src/cell.rs
fn=core::cell::get
1 1

fl=/w/xtask/ways/src/main.rs
fn=ways::calls
1 1
";

    #[test]
    fn functions_of_the_workspace_are_counted() {
        let passed = passed(COUNTS, Path::new("/w"));
        let functions: Vec<_> = passed.iter().map(|(_, function)| &**function).collect();
        assert_eq!(functions, ["tach_core::a::first", "tach_core::b::second"]);
        assert_eq!(in_files(&passed).len(), 2);
    }

    #[test]
    fn a_limit_only_goes_down() {
        let limit = Limit { files: 40, aim: 20 };
        assert!(limit.fault(41).unwrap().contains("the limit is 40"));
        assert_eq!([36, 40].map(|files| limit.fault(files)), [None, None]);
        assert!(limit.fault(35).unwrap().contains("lower the limit"));
        assert!(limit.fault(0).unwrap().contains("another name"));
        // The aim is enough.
        assert_eq!(Limit { files: 20, aim: 20 }.fault(5), None);
    }
}
