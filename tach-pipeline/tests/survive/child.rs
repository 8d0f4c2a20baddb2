//! The children: programs that log until they are killed, and programs that pass on what is left.
#![expect(unsafe_code, reason = "forks, and ends in the ways that std does not offer")]

use core::fmt;
use core::mem::ManuallyDrop;
use core::time::Duration;
use std::env;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::Barrier;
use std::thread;

use log::{Level, Log as _, Record};
use rustix::process::{Resource, Rlimit, setrlimit};
use tach_log::{Json, Logfmt};
use tach_pipeline::{Builder, Pipeline, Rotation, Sink, WhenFull};
use tach_pipeline::{Otlp, Signal, Syslog};

use crate::scene::COLLECTOR;
use crate::scene::{Count, FIRST, Random, SEED, Scene, Sinks, THREADS};

pub(crate) fn run(role: &str) {
    let seed: u64 = env::var(SEED).unwrap().parse().unwrap();
    let scene = Scene::of_child();
    match role {
        "recover" => {
            let guard = builder(&scene, 0).build().unwrap();
            // The collector refuses a request once, and then the pipeline waits before the next.
            let mut flushed = guard.pipeline().flush(Duration::from_secs(60));
            for _ in 0..20 {
                if flushed.is_err() {
                    thread::sleep(Duration::from_millis(200));
                    flushed = guard.pipeline().flush(Duration::from_secs(60));
                }
            }
            flushed.unwrap();
        }
        "flood" => flood(&scene, seed, || std::process::abort()),
        "abort" => flood_until(&scene, seed, || std::process::abort()),
        "segfault" => flood_until(&scene, seed, || {
            // std's handler returns, and would be called again by the faulty instruction.
            // SAFETY: the action needs no handler.
            unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
            // SAFETY: ends the process.
            unsafe { libc::raise(libc::SIGSEGV) };
        }),
        "_exit" => flood_until(&scene, seed, || {
            // SAFETY: ends the process.
            unsafe { libc::_exit(0) };
        }),
        "exec" | "fork and exec" => flood_until(&scene, seed, || {
            if role != "exec" {
                fork_for_long();
            }
            execute(Command::new(env::current_exe().unwrap()).arg("recover"));
        }),
        "exec another" => {
            flood_until(&scene, seed, || execute(Command::new("/bin/sleep").arg("600")));
        }
        "out of memory" => flood(&scene, seed, take_memory),
        "out of memory with long queues" => {
            flood_in(&scene, seed, builder(&scene, seed).queue_bytes(4 << 20), take_memory);
        }
        "drop newest" | "drop oldest" => {
            let policy =
                if role == "drop oldest" { WhenFull::DropOldest } else { WhenFull::DropNewest };
            let builder = builder(&scene, seed).queue_bytes(8 * 1024).when_full(policy);
            flood_in(&scene, seed, builder, || std::process::abort());
        }
        "churn" => flood_with(&scene, seed, builder(&scene, seed), Some(2), || ()),
        "limited" => {
            let guard = builder(&scene, seed).rate_limit(100).build().unwrap();
            let count = Count::new(&scene, 0);
            say("started");
            for at in 0.. {
                let mut record = Record::builder();
                record.level(Level::Info).target("app").file_static(Some(file!())).line(Some(1));
                guard.pipeline().log(&record.args(format_args!("survives 0 {at} x end")).build());
                count.set(at + 1);
            }
        }
        "paced" => {
            let guard = builder(&scene, seed).build().unwrap();
            let thread: usize = env::var(FIRST).unwrap().parse().unwrap();
            let count = Count::new(&scene, thread);
            say("started");
            for (at, byte) in std::io::stdin().lock().bytes().enumerate() {
                byte.unwrap();
                one(guard.pipeline(), format_args!("survives {thread} {at} x end"));
                count.set(at as u64 + 1);
            }
        }
        "spans" | "recorder" => crate::spans::flood(&scene, seed, role, || say("started")),
        "recover spans" | "recover recorder" => crate::spans::recover(&scene, role),
        "fork" => flood_and_fork(&scene, seed),
        "go on" | "go on for long" => {
            let guard = builder(&scene, seed).build().unwrap();
            say("started");
            let lives = if role == "go on" { u64::MAX } else { 10_000 };
            log(&scene, guard.pipeline(), 0, scene.returned()[0], lives, 0);
            // SAFETY: ends the process.
            unsafe { libc::_exit(0) };
        }
        "exit" => exit(&scene, seed),
        "short files" => short_files(&scene, seed),
        "read and close" => {
            thread::scope(|threads| {
                threads.spawn(|| {
                    loop {
                        for file in scene.left() {
                            let _may_be_gone = std::fs::read(file);
                        }
                        thread::sleep(Duration::from_millis(1));
                    }
                });
                flood(&scene, seed, || ());
            });
        }
        other => panic!("no such role: {other}"),
    }
}

