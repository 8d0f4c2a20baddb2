//! A program that is killed, and its next start.

use std::fs;
use std::io::{BufRead as _, BufReader};

use crate::example;
use crate::folder::Folder;

#[test]
fn the_next_start_prints_what_a_killed_one_logged() {
    // Of some kills the log has already written every record.
    let is_recovered = (0..50).any(|_| the_last_record_is_recovered());
    assert!(is_recovered, "each record was written before the kill");
}

/// Kills the program, and starts it again. Returns whether the last record was not yet written at
/// the kill.
fn the_last_record_is_recovered() -> bool {
    let folder = Folder::new("survive");
    let start = || {
        let mut child = example("survive").arg(&folder.path).spawn().unwrap();
        let pid = child.id();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        (child, pid, lines)
    };
    let (mut child, pid, mut lines) = start();
    assert!(lines.any(|line| line == "logged request 50"));
    child.kill().unwrap();
    child.wait().unwrap();
    // What was on its way through the pipe.
    let logged = lines.last().map_or(50, |line| number(&line, "logged request "));

    let (mut child, _, lines) = start();
    let lines: Vec<_> = lines.take_while(|line| !line.starts_with("logging")).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    let last = lines.last().unwrap();
    let number = number(last, "request ");
    // The kill came before the next number was printed, or just after its record was logged.
    assert!(number == logged || number == logged + 1, "{logged}: {lines:?}");
    last.contains(&format!(" recovered_pid={pid}"))
}

/// The other program passes on what was left, where the first one is not started again.
#[test]
fn another_program_passes_on_what_a_killed_one_logged() {
    let folder = Folder::new("recover");
    let mut child = example("survive").arg(&folder.path).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "logged request 50"));
    child.kill().unwrap();
    child.wait().unwrap();
    let log = folder.path.join("app.log");
    let mut recover = example("recover");
    let printed = recover.arg(folder.path.join("survivors")).arg(&log).output().unwrap();
    assert!(printed.status.success(), "{printed:?}");
    let text = fs::read_to_string(log).unwrap();
    let numbers: Vec<_> = text
        .lines()
        .filter(|line| line.contains(": request "))
        .map(|line| number(line, ": request "))
        .collect();
    assert!(numbers.len() >= 50 && numbers.iter().copied().eq(1..=numbers.len() as u64), "{text}");
    let recovered = text.lines().filter(|line| line.contains(" recovered_pid="));
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(recovered.into_iter().all(|line| printed.contains(line)), "{printed}");
    // Nothing is left for the next start.
    let again = recover.output().unwrap();
    assert!(again.status.success() && again.stdout.is_empty(), "{again:?}");
    // A typing error makes no folder and no log.
    let typo = folder.path.join("typo");
    let refused = example("recover").arg(&typo).arg(typo.join("app.log")).output().unwrap();
    assert!(!refused.status.success() && !typo.exists(), "{refused:?}");
}

/// Returns the number after a word.
fn number(line: &str, word: &str) -> u64 {
    let (_, rest) = line.split_once(word).unwrap();
    rest.split(' ').next().unwrap().parse().unwrap()
}
