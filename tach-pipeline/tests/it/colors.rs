//! Colors, in a process with and without a real terminal.

use std::env;
use std::fs::{self, File};
use std::process::{self, Stdio};

use tach_core::{ManualClock, UnixTime};
use tach_log::Logfmt;
use tach_pipeline::{Pipeline, Sink};
use test_support::test_of_this_program;

use crate::support::info;
use crate::support::terminal::{Terminal, shown};

static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);

const PATH: &str = "TACH_PIPELINE_COLORS_PATH";

/// Not a test: the child process.
#[test]
#[ignore = "writes to stderr"]
fn child() {
    let Ok(path) = env::var(PATH) else { return };
    let guard = Pipeline::builder()
        .sink(Sink::stderr())
        .sink(Sink::stderr().format(Logfmt::new()))
        .sink(Sink::file(path))
        .with_clock(&CLOCK)
        .build()
        .unwrap();
    info(guard.pipeline(), "not \u{1b}[31mred");
}

#[test]
fn colors_are_switched_by_method() {
    use crate::support::Memory;
    let [with, without] = [(); 2].map(|()| Memory::default());
    let sink = |memory: &Memory| Sink::writer("memory", memory.clone());
    let guard = Pipeline::builder()
        .sink(sink(&with).colors())
        .sink(sink(&without).colors().without_colors())
        .build()
        .unwrap();
    info(guard.pipeline(), "a message");
    guard.pipeline().flush(crate::support::LONG).unwrap();
    assert_eq!([with, without].map(|it| it.text().contains('\u{1b}')), [true, false]);
}

/// Not a test: prints to the sink for tests.
#[test]
#[ignore = "the child of the test below"]
fn printed() {
    let guard = Pipeline::builder().sink(Sink::test()).build().unwrap();
    info(guard.pipeline(), "printed by the pipeline");
}

#[test]
fn a_test_captures_its_sink() {
    let output = |arguments: &[&str]| {
        let mut child = process::Command::new(env::current_exe().unwrap());
        child.args(["--exact", "--ignored", "colors::printed"]).args(arguments);
        String::from_utf8(child.output().unwrap().stdout).unwrap()
    };
    let captured = |text: String| !text.contains("printed by the pipeline");
    assert!(captured(output(&[])));
    assert!(!captured(output(&["--nocapture"])));
}

/// Returns the output of a child process on stderr and in its file.
fn output(stderr: Stdio, variables: &[(&str, &str)], read: impl FnOnce() -> String) -> [String; 2] {
    let name =
        format!("tach-pipeline-colors-{}-{:?}.log", process::id(), std::thread::current().id());
    let path = env::temp_dir().join(name);
    let mut command = test_of_this_program("colors::child");
    for name in ["NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm").envs(variables.iter().copied());
    let status = command.env(PATH, &path).stdout(Stdio::null()).stderr(stderr).status();
    // The command holds the terminal open.
    drop(command);
    assert!(status.unwrap().success());
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    [sorted(&read()), text]
}

/// Two sinks write to stderr, in any order.
fn sorted(text: &str) -> String {
    let mut lines: Vec<_> = text.split_inclusive('\n').collect();
    lines.sort_unstable();
    lines.concat()
}

/// Returns the output of a child process on a terminal and in its file.
fn on_a_terminal(variables: &[(&str, &str)]) -> [String; 2] {
    let terminal = Terminal::new();
    output(terminal.theirs.into(), variables, || shown(terminal.ours))
}

const LINE: &str = "1970-01-01T00:00:00.000000Z INFO  app: not \\u001b[31mred\n";
const COLORED: &str = "\u{1b}[2m1970-01-01T00:00:00.000000Z\u{1b}[0m \u{1b}[32mINFO\u{1b}[0m  \u{1b}[2mapp:\u{1b}[0m not \
                       \\u001b[31mred\n";
const LOGFMT: &str =
    "ts=1970-01-01T00:00:00.000000Z level=INFO target=app msg=\"not \\u001b[31mred\"\n";

#[test]
fn lines_for_people_have_colors_on_a_terminal_and_nowhere_else() {
    let expected = [sorted(&format!("{COLORED}{LOGFMT}")), LINE.to_owned()];
    assert_eq!(on_a_terminal(&[]), expected);
    assert_eq!(on_a_terminal(&[("NO_COLOR", "")]), expected);
}

#[test]
fn there_are_no_colors_where_they_are_not_wanted() {
    let expected = [sorted(&format!("{LINE}{LOGFMT}")), LINE.to_owned()];
    assert_eq!(on_a_terminal(&[("NO_COLOR", "1")]), expected);
    assert_eq!(on_a_terminal(&[("TERM", "dumb")]), expected);
    assert_eq!(on_a_terminal(&[("TERM", "")]), expected);
}

#[test]
fn a_stream_that_is_no_terminal_has_none() {
    let path = env::temp_dir().join(format!("tach-pipeline-colors-{}.stderr", process::id()));
    let written = |variables: &[_]| {
        let file = File::create(&path).unwrap();
        output(file.into(), variables, || fs::read_to_string(&path).unwrap())
    };
    let plain = [sorted(&format!("{LINE}{LOGFMT}")), LINE.to_owned()];
    assert_eq!(written(&[]), plain);
    // The user may ask for colors.
    let colored = [sorted(&format!("{COLORED}{LOGFMT}")), LINE.to_owned()];
    for name in ["FORCE_COLOR", "CLICOLOR_FORCE"] {
        assert_eq!(written(&[(name, "1")]), colored, "{name}");
        assert_eq!(written(&[(name, "0")]), plain, "{name}");
        assert_eq!(written(&[(name, "1"), ("NO_COLOR", "1")]), plain, "{name}");
    }
    fs::remove_file(&path).unwrap();
}
