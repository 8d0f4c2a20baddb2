//! The cost of a log call, and the throughput to a file: the pipeline and other loggers.
//!
//! Each subject logs the same event, with a number, a float and a text, to a real file. `bursts`:
//! 20 calls every millisecond in each of one, two and four threads, each call measured. `flooded`:
//! calls without a pause, each measured. `M/s`: millions of events a second, until the file is
//! complete, from one, two and four threads.
//!
//! ```sh
//! cargo run --release -p benches --bin pipeline -- [PART OF A NAME]
//! ```

#![expect(clippy::print_stdout, reason = "prints a table")]

use core::time::Duration;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, process, thread};

use slog::{Drain as _, Logger, o};
use tach_log::{Format, Json, Line, Logfmt};
use tach_pipeline::{Guard, Pipeline, Sink};
use tracing::Dispatch;
use tracing_subscriber::layer::SubscriberExt as _;

const BURSTS: usize = 3_000;
const FLOOD: u64 = 300_000;
const THROUGHPUT: usize = 1_000_000;

struct Subject {
    name: &'static str,
    open: fn(&Path) -> Opened,
}

struct Opened {
    log: Box<dyn Fn(u64) + Send + Sync>,
    /// Writes everything, and ends the logger.
    close: Box<dyn FnOnce()>,
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [subject, what] = &arguments[..] {
        let Some(subject) = SUBJECTS.iter().find(|known| known.name == subject) else {
            let names: Vec<_> = SUBJECTS.iter().map(|known| known.name).collect();
            eprintln!("\"{subject}\" is not a subject; these are: {}", names.join("; "));
            process::exit(2);
        };
        println!("{}", measured(subject, what));
        return;
    }
    let wanted = arguments.first().map_or("", String::as_str);
    println!(
        "| | bursts p50 / p99 / p99.9 ns | of 2 threads | of 4 | flooded p50 ns | M/s 1 / 2 / 4 threads |"
    );
    println!("|---|---|---|---|---|---|");
    for Subject { name, .. } in SUBJECTS.iter().filter(|subject| subject.name.contains(wanted)) {
        let [bursts, of_two, of_four, flooded, one, two, four] =
            ["bursts", "bursts-2", "bursts-4", "flooded", "1", "2", "4"]
                .map(|what| in_a_process(name, what));
        println!(
            "| {name} | {bursts} | {of_two} | {of_four} | {flooded} | {one} / {two} / {four} |"
        );
    }
    #[cfg(target_os = "linux")]
    print_idle();
}

/// Measures one thing in a process of its own, since a process has one global subscriber of
/// `tracing`.
fn in_a_process(name: &str, what: &str) -> String {
    let this = env::current_exe().expect("this program");
    let child = Command::new(this).args([name, what]).stderr(Stdio::inherit()).output();
    let child = child.expect("it starts again");
    assert!(child.status.success(), "{name}, {what}: {}", child.status);
    String::from_utf8_lossy(&child.stdout).trim().to_owned()
}

/// Measures one thing. `what` is a number of threads, or the name of a measurement.
fn measured(subject: &Subject, what: &str) -> String {
    match what {
        "bursts" => bursts(subject, 1),
        "bursts-2" => bursts(subject, 2),
        "bursts-4" => bursts(subject, 4),
        "flooded" => {
            let flood =
                |log: &dyn Fn(u64)| (0..FLOOD).map(|number| timed(|| log(number))).collect();
            let times: Vec<u64> = with(subject, |log| flood(log));
            quantile(&times, 0.5).to_string()
        }
        threads => format!("{:.2}", throughput(subject, threads.parse().expect("a number"))),
    }
}