/// Replaces this process by a program, which gets its number and its start.
fn execute(program: &mut Command) {
    let failed = program.exec();
    panic!("{failed}");
}

/// Makes a child that keeps all descriptors and mappings of this process.
fn fork_for_long() {
    // SAFETY: the child has a copy of the memory. It sleeps and ends.
    let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    if child == 0 {
        thread::sleep(Duration::from_secs(2));
        // SAFETY: ends the process without its handlers.
        unsafe { libc::_exit(0) };
    }
}

fn take_memory() {
    let mut taken = Vec::new();
    loop {
        // Write the pages, so that the kernel allocates them.
        taken.push(vec![1_u8; 1024 * 1024]);
    }
}

fn builder(scene: &Scene, seed: u64) -> Builder {
    let file = Sink::file(scene.log("app.log"));
    let file = if seed % 4 == 3 {
        file.rotate(Rotation::new().max_bytes(1024 * 1024).keep(10_000))
    } else {
        file
    };
    let builder = Pipeline::builder().sink(file).survive(scene.files());
    let builder = match scene.sinks {
        Sinks::One => builder,
        Sinks::Files => builder
            .sink(
                Sink::file(scene.log("keyed.json"))
                    .format(Json::new())
                    .rotate(Rotation::new().max_bytes(256 * 1024).keep(10_000)),
            )
            .sink(Sink::file(scene.log("fields.logfmt")).format(Logfmt::new())),
        Sinks::Others => builder
            .sink(Sink::file(scene.folder.join("pipe")))
            .sink(Sink::syslog(Syslog::unix(scene.folder.join("socket"))))
            .sink(collector()),
        Sinks::Collector => builder.sink(collector()),
    };
    let pipe = scene.folder.join("stall");
    let builder = if pipe.exists() {
        let sink = Sink::file(pipe).buffer_bytes(64 * 1024);
        builder.sink(sink.stall_timeout(Duration::from_millis(1)))
    } else {
        builder
    };
    if seed % 5 == 4 { builder.queue_bytes(16 * 1024) } else { builder }
}

fn collector() -> Sink<tach_pipeline::kind::OneFormat> {
    let collector = Otlp::new().endpoint(env::var(COLLECTOR).unwrap());
    Sink::otlp(collector.signals([Signal::Logs]))
}

/// Logs until a random moment, and then calls `end`.
fn flood_until(scene: &Scene, seed: u64, end: impl FnOnce() + Send) {
    flood(scene, seed, || {
        thread::sleep(Duration::from_micros(Random(seed).below(30_000)));
        end();
    });
}

/// Logs from several threads without end. Threads end and begin. Calls `end` after the parent has
/// spoken.
fn flood(scene: &Scene, seed: u64, end: impl FnOnce() + Send) {
    flood_in(scene, seed, builder(scene, seed), end);
}

fn flood_in(scene: &Scene, seed: u64, builder: Builder, end: impl FnOnce() + Send) {
    flood_with(scene, seed, builder, None, end);
}

/// Like [`flood_in`], with threads that end after `lives` records.
fn flood_with(
    scene: &Scene,
    seed: u64,
    builder: Builder,
    lives: Option<u64>,
    end: impl FnOnce() + Send,
) {
    let guard = builder.build().unwrap();
    let mut random = Random(seed);
    let first: usize = env::var(FIRST).unwrap().parse().unwrap();
    let threads = 1 + random.size(8);
    let pause = random.of(&[0, 0, 0, 20, 500]);
    let lives = lives.unwrap_or_else(|| random.of(&[u64::MAX, 1_000, 100]));
    thread::scope(|scope| {
        for number in first..first + threads {
            let pipeline = guard.pipeline().clone();
            scope.spawn(move || {
                let mut at = 0;
                loop {
                    // A thread of a thread, which ends after some records.
                    let pipeline = &pipeline;
                    at = thread::scope(|scope| {
                        scope
                            .spawn(move || log(scene, pipeline, number, at, lives, pause))
                            .join()
                            .unwrap()
                    });
                }
            });
        }
        say("started");
        let _end = std::io::stdin().read(&mut [0]);
        end();
    });
}

fn say(word: &str) {
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{word}").unwrap();
}

