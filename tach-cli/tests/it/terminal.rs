//! Colours, on a real terminal and elsewhere.

use std::fs::File;
use std::io::Read as _;
use std::process::Command;
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::{Folder, run, tach};

/// Runs the command on a terminal, and returns its output.
fn on_a_terminal(command: Command) -> String {
    let (status, text) = status_on_a_terminal(command);
    assert!(matches!(status, Some(0 | 1)), "{status:?}");
    text
}

/// Runs the command on a terminal, and returns its status and its output.
fn status_on_a_terminal(command: Command) -> (Option<i32>, String) {
    status_on_a_terminal_of(0, command)
}

/// Runs the command on a terminal with this number of columns; 0 if the terminal's size is unknown.
fn status_on_a_terminal_of(columns: u16, mut command: Command) -> (Option<i32>, String) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&ours, size).unwrap();
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
    (status.code(), reading.join().unwrap())
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
    let json = on_a_terminal(tach(&["doctor", "--for", "1ms", "--json"]));
    assert!(!json.contains('\u{1b}'), "{json}");
}

/// A file or an argument must not drive the terminal: set its title, clear it, hide text.
#[test]
fn control_characters_are_shown_on_a_terminal() {
    const HOSTILE: &str = "\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[8m\u{9b}31mtsc\r";
    let folder = Folder::new("hostile");
    let clocksource = "sys/devices/system/clocksource/clocksource0";
    for file in ["current_clocksource", "available_clocksource"] {
        folder.write(&format!("{clocksource}/{file}"), HOSTILE);
    }
    folder.write("proc/version", HOSTILE);
    let missing = format!("/missing/a{HOSTILE}.svg");
    let root = folder.path().to_str().unwrap();
    let cases: [(&[&str], Option<i32>); 4] = [
        (&["doctor", "--for", "1ms", "--root", root], None),
        (&["doctor", "--for", "1ms", "--root", root, "--json"], None),
        (&["drift", "--for", "1ms", "--plot", &missing], Some(3)),
        (&["drift", "--for", HOSTILE], Some(2)),
    ];
    for (arguments, expected) in cases {
        let (status, shown) = status_on_a_terminal(tach(arguments));
        assert!(expected.is_none_or(|expected| status == Some(expected)), "{status:?} {shown}");
        // clap leaves out whatever looks like a style.
        let text = if expected == Some(2) { "31mtsc" } else { "]0;title" };
        assert!(shown.contains(text), "{shown}");
        for part in ["\u{1b}]", "\u{1b}[2J", "\u{1b}[8m", "\u{7}", "\u{9b}"] {
            assert!(!shown.contains(part), "{part:?} in {shown:?}");
        }
    }
}

/// Lines are broken between words, so that the terminal breaks none within one.
#[test]
fn texts_fit_the_terminal() {
    let commands: [&[&str]; 4] = [
        &["--help"],
        &["doctor", "--help"],
        &["doctor", "--for", "1ms"],
        &["drift", "--for", "1ms", "--load", "1"],
    ];
    // Tables are not wrapped, so 40 columns are for the other commands only.
    let narrow = commands[..3].iter().map(|arguments| (40, arguments));
    for (columns, arguments) in narrow.chain(commands.iter().map(|arguments| (80, arguments))) {
        let mut command = tach(arguments);
        command.env("NO_COLOR", "1");
        let (_, text) = status_on_a_terminal_of(columns, command);
        assert!(text.lines().count() > 5, "{text}");
        for line in text.lines() {
            let is_one_word = line.trim().split(' ').count() == 1;
            let length = line.chars().count();
            assert!(length <= columns.into() || is_one_word, "{columns} columns: {line}");
        }
    }
}