/// Logs 20 events every millisecond in each thread.
fn bursts(subject: &Subject, threads: usize) -> String {
    let of_one = |log: &(dyn Fn(u64) + Send + Sync)| {
        // The first record of a thread sets up its buffers.
        log(0);
        let mut times = Vec::with_capacity(BURSTS * 20);
        for _ in 0..BURSTS {
            thread::sleep(Duration::from_millis(1));
            (0..20).for_each(|number| times.push(timed(|| log(number))));
        }
        times
    };
    let times: Vec<u64> = with(subject, |log| {
        thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(|| of_one(log))).collect();
            all.into_iter().flat_map(|one| one.join().expect("it logs")).collect()
        })
    });
    [0.5, 0.99, 0.999].map(|part| quantile(&times, part).to_string()).join(" / ")
}

/// Prints the CPU time of a pipeline without records, and with a few.
#[cfg(target_os = "linux")]
fn print_idle() {
    const WHILE: Duration = Duration::from_secs(10);
    let path = path();
    let Opened { log, close } = tach_slog(&path);
    log(0);
    // Its thread parks after a second.
    thread::sleep(Duration::from_secs(2));
    let percent = |work: &dyn Fn()| {
        let before = cpu_time();
        work();
        cpu_time().saturating_sub(before).as_secs_f64() / WHILE.as_secs_f64() * 100.0
    };
    let idle = percent(&|| thread::sleep(WHILE));
    let seldom = percent(&|| {
        for number in 0..100 {
            log(number);
            thread::sleep(WHILE / 100);
        }
    });
    drop(log);
    close();
    fs::remove_file(path).ok();
    println!("\ntach, idle: {idle:.3} % of a core; ten records a second: {seldom:.2} %");
}

