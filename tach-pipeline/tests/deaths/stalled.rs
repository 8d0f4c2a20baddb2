//! A process leaves much, since its sink stalled.

use core::time::Duration;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::{fs, thread};

use log::{Level, Log as _, Record};

use super::{Counts, Scene, Snapshot};
use tach_pipeline::{Builder, Pipeline, Sink, WhenFull};

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
