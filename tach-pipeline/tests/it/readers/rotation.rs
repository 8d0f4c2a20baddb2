//! logrotate in three modes, and tailers that remember how far they have read.

use core::time::Duration;
use std::env;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::thread;

use signal_hook::consts::SIGHUP;
use signal_hook::iterator::Signals;
use tach_log::Line;
use tach_pipeline::{Pipeline, Sink};
use test_support::test_of_this_program;

use super::{Running, Seen, lines, log, reader, records, wait_until};
use crate::support::{Folder, LONG};

/// The file that the child writes.
const FILE: &str = "TACH_PIPELINE_READERS_FILE";
/// How often the child pauses, so that rotations fall between its records.
const PAUSES: usize = 100;
const PAUSE: Duration = Duration::from_millis(20);
/// The script of logrotate that asks the child to open its file again.
const SIGNAL: &str = "postrotate\n kill -HUP $(cat PID)\n endscript";

/// Not a test: a program that writes a log, and opens it again at SIGHUP.
#[test]
#[ignore = "the child of the tests below"]
fn child() {
    let Some(path) = env::var_os(FILE) else { return };
    let sink = Sink::file(&path).format(Line::new().without_time().without_level());
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    let mut signals = Signals::new([SIGHUP]).unwrap();
    let reopens = guard.pipeline().clone();
    thread::spawn(move || signals.forever().for_each(|_| reopens.reopen()));
    fs::write(Path::new(&path).with_extension("pid"), process::id().to_string()).unwrap();
    let chunk = records() / PAUSES;
    for at in 0..PAUSES {
        log(guard.pipeline(), "a", at * chunk..(at + 1) * chunk);
        thread::sleep(PAUSE);
    }
    guard.pipeline().flush(LONG * 10).unwrap();
    process::exit(0);
}

/// Calls `between` again and again while the child writes `app.log` in a folder.
fn write(folder: &Folder, mut between: impl FnMut()) {
    let mut child = test_of_this_program("readers::rotation::child");
    let child = child.env(FILE, folder.path("app.log")).stdout(Stdio::null()).spawn().unwrap();
    let mut child = Running(child);
    wait_until("the child writes", || folder.path("app.log").exists());
    wait_until("the child handles signals", || folder.path("app.pid").exists());
    loop {
        between();
        thread::sleep(PAUSE * 3);
        if let Some(status) = child.0.try_wait().unwrap() {
            assert!(status.success());
            return;
        }
    }
}

/// Returns a function that rotates `app.log` with these directives.
fn rotates(folder: &Folder, directives: &str) -> Option<impl FnMut() + use<>> {
    reader("logrotate")?;
    let configuration = folder.path("logrotate.conf");
    let log = folder.path("app.log");
    let directives = directives.replace("PID", &folder.path("app.pid").display().to_string());
    let text = format!("{} {{\n rotate 10000\n nocompress\n {directives}\n}}\n", log.display());
    fs::write(&configuration, text).unwrap();
    // logrotate refuses a configuration that others may write.
    test_support::users::set_mode(&configuration, 0o644);
    let state = folder.path("logrotate.state");
    Some(move || {
        let mut logrotate = reader("logrotate").unwrap();
        logrotate.arg("--force").arg("--state").arg(&state).arg(&configuration);
        let output = logrotate.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    })
}

/// Returns the files of a log.
fn files(folder: &Folder) -> Vec<PathBuf> {
    let files = fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().path());
    let is_log =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("app.log");
    files.filter(is_log).collect()
}

fn read(folder: &Folder) -> Seen {
    let mut seen = Seen::default();
    for path in files(folder) {
        lines(&fs::read_to_string(path).unwrap(), &mut seen);
    }
    seen
}

fn count() -> usize {
    records() / PAUSES * PAUSES
}

#[test]
fn logrotate_moves_the_file_away() {
    // SIGHUP, or nothing: then the sink notices within a second that its file was moved.
    for script in ["", SIGNAL] {
        let folder = Folder::new("readers-create");
        let Some(rotate) = rotates(&folder, &format!("create 0640\n {script}")) else { return };
        write(&folder, rotate);
        let seen = read(&folder);
        assert!(files(&folder).len() > 1, "{:?}", files(&folder));
        seen.assert_none_forged();
        seen.assert_whole("a", count());
    }
}

/// What is written between logrotate's copy and its cut is lost, which no writer can prevent. The
/// cut file does not begin with a gap, since each write goes to the end.
#[test]
fn logrotate_cuts_the_file_after_copying() {
    let folder = Folder::new("readers-copytruncate");
    let Some(rotate) = rotates(&folder, "copytruncate") else { return };
    write(&folder, rotate);
    let seen = read(&folder);
    let files = files(&folder);
    assert!(files.len() > 1, "{files:?}");
    for path in &files {
        assert!(!fs::read(path).unwrap().contains(&0), "{}", path.display());
    }
    // At most the last line of a copy and the first one after a cut are in two parts.
    assert!(seen.forged.len() <= 2 * files.len(), "{:?}", seen.forged);
    assert_eq!(seen.lost_and_double("a", count()).1, 0);
}

/// Returns a function that appends what a tailer has not read yet to the file `name`.
fn tails(folder: &Folder, name: &str, options: impl Fn(&mut Command)) -> Option<impl Fn()> {
    let (offset, out) = (folder.path(&format!("{name}.offset")), folder.path(name));
    reader(name)?;
    Some(move || {
        let mut tailer = reader(name).unwrap();
        tailer.arg("-o").arg(&offset);
        options(&mut tailer);
        let out = OpenOptions::new().create(true).append(true).open(&out).unwrap();
        assert!(tailer.stdout(out).status().unwrap().success());
    })
}

/// The sink's own rotation is not tested here: tailers don't know its names.
#[test]
fn tailers_with_a_memory_read_every_line_once() {
    let folder = Folder::new("readers-tailers");
    let directives = format!("create 0640\n {SIGNAL}");
    let Some(mut rotate) = rotates(&folder, &directives) else { return };
    let log = folder.path("app.log");
    let logtail = tails(&folder, "logtail2", |tailer| _ = tailer.arg("-f").arg(&log));
    let pygtail = tails(&folder, "pygtail", |tailer| _ = tailer.arg(&log));
    let (Some(logtail), Some(pygtail)) = (logtail, pygtail) else { return };
    let tail = || {
        logtail();
        pygtail();
    };
    write(&folder, || {
        // A tailer knows only the file that it has read before.
        tail();
        rotate();
        // The sink may be within a write to the old file.
        thread::sleep(PAUSE * 3);
    });
    tail();
    assert!(files(&folder).len() > 1, "{:?}", files(&folder));
    for name in ["logtail2", "pygtail"] {
        let mut seen = Seen::default();
        lines(&fs::read_to_string(folder.path(name)).unwrap(), &mut seen);
        seen.assert_none_forged();
        seen.assert_whole("a", count());
    }
}
