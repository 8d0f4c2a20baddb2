//! Colours and progress, on a real terminal and elsewhere.

use std::fs::File;
use std::io::Read as _;
use std::process::Command;
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::{run, tach};

/// Runs the command on a terminal, and returns its output.
fn on_a_terminal(mut command: Command) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = || File::options().read(true).write(true).open(&name).unwrap();
    command.env("TERM", "xterm").stdin(theirs()).stdout(theirs()).stderr(theirs());
    let reading = thread::spawn(move || {
        let mut text = Vec::new();
        // On Linux reading ends with an error, since the other side is closed.
        let _end = File::from(ours).read_to_end(&mut text);
        String::from_utf8(text).unwrap()
    });
    let status = command.status().unwrap();
    // The command holds the terminal open.
    drop(command);
    assert!(matches!(status.code(), Some(0 | 1)), "{status}");
    reading.join().unwrap()
}

const SHORT: &[&str] = &["doctor", "--for", "1ms"];

#[test]
fn there_are_colours_on_a_terminal_and_nowhere_else() {
    let coloured = on_a_terminal(tach(SHORT));
    assert!(coloured.contains("\u{1b}[1mClock\u{1b}[0m"), "{coloured}");
    let mut without = tach(SHORT);
    without.env("NO_COLOR", "1");
    assert!(!on_a_terminal(without).contains('\u{1b}'));
    assert!(!run(&mut tach(SHORT)).stdout.contains('\u{1b}'));
    let json = on_a_terminal(tach(&["now", "--json"]));
    assert!(!json.contains('\u{1b}'), "{json}");
}

#[test]
fn a_long_command_shows_its_progress_on_a_terminal_and_removes_it() {
    let shown = on_a_terminal(tach(&["doctor", "--for", "2s"]));
    assert!(shown.contains("timelines against the OS's clocks"), "{shown}");
    let after = shown.rsplit_once("timelines against").unwrap().1;
    assert!(after.contains("\u{1b}[2K") && after.contains("Verdict:"), "{after}");
    let live = on_a_terminal(tach(&["drift", "--for", "2s"]));
    assert!(live.contains("quanta +") || live.contains("quanta -"), "{live}");
    let short = on_a_terminal(tach(SHORT));
    assert!(!short.contains("timelines against"), "{short}");
}
