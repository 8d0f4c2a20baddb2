//! A pipe that several processes write and `cat` reads.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{self, Command, Stdio};

use tach_log::Value;
use tach_pipeline::{Pipeline, Sink};
use test_support::test_of_this_program;

use super::{LONGEST, Seen, message, records};
use crate::support::{Folder, LONG, info};

/// What the child writes, its name, and its longest message.
const WAY: &str = "TACH_PIPELINE_READERS_WAY";
const OWNER: &str = "TACH_PIPELINE_READERS_OWNER";
const MOST: &str = "TACH_PIPELINE_READERS_MOST";

/// Not a test: a writer of a pipe.
#[test]
#[ignore = "the child of the tests below"]
fn child() {
    let (Ok(way), Ok(owner), Ok(most)) = (env::var(WAY), env::var(OWNER), env::var(MOST)) else {
        return;
    };
    let most = most.parse().unwrap();
    // Ends the line that the harness has begun.
    io::stderr().write_all(b"\n").unwrap();
    if way == "logs" {
        let guard = Pipeline::builder().sink(Sink::stderr()).build().unwrap();
        (0..records()).for_each(|number| info(guard.pipeline(), &message(&owner, number, most)));
        guard.pipeline().flush(LONG * 10).unwrap();
        assert_eq!(guard.pipeline().stats().sinks()[0].written(), records() as u64);
    } else {
        // Another program, which writes each line by one call.
        let mut stderr = File::from(io::stderr().as_fd().try_clone_to_owned().unwrap());
        for number in 0..records() {
            let text = message(&owner, number, most);
            stderr.write_all(format!("Z INFO  app: {}\n", Value::Str(&text)).as_bytes()).unwrap();
        }
    }
    process::exit(0);
}

/// Returns what `cat` reads of writers of these kinds, with messages of up to `most` bytes.
fn read(ways: &[&str], most: usize) -> Seen {
    let folder = Folder::new(&format!("readers-pipe-{most}"));
    let (ours, theirs) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let out = folder.path("out");
    let mut cat = Command::new("cat");
    let mut cat = cat.stdin(ours).stdout(File::create(&out).unwrap()).spawn().unwrap();
    let start = |(at, way): (usize, &&str)| {
        let stderr: Stdio = OwnedFd::try_clone(&theirs).unwrap().into();
        let mut child = test_of_this_program("readers::pipe::child");
        child.env(WAY, way).env(OWNER, format!("w{at}")).env(MOST, most.to_string());
        child.stdout(Stdio::null()).stderr(stderr).spawn().unwrap()
    };
    let children: Vec<_> = ways.iter().enumerate().map(start).collect();
    drop(theirs);
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert!(cat.wait().unwrap().success());
    let mut seen = Seen::default();
    let text = fs::read_to_string(out).unwrap();
    for line in text.lines().filter(|line| !line.is_empty()) {
        // After the time and the level.
        match line.split_once("Z INFO  app: ") {
            Some((_, text)) => {
                seen.take(text, |owner, number| {
                    Value::Str(&message(owner, number, most)).to_string()
                });
            }
            None => seen.forge(line),
        }
    }
    seen
}

/// An escape takes up to eight bytes for one, and a pipe keeps 4,096 together.
#[test]
fn cat_reads_whole_lines_of_three_writers() {
    let seen = read(&["logs", "logs", "prints"], 480);
    seen.assert_none_forged();
    (0..3).for_each(|at| seen.assert_whole(&format!("w{at}"), records()));
}

#[test]
fn cat_reads_whole_lines_of_any_length_from_one_writer() {
    let seen = read(&["logs"], LONGEST);
    seen.assert_none_forged();
    seen.assert_whole("w0", records());
    assert_eq!(seen.cut, 0);
}
