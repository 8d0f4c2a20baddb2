//! The line that a program begins with.

use core::time::Duration;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output, Stdio};

use std::{env, process, thread};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::low_level::raise;
use test_support::test_of_this_program;

use crate::support::signals::use_defaults;
use crate::support::terminal::{Terminal, shown};

const WAY: &str = "TACH_PIPELINE_INIT";
const RECORDS: usize = 100;
const FOREVER: Duration = Duration::from_secs(600);

/// Not a test: the child process.
#[test]
#[ignore = "sets the globals of its process"]
fn child() {
    let Ok(way) = env::var(WAY) else { return };
    use_defaults();
    tach_pipeline::init().unwrap();
    if way == "its own lines" {
        for number in 0..RECORDS {
            log::info!("logged {number}");
            eprintln!("printed {number}");
        }
        return;
    }
    log::debug!("below the level");
    (0..RECORDS).for_each(|number| log::info!(number; "logged"));
    match way.parse() {
        Ok(signal) => {
            raise(signal).unwrap();
            thread::sleep(FOREVER);
        }
        Err(_) if way == "exit" => process::exit(7),
        Err(_) => {}
    }
}

fn run(way: &str, levels: Option<&str>) -> Output {
    let mut child = test_of_this_program("init::child");
    child.env(WAY, way).env_remove("RUST_LOG").env_remove("JOURNAL_STREAM");
    child.envs(levels.map(|levels| ("RUST_LOG", levels))).output().unwrap()
}

/// Returns the lines of the child without their times.
fn lines(output: &Output) -> Vec<String> {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    text.lines().map(|line| line.split_once("Z ").unwrap().1.to_owned()).collect()
}

fn all() -> Vec<String> {
    (0..RECORDS).map(|number| format!(" INFO it::init: logged number={number}")).collect()
}

#[test]
fn all_lines_are_written_however_the_process_ends() {
    let left = run("return", None);
    assert!(left.status.success(), "{left:?}");
    assert_eq!(lines(&left), all());
    let left = run("exit", None);
    assert_eq!((left.status.code(), lines(&left)), (Some(7), all()));
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT] {
        let ended = run(&signal.to_string(), None);
        assert_eq!((ended.status.signal(), lines(&ended)), (Some(signal), all()));
    }
}

/// The kernel ignores default actions of signals in the first process of a container.
#[cfg(target_os = "linux")]
#[test]
fn the_first_process_of_a_container_ends_with_the_status_of_a_signal() {
    let unshare = |arguments: &[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--fork", "--kill-child"]).args(arguments);
        unshare
    };
    if !unshare(&["true"]).status().is_ok_and(|status| status.success()) {
        eprintln!("NOT RUN: this user may not make a namespace of processes");
        return;
    }
    let program = env::current_exe().unwrap();
    let mut first = unshare(&[program.to_str().unwrap()]);
    first.args(["--exact", "init::child", "--ignored", "--nocapture"]);
    first.env(WAY, SIGTERM.to_string()).env_remove("RUST_LOG").env_remove("JOURNAL_STREAM");
    let ended = first.output().unwrap();
    assert_eq!((ended.status.code(), lines(&ended)), (Some(128 + SIGTERM), all()), "{ended:?}");
}

#[test]
fn the_variable_has_the_levels() {
    assert_eq!(lines(&run("return", Some("warn"))), [""; 0]);
    let lines = lines(&run("return", Some("it=debug")));
    assert_eq!(lines[0], "DEBUG it::init: below the level");
    assert_eq!(lines[1..], all());
}

#[test]
fn on_a_terminal_lines_and_what_is_printed_are_in_order() {
    let Terminal { ours, theirs } = Terminal::new();
    let mut child = test_of_this_program("init::child");
    child.env(WAY, "its own lines").env("NO_COLOR", "1");
    child.env_remove("RUST_LOG").env_remove("JOURNAL_STREAM");
    let status = child.stdout(Stdio::null()).stderr(theirs).status().unwrap();
    // The command holds the terminal open.
    drop(child);
    assert!(status.success());
    let text = shown(ours);
    let last = |line: &str| line.rsplit(": ").next().unwrap().to_owned();
    let lines: Vec<_> = text.lines().map(last).collect();
    let expected: Vec<_> = (0..RECORDS)
        .flat_map(|number| [format!("logged {number}"), format!("printed {number}")])
        .collect();
    assert_eq!(lines, expected);
}
