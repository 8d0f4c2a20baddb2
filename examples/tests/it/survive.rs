//! A program that is killed, and its next start.

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

/// Returns the number after a word.
fn number(line: &str, word: &str) -> u64 {
    let (_, rest) = line.split_once(word).unwrap();
    rest.split(' ').next().unwrap().parse().unwrap()
}
