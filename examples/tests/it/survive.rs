//! A program that is killed, and its next start.

use std::io::{BufRead as _, BufReader};

use crate::example;
use crate::folder::Folder;

#[test]
fn the_next_start_prints_what_a_killed_one_logged() {
    let folder = Folder::new("survive");
    let start = || {
        let mut child = example("survive").arg(&folder.path).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        (child, lines)
    };
    let (mut child, mut lines) = start();
    assert!(lines.any(|line| line == "logged request 50"));
    child.kill().unwrap();
    child.wait().unwrap();
    // What was on its way through the pipe.
    let logged = lines.last().map_or(50, |line| number(&line, "logged request "));

    let (mut child, lines) = start();
    let lines: Vec<_> = lines.take_while(|line| !line.starts_with("logging")).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    let last = number(lines.last().unwrap(), "request ");
    // The kill came before the next number was printed, or just after its record was logged.
    assert!(last == logged || last == logged + 1, "{logged}: {lines:?}");
    assert!(lines.last().unwrap().contains(&format!("recovered_pid={}", first_pid(&lines))));
}

/// Returns the number after a word.
fn number(line: &str, word: &str) -> u64 {
    let (_, rest) = line.split_once(word).unwrap();
    rest.split(' ').next().unwrap().parse().unwrap()
}

fn first_pid(lines: &[String]) -> u64 {
    number(lines.iter().find(|line| line.contains("recovered_pid=")).unwrap(), "recovered_pid=")
}
