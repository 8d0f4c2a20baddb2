//! One pipe with several writers, as containers and shells give it, and its real reader's side.

use std::env;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{self, Child, Stdio};
use std::thread;

use tach_log::{Event, Format, Line};
use tach_pipeline::{Pipeline, Sink};
use test_support::test_of_this_program;

use crate::support::{LONG, info};

/// What the child writes, and its name in each line.
const WAY: &str = "TACH_PIPELINE_PIPE_WAY";
const NAME: &str = "TACH_PIPELINE_PIPE_NAME";
/// How many lines each child writes.
const LINES: usize = 15_000;
/// A record that no pipe keeps together.
const LONG_RECORD: usize = 20_000;

struct Bare;

impl Format for Bare {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        writeln!(to, "{}", event.message())
    }
}

/// A line of about 170 bytes that shows whether it is whole.
fn line(name: &str, number: usize) -> String {
    format!("<{name} {number} {} {number}>", "x".repeat(150))
}

/// Not a test: one of the writers.
#[expect(clippy::print_stdout, reason = "one of the writers prints")]
#[test]
#[ignore = "the child of the tests below"]
fn child() {
    let (Ok(way), Ok(name)) = (env::var(WAY), env::var(NAME)) else { return };
    // What the test's harness has printed ends here.
    println!();
    let builder = Pipeline::builder().sink(Sink::stderr().format(Bare));
    match &*way {
        "logs" => {
            let guard = builder.build().unwrap();
            (0..LINES).for_each(|number| info(guard.pipeline(), &line(&name, number)));
            guard.pipeline().flush(LONG).unwrap();
        }
        // README's pair of sinks, and a panic in the middle.
        "logs to both" => {
            let guard = builder.sink(Sink::stdout().format(Bare)).build().unwrap();
            (0..LINES / 2).for_each(|number| info(guard.pipeline(), &line(&name, number)));
            let panics = thread::spawn(|| panic!("on purpose"));
            (LINES / 2..LINES).for_each(|number| info(guard.pipeline(), &line(&name, number)));
            panics.join().unwrap_err();
            guard.pipeline().flush(LONG).unwrap();
        }
        "logs records of several lines" => {
            let format = Line::new().without_time().without_level().without_target().multiline();
            let guard = Pipeline::builder().sink(Sink::stderr().format(format)).build().unwrap();
            for number in 0..LINES / 4 {
                let fill = "x".repeat(50);
                let text = format!("<{name} {number}\n{fill}\n{fill}\n{name} {number}>");
                info(guard.pipeline(), &text);
            }
            guard.pipeline().flush(LONG).unwrap();
        }
        "prints" => (0..LINES).for_each(|number| println!("{}", line(&name, number))),
        "logs long records" => {
            let guard = builder.build().unwrap();
            for number in 0..100 {
                info(
                    guard.pipeline(),
                    &format!("<{name} {number} {} {number}>", "x".repeat(LONG_RECORD)),
                );
                info(guard.pipeline(), &line(&name, number));
            }
            guard.pipeline().flush(LONG).unwrap();
            let stats = guard.pipeline().stats();
            assert_eq!((stats.sinks()[0].written(), stats.sinks()[0].oversize()), (200, 100));
        }
        "logs to nobody" => {
            let guard = Pipeline::builder().sink(Sink::stdout().format(Bare)).build().unwrap();
            (0..LINES).for_each(|number| info(guard.pipeline(), &line(&name, number)));
            guard.pipeline().flush(LONG).unwrap();
            let (stats, waiting) =
                (guard.pipeline().stats(), guard.pipeline().stats().sinks()[0].waiting());
            assert_eq!((stats.sinks()[0].dropped() > 0, waiting), (true, 0));
        }
        way => panic!("no such way: {way}"),
    }
    // Exit before the harness ends its line: it would write the end and the line feed apart.
    process::exit(0);
}

