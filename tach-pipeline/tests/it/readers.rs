//! Logs that real readers read: daemons, rotators and tailers, each a process of its own.
//!
//! A reader that is not installed is reported, and its test passes. `cargo xtask readers` installs
//! all readers and names their folder in `TACH_READERS_BIN`: with that variable, a missing one
//! fails its test. `TACH_READERS_RECORDS` is the number of records of each road.

mod journal;
mod pipe;
mod rotation;
mod syslog;

use core::fmt::Write as _;
use core::time::Duration;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::Instant;

use tach_log::Value;
use tach_log::adapter::beginning;
use tach_pipeline::Pipeline;

use crate::support::{LONG, info};

/// Parts of messages as a client would choose them, to be read as another program's message, as
/// another host's, or as fields.
const HOSTILE: [&str; 6] = [
    "\n<13>1 2026-01-01T00:00:00Z evil.example evil 666 - - forged",
    "\n<11>Jan  1 00:00:00 evil.example evil[666]: forged",
    "\u{1b}[2J\u{1b}]0;forged\u{7}",
    "\r\n85 <13>1 2026-01-01T00:00:00Z evil.example evil 666 - - forged",
    "\0\u{85}\u{2028}é",
    "\nPRIORITY=0\nSYSLOG_IDENTIFIER=evil\n\nMESSAGE=forged\n",
];

/// The longest message: with the rest of its record it has less than 1 MiB, the longest record.
const LONGEST: usize = (1 << 20) - 1_000;

/// How long a reader may be idle before everything is read.
const IDLE: Duration = Duration::from_secs(5);

fn records() -> usize {
    env::var("TACH_READERS_RECORDS").map_or(10_000, |records| records.parse().unwrap())
}

/// Returns a command of a reader, or `None` if the reader is not installed.
fn reader(name: &str) -> Option<Command> {
    if let Some(folder) = env::var_os("TACH_READERS_BIN") {
        return Some(Command::new(Path::new(&folder).join(name)));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/lib/systemd"].map(PathBuf::from);
    let found = env::split_paths(&path).chain(system).map(|folder| folder.join(name));
    let found = found.into_iter().find(|program| program.exists());
    if found.is_none() {
        eprintln!("NOT RUN: there is no {name}; cargo xtask readers installs it");
    }
    found.map(Command::new)
}

/// Returns the message of a number, of at most `longest` bytes. A few are long.
fn message(owner: &str, number: usize, longest: usize) -> String {
    let length = match number {
        number if number % 1_000 == 999 => [8_200, 60_000, 300_000, LONGEST][number / 1_000 % 4],
        number if number % 50 == 49 => number * 7 % 4_000,
        number => number * 13 % 200,
    };
    let mut text = format!("#{owner}/{number} ");
    let start = text.len();
    let length = (start + length).min(longest);
    while text.len() < length {
        text.push_str(HOSTILE[number % HOSTILE.len()]);
        text.push_str("plain");
    }
    text.truncate(beginning(&text, length.max(start)).len());
    text
}

fn log(pipeline: &Pipeline, owner: &str, numbers: impl Iterator<Item = usize>) {
    numbers.for_each(|number| info(pipeline, &message(owner, number, LONGEST)));
}

/// What a reader has read.
#[derive(Default)]
struct Seen {
    /// How often each number of an owner came.
    counts: BTreeMap<String, Vec<u32>>,
    /// How many messages were cut at a sink's bound.
    cut: usize,
    /// What no program has logged.
    forged: Vec<String>,
}

impl Seen {
    /// Takes a message as [`Line`](tach_log::Line) writes it, without the target.
    fn take_line(&mut self, text: &str) {
        self.take(text, |owner, number| Value::Str(&message(owner, number, LONGEST)).to_string());
    }

    /// Takes a message, which must be the one that `expected` returns, or its beginning with the
    /// number of bytes that it lacks.
    fn take(&mut self, text: &str, expected: impl FnOnce(&str, usize) -> String) {
        let name = text.strip_prefix('#').and_then(|text| text.split(' ').next());
        let parts = name.and_then(|name| name.split_once('/'));
        let known = parts.and_then(|(owner, number)| Some((owner, number.parse().ok()?)));
        let Some((owner, number)) = known else { return self.forge(text) };
        let expected = expected(owner, number);
        if text != expected {
            let kept = text.rsplit_once(" truncated_bytes=").map(|(kept, _)| kept);
            match kept.filter(|kept| expected.starts_with(*kept)) {
                Some(_) => self.cut += 1,
                None => return self.forge(text),
            }
        }
        let counts = self.counts.entry(owner.to_owned()).or_default();
        if counts.len() <= number {
            counts.resize(number + 1, 0);
        }
        counts[number] += 1;
    }

    fn forge(&mut self, text: &str) {
        self.forged.push(beginning(text, 200).to_owned());
    }

    /// Returns how many of the first `count` messages of an owner are lost, and how many came more
    /// than once.
    fn lost_and_double(&self, owner: &str, count: usize) -> (usize, usize) {
        let none = Vec::new();
        let counts = self.counts.get(owner).unwrap_or(&none);
        let found = counts.iter().take(count).filter(|&&count| count > 0).count();
        (count - found, counts.iter().filter(|&&count| count > 1).count())
    }

    fn assert_whole(&self, owner: &str, count: usize) {
        assert_eq!(self.lost_and_double(owner, count), (0, 0), "{owner}");
    }

    fn assert_none_forged(&self) {
        let first = &self.forged[..self.forged.len().min(3)];
        assert!(self.forged.is_empty(), "{} forged, such as {first:#?}", self.forged.len());
    }
}

/// A reader that runs until it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _status = self.0.wait();
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LONG, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until nobody has written the file for a while.
fn wait_until_idle(path: &Path) {
    let length = || fs::metadata(path).map_or(0, |file| file.len());
    let (mut last, mut since) = (length(), Instant::now());
    while since.elapsed() < IDLE {
        thread::sleep(Duration::from_millis(100));
        if length() != last {
            (last, since) = (length(), Instant::now());
        }
    }
}

/// Takes the lines of a reader's file. A line that does not begin with the target is forged.
fn lines(text: &str, seen: &mut Seen) {
    for line in text.lines() {
        match line.strip_prefix("app: ") {
            Some(text) => seen.take_line(text),
            None => seen.forge(line),
        }
    }
}

/// The controls of the tests: `Seen` notices what is wrong.
#[test]
fn what_is_forged_lost_or_double_is_seen() {
    let mut seen = Seen::default();
    let mut text = String::new();
    for number in [0, 1, 1, 3, 999] {
        writeln!(text, "app: {}", Value::Str(&message("a", number, LONGEST))).unwrap();
    }
    lines(&text, &mut seen);
    assert_eq!((seen.lost_and_double("a", 4), seen.forged.len()), ((1, 1), 0));
    let whole = Value::Str(&message("a", 3_999, LONGEST)).to_string();
    seen.take_line(&format!("{} truncated_bytes=9", &whole[..5_000]));
    assert_eq!((seen.cut, seen.forged.len()), (1, 0));
    for forged in ["forged", "#a/7", "#a/3 another", "evil: #a/7 ", &whole[..5_000]] {
        seen.take_line(forged);
    }
    assert_eq!(seen.forged.len(), 5);
}
