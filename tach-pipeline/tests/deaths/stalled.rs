//! A process leaves much, since its sink stalled.

use core::time::Duration;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::{fs, thread};

use log::{Level, Log as _, Record};

use super::{Counts, Scene, Snapshot};
use tach_pipeline::{Builder, Pipeline, Sink, SinkStats, WhenFull};

const LONG: Duration = Duration::from_secs(60);
const RECOVERED: usize = 2_000;
const OWN: usize = 30;

/// Each write is received, and waits for an answer. Without a receiver, no write waits.
struct Slow {
    write: Sender<Vec<u8>>,
    answer: Receiver<()>,
}

impl io::Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.write.send(bytes.to_owned()).is_ok() {
            let _gone = self.answer.recv();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn builder(scene: &Scene) -> (Builder, Receiver<Vec<u8>>, Sender<()>) {
    let ((write, written), (go_on, answer)) = (mpsc::channel(), mpsc::channel());
    let sink = Sink::writer("slow", Slow { write, answer });
    (Pipeline::builder().sink(sink).survive(scene.files()), written, go_on)
}

fn log(pipeline: &Pipeline, text: &str, number: usize) {
    let padding = "x".repeat(1_000);
    let args = format_args!("{text} {number} {padding}");
    pipeline.log(&Record::builder().level(Level::Info).target("app").args(args).build());
}

/// Returns what a process leaves whose sink stalled.
fn death() -> Snapshot {
    let scene = Scene::new();
    let left = thread::scope(|scope| {
        let process = scope.spawn(|| {
            let (builder, written, go_on) = builder(&scene);
            let guard = builder.queue_bytes(32 << 20).build().unwrap();
            (0..RECOVERED).for_each(|number| log(guard.pipeline(), "recovered", number));
            written.recv_timeout(LONG).unwrap();
            let left = scene.snapshot(&Counts::default());
            drop((written, go_on));
            left
        });
        process.join().unwrap()
    });
    scene.wait();
    left
}

/// The reserve of a queue is in the file too.
#[test]
fn errors_that_a_full_queue_kept_outlive_the_process() {
    for policy in [WhenFull::DropNewest, WhenFull::DropOldest] {
        let scene = Scene::new();
        let left = thread::scope(|scope| {
            let process = scope.spawn(|| {
                let (builder, written, go_on) = builder(&scene);
                let guard = builder.when_full(policy).build().unwrap();
                let log = |level, number| {
                    let args = format_args!("number {number} {}", "x".repeat(100));
                    guard
                        .pipeline()
                        .log(&Record::builder().level(level).target("app").args(args).build());
                };
                log(Level::Info, 0);
                written.recv_timeout(LONG).unwrap();
                (0..50).for_each(|number| log(Level::Error, number));
                (0..10_000).for_each(|number| log(Level::Info, number));
                (50..100).for_each(|number| log(Level::Error, number));
                let left = scene.snapshot(&Counts::default());
                drop((written, go_on));
                left
            });
            process.join().unwrap()
        });
        scene.wait();
        let scene = Scene::after(&left);
        scene.recover();
        let log = fs::read_to_string(scene.log()).unwrap();
        let found = (0..100).filter(|number| {
            log.lines()
                .any(|line| line.contains("ERROR") && line.contains(&format!("number {number} ")))
        });
        assert_eq!(found.count(), 100, "{policy:?}");
    }
}

/// On a busy machine the thread of a sink may get no processor for seconds. That costs no record of
/// a process that has died, and what waits at an exit stays for the next start.
#[test]
fn a_recovery_waits_for_a_sink_that_has_no_room() {
    let scene = Scene::after(&death());
    let written = thread::scope(|scope| {
        let process = scope.spawn(|| {
            let (write, written) = mpsc::channel();
            let (go_on, answer) = mpsc::channel();
            let slow = Sink::writer("slow", Slow { write, answer }).buffer_bytes(64 * 1024);
            let builder = Pipeline::builder().sink(slow).sink(Sink::file(scene.log()));
            // With this policy, a sink stalls after a second.
            let builder = builder.when_full(WhenFull::DropNewest);
            let guard = builder.survive(scene.files()).build().unwrap();
            // Longer than a sink may stall.
            thread::sleep(Duration::from_millis(2_500));
            let last = format!("recovered {} ", RECOVERED - 1);
            let mut all = String::new();
            loop {
                let part = String::from_utf8(written.recv_timeout(LONG).unwrap()).unwrap();
                go_on.send(()).unwrap();
                all += &part;
                if part.contains(&last) {
                    break;
                }
            }
            drop((written, go_on));
            guard.pipeline().flush(LONG).unwrap();
            let stats = guard.pipeline().stats();
            let dropped: Vec<_> = stats.sinks().iter().map(SinkStats::dropped).collect();
            assert_eq!(dropped, [0, 0]);
            all
        });
        process.join().unwrap()
    });
    scene.wait();
    let log = fs::read_to_string(scene.log()).unwrap();
    for text in [written, log] {
        let records = text.lines().filter_map(|line| line.split_once("recovered "));
        let numbers =
            records.map(|(_, rest)| rest.split(' ').next().unwrap().parse::<usize>().unwrap());
        assert!(numbers.eq(0..RECOVERED), "each is there once, in its order");
    }
}

/// The only sink of a pipeline always has room, so a recovery of minutes would go through at once.
#[test]
fn a_recovery_lets_the_queues_have_their_turn_before_they_drop() {
    let scene = Scene::after(&death());
    let is_before = thread::scope(|scope| {
        let process = scope.spawn(|| {
            let (builder, written, go_on) = builder(&scene);
            let builder = builder.queue_bytes(64 * 1024).when_full(WhenFull::DropNewest);
            let guard = builder.build().unwrap();
            let text = || String::from_utf8(written.recv_timeout(LONG).unwrap()).unwrap();
            let mut all = vec![text()];
            // More than half of the queue, and not all of it.
            (0..OWN).for_each(|number| log(guard.pipeline(), "own", number));
            go_on.send(()).unwrap();
            let last = format!("recovered {} ", RECOVERED - 1);
            while !all.iter().any(|text| text.contains("own 0 ")) {
                all.push(text());
                go_on.send(()).unwrap();
            }
            let is_before = !all.iter().any(|text| text.contains(&last));
            drop((written, go_on));
            is_before
        });
        process.join().unwrap()
    });
    scene.wait();
    assert!(is_before, "the own records came behind all others");
}