/// Starts writers of these kinds, all on one pipe, whose reading end is returned.
fn start(ways: &[&str]) -> (Vec<Child>, File) {
    let (ours, theirs) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let theirs = || -> Stdio { OwnedFd::try_clone(&theirs).unwrap().into() };
    let children = ways.iter().enumerate().map(|(at, way)| {
        let mut child = test_of_this_program("pipes::child");
        child.env(WAY, way).env(NAME, format!("w{at}")).env("RUST_BACKTRACE", "0");
        child.stdout(theirs()).stderr(theirs()).spawn().unwrap()
    });
    (children.collect(), ours.into())
}

/// Returns what the writers write.
fn text(ways: &[&str]) -> String {
    let (children, mut pipe) = start(ways);
    let mut text = String::new();
    pipe.read_to_string(&mut text).unwrap();
    for mut child in children {
        assert!(child.wait().unwrap().success(), "{text}");
    }
    text
}

/// Returns the number of whole lines of each writer, and any other text that is not the harness's.
fn read(ways: &[&str]) -> (Vec<usize>, Vec<String>) {
    let text = text(ways);
    let (mut whole, mut torn) = (vec![0; ways.len()], Vec::new());
    for line in text.lines() {
        let is_of_others = line.is_empty()
            || ["running ", "test ", "ok", "thread '", "on purpose", "note: "]
                .iter()
                .any(|start| line.starts_with(start));
        let parts: Vec<_> = line.split(' ').collect();
        match *parts {
            [name, number, fill, end]
                if name.starts_with("<w")
                    && end.strip_suffix('>') == Some(number)
                    && [150, LONG_RECORD].contains(&fill.len())
                    && fill.bytes().all(|byte| byte == b'x') =>
            {
                whole[name[2..].parse::<usize>().unwrap()] += 1;
            }
            _ if is_of_others && !line.contains("<w") => {}
            _ => torn.push(line.to_owned()),
        }
    }
    (whole, torn)
}

#[test]
fn no_line_is_torn_on_a_pipe_with_several_writers() {
    let (whole, torn) = read(&["logs", "logs", "logs", "prints"]);
    assert!(torn.is_empty(), "{} such as {:?}", torn.len(), torn.first());
    assert_eq!(whole, [LINES; 4]);
}

#[test]
fn two_streams_and_a_panic_share_a_pipe() {
    let (whole, torn) = read(&["logs to both"]);
    assert!(torn.is_empty(), "{} such as {:?}", torn.len(), torn.first());
    assert_eq!(whole, [2 * LINES]);
}

#[test]
fn a_long_record_is_whole_where_no_other_writes() {
    let (whole, torn) = read(&["logs long records"]);
    assert!(torn.is_empty(), "{} such as {:?}", torn.len(), torn.first());
    assert_eq!(whole, [200]);
}

#[test]
fn a_record_of_several_lines_is_whole_on_a_pipe_with_several_writers() {
    let text = text(&["logs records of several lines"; 3]);
    let mut lines = text.lines();
    let mut counts = [0; 3];
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix('<') else {
            assert!(!line.starts_with(' '), "a part of a record: {line}");
            continue;
        };
        let fill = format!("    {}", "x".repeat(50));
        assert_eq!([lines.next(), lines.next()], [Some(&*fill); 2]);
        assert_eq!(lines.next(), Some(&*format!("    {name}>")));
        counts[name[1..2].parse::<usize>().unwrap()] += 1;
    }
    assert_eq!(counts, [LINES / 4; 3]);
}

/// The reader is like the one of `tool | head -1`.
#[test]
fn a_reader_that_leaves_causes_no_complaint() {
    let (ours, theirs) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let mut child = test_of_this_program("pipes::child");
    child.env(WAY, "logs to nobody").env(NAME, "w0").stdout(theirs).stderr(Stdio::piped());
    let spawned = child.spawn().unwrap();
    drop(child);
    let mut first = [0; 4096];
    File::from(ours).read_exact(&mut first).unwrap();
    let output = spawned.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!text.contains("tach-pipeline:"), "{text}");
}
