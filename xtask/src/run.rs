//! Commands and the folder they run in.

use core::time::Duration;
use std::env;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// Lengths of tests that could be of any length. Without these variables there are ten thousand
/// simulated machines, 20 processes of a kind, 256 inputs of a property, all modes of a scenario,
/// and a hundred killed processes.
pub(crate) const SHORT_TESTS: [(&str, &str); 5] = [
    ("TACH_SCENARIOS", "50"),
    ("TACH_RUNS", "5"),
    ("PROPTEST_CASES", "64"),
    ("TACH_MODES", "1"),
    ("TACH_KILLS", "25"),
];

/// Returns the workspace's folder.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Returns the folder of everything that is built. Packages outside the workspace are built there
/// too: half of their dependencies are in it already.
pub(crate) fn target() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root().join(target)
}

/// Creates a command of the cargo that runs this program, in the workspace's folder.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    program(&env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()), arguments)
}

/// Creates a command in the workspace's folder.
pub(crate) fn program(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(root());
    command
}

/// How urgent a set-up is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    Now,
    /// It takes what other programs leave of the CPU.
    Idle,
}

/// Creates a command of a shell script, in the workspace's folder.
pub(crate) fn script(path: &str, priority: Priority) -> Command {
    match priority {
        Priority::Now => program("bash", &[path]),
        Priority::Idle => program("nice", &["-n", "19", "bash", path]),
    }
}

/// Prints a command and runs it.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let line = line(command);
    eprintln!("\n$ {line}");
    let status = command.status().map_err(|error| format!("can't start \"{line}\": {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("\"{line}\" failed: {status}")) }
}

/// Runs tests, all of them also after one that fails. The error names those that failed, with the
/// words of each panic, for a reader who sees only the end of CI's output.
pub(crate) fn run_tests(command: &mut Command) -> Result<(), String> {
    run_test(command.arg("--no-fail-fast"))
}

/// Runs one program of tests in the same way.
pub(crate) fn run_test(command: &mut Command) -> Result<(), String> {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // Turn off colours, which would split the words that are looked for.
    let command = command.env("CARGO_TERM_COLOR", "never");
    let line = line(command);
    eprintln!("\n$ {line}");
    let failed = |error| format!("can't run \"{line}\": {error}");
    let mut child = command.spawn().map_err(failed)?;
    let lines = Arc::new(Mutex::new(Vec::new()));
    let stdout = child.stdout.take().map(|from| {
        let lines = Arc::clone(&lines);
        thread::spawn(move || failures(from, io::stdout(), &lines))
    });
    let stderr = child.stderr.take().map(|from| {
        let lines = Arc::clone(&lines);
        thread::spawn(move || failures(from, io::stderr(), &lines))
    });
    let status = child.wait().map_err(failed)?;
    // Wait only for a while: a process that a test left behind may keep the pipes open for ever.
    for _ in 0..50 {
        if [&stdout, &stderr].into_iter().flatten().all(JoinHandle::is_finished) {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    if status.success() {
        return Ok(());
    }
    let lines = lines.lock().map_or_else(|_| Vec::new(), |lines| lines.clone());
    Err(format!("\"{line}\" failed: {status}\n  {}", lines.join("\n  ")))
}

/// Copies the lines of a test run, and adds those that say what failed.
fn failures(from: impl Read, mut to: impl Write, lines: &Mutex<Vec<String>>) {
    const MOST: usize = 60;
    let mut is_panic = false;
    for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
        let _closed = to.write_all(&[&*line, b"\n"].concat());
        let line = String::from_utf8_lossy(&line).into_owned();
        let is_failure = line.starts_with("test ") && line.ends_with("FAILED")
            || line.starts_with("error: test failed")
            || line.starts_with("error[");
        // A panic's words are on the next line.
        let follows_panic = is_panic;
        is_panic = line.starts_with("thread '") && line.contains("panicked at ");
        if is_failure || is_panic || follows_panic {
            let Ok(mut lines) = lines.lock() else { return };
            if lines.len() < MOST {
                lines.push(line.chars().take(200).collect());
            }
        }
    }
}

/// Runs a command and returns its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let line = line(command);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("can't start \"{line}\": {error}"))?;
    if !output.status.success() {
        return Err(format!("\"{line}\" failed: {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("the output of \"{line}\": {error}"))
}

fn line(command: &Command) -> String {
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    let name = Path::new(command.get_program()).file_name().unwrap_or_default();
    format!("{} {}", name.to_string_lossy(), words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_told_and_all_is_copied() {
        let run = "running 2 tests\ntest good ... ok\ntest bad ... FAILED\n\nthread 'bad' (7) panicked \
                   at src/a.rs:1:2:\nassertion failed: false\nnote: run with more\n\ntest result: FAILED.\n\
                   error: test failed, to rerun pass `-p a --lib`\n";
        let (mut copied, lines) = (Vec::new(), Mutex::default());
        failures(run.as_bytes(), &mut copied, &lines);
        assert_eq!(copied, run.as_bytes());
        assert_eq!(
            *lines.lock().unwrap(),
            [
                "test bad ... FAILED",
                "thread 'bad' (7) panicked at src/a.rs:1:2:",
                "assertion failed: false",
                "error: test failed, to rerun pass `-p a --lib`",
            ]
        );
    }
}
