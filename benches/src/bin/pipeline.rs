//! The cost of a log call, and the throughput to a file: the pipeline and other loggers.
//!
//! Each subject logs the same event, with a number, a float and a text, to a real file. `bursts`:
//! 20 calls every millisecond in each of one, two and four threads, each call measured. `flooded`:
//! calls without a pause, each measured. `M/s`: millions of events a second, until the file is
//! complete, from one, two and four threads. Then the bursts and `M/s` of 8 and 64 threads, and the
//! medians of calls with long messages, two every millisecond.
//!
//! ```sh
//! cargo xtask bench pipeline [--quick] [PART...]
//! ```
//!
//! If `TACH_QUILL` names the library of `benches/quill`, quill is among them.

#![expect(clippy::print_stdout, reason = "hands a figure to its parent")]

use core::time::Duration;
use std::time::Instant;
use std::{env, fs, thread};

use bench_tables::{Arguments, Report, Table, column, figures};
use benches::loggers::{self, Opened, Subject, in_a_process, path};

/// How often a thing is measured.
#[derive(Debug, Clone, Copy)]
struct Counts {
    bursts: usize,
    flood: u64,
    throughput: usize,
    of_a_length: usize,
}

const WHOLE: Counts =
    Counts { bursts: 3_000, flood: 300_000, throughput: 1_000_000, of_a_length: 500 };
const QUICK: Counts = Counts { bursts: 300, flood: 30_000, throughput: 100_000, of_a_length: 50 };
/// The bytes of messages.
const LENGTHS: [usize; 4] = [100, 1_000, 8_000, 100_000];

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let Some((subject, what, quick)) = loggers::to_measure(&arguments) {
        println!("{}", measured(subject, what, if quick { QUICK } else { WHOLE }));
        return;
    }
    let names: Vec<_> = loggers::subjects().map(|subject| subject.name).collect();
    let arguments = Arguments::read(&names);
    let in_a_process = |name: &str, what: &str| in_a_process(name, what, arguments.quick);
    let subjects = || loggers::subjects().filter(|subject| arguments.wants(subject.name));
    let mut report = Report::new();
    let columns = [
        column("bursts p50 / p99 / p99.9", "ns", 0),
        column("of 2 threads", "ns", 0),
        column("of 4", "ns", 0),
        column("flooded p50", "ns", 0),
        column("events of 1 / 2 / 4 threads", "M/s", 2),
    ];
    let mut table = Table::new("calls of a logger", columns);
    for Subject { name, .. } in subjects() {
        eprintln!("{name}");
        let [bursts, of_two, of_four, flooded, one, two, four] =
            ["bursts", "bursts-2", "bursts-4", "flooded", "1", "2", "4"]
                .map(|what| figures(&in_a_process(name, what)));
        table.row(name, [bursts, of_two, of_four, flooded, [one, two, four].concat()]);
    }
    report.table(table);
    let mut columns = vec![
        column("bursts of 8 threads", "ns", 0),
        column("of 64", "ns", 0),
        column("events of 8 / 64 threads", "M/s", 2),
    ];
    columns.extend(LENGTHS.map(|bytes| column(&format!("a message of {bytes} B"), "ns", 0)));
    let mut table = Table::new("many threads, and long messages", columns);
    for Subject { name, .. } in subjects() {
        eprintln!("{name}");
        let [few, many, few_rate, many_rate] =
            ["bursts-8", "bursts-64", "8", "64"].map(|what| figures(&in_a_process(name, what)));
        let mut cells = vec![few, many, [few_rate, many_rate].concat()];
        let of_length = |bytes| figures(&in_a_process(name, &format!("message-{bytes}")));
        cells.extend(LENGTHS.map(of_length));
        table.row(name, cells);
    }
    report.table(table);
    report.end();
}

/// Measures one thing. `what` is a number of threads, or the name of a measurement.
fn measured(subject: &Subject, what: &str, counts: Counts) -> String {
    match what {
        "bursts" => bursts(subject, 1, counts.bursts),
        "flooded" => {
            let flood =
                |log: &dyn Fn(u64)| (0..counts.flood).map(|number| timed(|| log(number))).collect();
            let times: Vec<u64> = with(subject, |log| flood(log));
            quantile(&times, 0.5).to_string()
        }
        _ if what.starts_with("bursts-") => {
            bursts(subject, number(&what["bursts-".len()..]), counts.bursts)
        }
        _ if what.starts_with("message-") => {
            let text = "x".repeat(number(&what["message-".len()..]));
            let path = path();
            let Opened { log, message, close } = (subject.open)(&path);
            let pairs = (0..counts.of_a_length).flat_map(|_| {
                thread::sleep(Duration::from_millis(1));
                [timed(|| message(&text)), timed(|| message(&text))]
            });
            let times: Vec<u64> = pairs.collect();
            drop((log, message));
            close();
            loggers::remove(&path);
            quantile(&times, 0.5).to_string()
        }
        threads => format!("{:.2}", throughput(subject, number(threads), counts.throughput)),
    }
}

fn number(text: &str) -> usize {
    text.parse().expect("a number")
}

/// Logs 20 events every millisecond in each thread.
fn bursts(subject: &Subject, threads: usize, bursts: usize) -> String {
    let of_one = |log: &(dyn Fn(u64) + Send + Sync)| {
        // The first record of a thread sets up its buffers.
        log(0);
        let mut times = Vec::with_capacity(bursts * 20);
        for _ in 0..bursts {
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

/// Sets up a logger, logs a little, calls `f`, and closes the logger.
fn with<R>(subject: &Subject, f: impl FnOnce(&(dyn Fn(u64) + Send + Sync)) -> R) -> R {
    let path = path();
    let Opened { log, message, close } = (subject.open)(&path);
    (0..1_000).for_each(&log);
    let result = f(&log);
    drop((log, message));
    close();
    loggers::remove(&path);
    result
}

/// Measures millions of events a second, until the last one is in the file.
fn throughput(subject: &Subject, threads: usize, events: usize) -> f64 {
    let path = path();
    let Opened { log, message, close } = (subject.open)(&path);
    (0..1_000).for_each(&log);
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..(events / threads) as u64).for_each(&log));
        }
    });
    drop((log, message));
    close();
    let took = start.elapsed();
    let read = loggers::files(&path).into_iter().filter_map(|file| fs::read(file).ok());
    let lines: usize = read.map(|it| it.split(|&byte| byte == b'\n').count() - 1).sum();
    if lines > 0 && lines < events {
        eprintln!("{} lost {} lines", subject.name, events - lines);
    }
    loggers::remove(&path);
    #[expect(clippy::cast_precision_loss, reason = "a million is exact")]
    let events = events as f64;
    events / took.as_secs_f64() / 1e6
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