#[cfg(target_os = "linux")]
fn cpu_time() -> Duration {
    let threads = fs::read_dir("/proc/self/task").expect("Linux has it");
    let ns = threads.flatten().filter_map(|thread| {
        let told = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        told.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(ns.sum())
}

static SUBJECTS: &[Subject] = &[
    Subject { name: "tach slog, JSON", open: tach_slog },
    Subject { name: "tach tracing, JSON", open: tach_tracing },
    Subject { name: "tach log, JSON", open: |path| tach_log(path, Json::new()) },
    Subject { name: "tach log, text", open: |path| tach_log(path, Line::new()) },
    Subject { name: "tach log, logfmt", open: |path| tach_log(path, Logfmt::new()) },
    Subject { name: "nothing, slog", open: |_| slog_to(slog::Discard, || {}) },
    Subject { name: "slog-json behind slog-async", open: slog_async },
    Subject { name: "spdlog-rs, asynchronous, text", open: spdlog },
    Subject { name: "tracing JSON through tracing-appender", open: tracing_appender },
];

fn pipeline(path: &Path, format: impl Format + Send + 'static) -> Guard {
    Pipeline::builder().sink(Sink::file(path).format(format)).build().expect("a file")
}

fn tach_slog(path: &Path) -> Opened {
    let guard = pipeline(path, Json::new());
    slog_to(guard.clone(), || drop(guard))
}

fn slog_to<D>(drain: D, close: impl FnOnce() + 'static) -> Opened
where
    D: slog::SendSyncUnwindSafeDrain<Ok = (), Err = slog::Never>
        + slog::SendSyncRefUnwindSafeDrain<Ok = (), Err = slog::Never>
        + 'static,
{
    let logger = Logger::root(drain, o!());
    Opened {
        log: Box::new(move |number| {
            slog::info!(logger, "request done"; "number" => number, "took" => 0.25, "path" => "/index.html");
        }),
        close: Box::new(close),
    }
}

fn tach_log(path: &Path, format: impl Format + Send + 'static) -> Opened {
    let guard = pipeline(path, format);
    let pipeline = guard.clone();
    log::set_max_level(pipeline.max_level());
    Opened {
        log: Box::new(move |number| {
            log::info!(logger: pipeline, number, took = 0.25, path = "/index.html"; "request done");
        }),
        close: Box::new(|| drop(guard)),
    }
}

fn tach_tracing(path: &Path) -> Opened {
    let guard = pipeline(path, Json::new());
    tracing_to(tracing_subscriber::registry().with(guard.clone()).into(), || drop(guard))
}

fn tracing_to(dispatch: Dispatch, close: impl FnOnce() + 'static) -> Opened {
    tracing::dispatcher::set_global_default(dispatch).expect("the process has no other");
    Opened {
        log: Box::new(|number| {
            tracing::info!(number, took = 0.25, path = "/index.html", "request done");
        }),
        close: Box::new(close),
    }
}

fn tracing_appender(path: &Path) -> Opened {
    let file = File::create(path).expect("a file");
    let (writer, guard) =
        tracing_appender::non_blocking::NonBlockingBuilder::default().lossy(false).finish(file);
    let subscriber = tracing_subscriber::fmt().json().with_writer(writer).finish();
    tracing_to(subscriber.into(), || drop(guard))
}

fn slog_async(path: &Path) -> Opened {
    let drain =
        slog_json::Json::default(std::io::BufWriter::new(File::create(path).expect("a file")));
    let (drain, guard) = slog_async::Async::new(drain.fuse())
        .overflow_strategy(slog_async::OverflowStrategy::Block)
        .chan_size(8192)
        .build_with_guard();
    slog_to(drain.fuse(), || drop(guard))
}

fn spdlog(path: &Path) -> Opened {
    use std::sync::Arc;

    use spdlog::sink::{AsyncPoolSink, FileSink};
    use spdlog::{ThreadPool, info};

    let file = FileSink::builder().path(path).build_arc().expect("a file");
    let pool = Arc::new(ThreadPool::builder().build().expect("a thread"));
    let sink = AsyncPoolSink::builder().sink(file).thread_pool(pool).build_arc().expect("a sink");
    let logger = Arc::new(spdlog::Logger::builder().sink(sink).build().expect("a logger"));
    let kept = Arc::clone(&logger);
    Opened {
        log: Box::new(move |number| {
            info!(logger: logger, "request done", kv: { number, took = 0.25, path = "/index.html" });
        }),
        close: Box::new(move || {
            kept.flush();
            drop(kept);
        }),
    }
}

/// Sets up a logger, logs a little, calls `f`, and closes the logger.
fn with<R>(subject: &Subject, f: impl FnOnce(&(dyn Fn(u64) + Send + Sync)) -> R) -> R {
    let path = path();
    let Opened { log, close } = (subject.open)(&path);
    (0..1_000).for_each(&log);
    let result = f(&log);
    drop(log);
    close();
    fs::remove_file(path).ok();
    result
}

/// Measures millions of events a second, until the last one is in the file.
fn throughput(subject: &Subject, threads: usize) -> f64 {
    let path = path();
    let Opened { log, close } = (subject.open)(&path);
    (0..1_000).for_each(&log);
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..(THROUGHPUT / threads) as u64).for_each(&log));
        }
    });
    drop(log);
    close();
    let took = start.elapsed();
    let lines = fs::read(&path).map_or(0, |bytes| bytes.split(|&byte| byte == b'\n').count() - 1);
    if lines > 0 && lines < THROUGHPUT {
        eprintln!("{} lost {} lines", subject.name, THROUGHPUT - lines);
    }
    fs::remove_file(path).ok();
    #[expect(clippy::cast_precision_loss, reason = "a million is exact")]
    let events = THROUGHPUT as f64;
    events / took.as_secs_f64() / 1e6
}

fn path() -> PathBuf {
    env::temp_dir().join(format!("tach-benches-pipeline-{}.log", process::id()))
}

fn timed(f: impl FnOnce()) -> u64 {
    let start = tach_core::OrderedInstant::now();
    f();
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn quantile(times: &[u64], quantile: f64) -> u64 {
    let mut times = times.to_vec();
    times.sort_unstable();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "the last digits of the index do not matter"
    )]
    let at = (times.len() as f64 * quantile) as usize;
    times[at.min(times.len() - 1)]
}