fn log(
    scene: &Scene,
    pipeline: &Pipeline,
    thread: usize,
    first: u64,
    lives: u64,
    pause: u64,
) -> u64 {
    let count = Count::new(scene, thread);
    let mut random = Random(first.wrapping_mul(31) + thread as u64);
    let logger = logger(pipeline, thread);
    let are_long = matches!(scene.sinks, Sinks::One | Sinks::Files);
    let mut at = first;
    while at - first < lives {
        let length = match random.below(2_000) {
            // A syslog daemon takes no long messages.
            long if !are_long && long < 20 => 100,
            0 => 40_000,
            1..20 => 12_000,
            _ => random.size(200),
        };
        let padding = "x".repeat(length);
        logger(format_args!("survives {thread} {at} {padding} end"));
        at += 1;
        count.set(at);
        if pause > 0 {
            thread::sleep(Duration::from_micros(random.below(pause)));
        }
    }
    at
}

/// Returns what a thread logs by: `log`, and with their features slog and tracing.
fn logger(pipeline: &Pipeline, thread: usize) -> Box<dyn Fn(fmt::Arguments<'_>) + '_> {
    match thread % 3 {
        1 => {
            let spans = tracing::Dispatch::new(pipeline.subscriber());
            Box::new(move |args| {
                tracing::dispatcher::with_default(&spans, || {
                    let span = tracing::info_span!("work", of = "the span");
                    span.in_scope(|| tracing::info!("{args}"));
                });
            })
        }
        2 => {
            let logger = slog::Logger::root(pipeline.clone(), slog::o!("of" => "the logger"));
            Box::new(move |args| slog::info!(logger, "{args}"; "key" => 1))
        }
        _ => Box::new(|args| one(pipeline, args)),
    }
}

fn one(pipeline: &Pipeline, args: fmt::Arguments<'_>) {
    let mut record = Record::builder();
    record.level(Level::Info).target("app").module_path_static(Some("app::child"));
    pipeline.log(&record.args(args).build());
}

/// Logs from more threads than the file has room for, if no file may be longer than 1 MiB.
fn short_files(scene: &Scene, seed: u64) {
    let limit = Rlimit { current: Some(1024 * 1024), maximum: Some(1024 * 1024) };
    setrlimit(Resource::Fsize, limit).unwrap();
    let guard = builder(scene, 4 * seed).build().unwrap();
    let all = THREADS * 4;
    let barrier = Barrier::new(all + 1);
    thread::scope(|scope| {
        for thread in 0..all {
            let (pipeline, barrier) = (guard.pipeline(), &barrier);
            scope.spawn(move || {
                // Threads without a count log too, but no numbered records.
                if thread < THREADS {
                    log(scene, pipeline, thread, 0, 3, 0);
                } else {
                    one(pipeline, format_args!("alive"));
                }
                barrier.wait();
                barrier.wait();
            });
        }
        barrier.wait();
        guard.pipeline().flush(Duration::from_secs(60)).unwrap();
        say("started");
        let _killed = std::io::stdin().read(&mut [0]);
        barrier.wait();
    });
}

/// Ends as a program does that keeps no guard, right behind its last records.
fn exit(scene: &Scene, seed: u64) {
    let guard = ManuallyDrop::new(builder(scene, seed).build().unwrap());
    let mut random = Random(seed);
    say("started");
    thread::scope(|scope| {
        for thread in 0..=random.size(3) {
            let (pipeline, records) = (guard.pipeline().clone(), random.below(2_000));
            scope.spawn(move || log(scene, &pipeline, thread, 0, records, 0));
        }
    });
    std::process::exit(0);
}

/// Makes children without the C library, which must not write into the file of their parent, and
/// which live on.
fn flood_and_fork(scene: &Scene, seed: u64) {
    let guard = builder(scene, seed).build().unwrap();
    let count = Count::new(scene, 0);
    let mut random = Random(seed);
    say("started");
    for at in 0.. {
        one(guard.pipeline(), format_args!("survives 0 {at} x end"));
        count.set(at + 1);
        if random.below(300) == 0 {
            // SAFETY: the child has a copy of the memory. It logs and ends.
            let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
            if child == 0 {
                for number in 0..100 {
                    one(guard.pipeline(), format_args!("survives 1 {} forked end", 1_000 + number));
                }
                // The child outlives its parent, and must not keep the parent's file.
                thread::sleep(Duration::from_millis(500));
                // SAFETY: ends the process without its handlers.
                unsafe { libc::_exit(0) };
            }
        }
    }
}
