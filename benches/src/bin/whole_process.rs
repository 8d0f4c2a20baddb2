//! The cost of a logger for the whole process: CPU time at a given rate, memory by thread, and how
//! long a line takes to the file.
//!
//! Each measurement is a process of its own. As many loggers as the machine can carry are measured
//! at the same time, so that they meet the same moods of the host. The table shows the medians of
//! all rounds. All threads count towards the CPU time, also the one that logs.
//!
//! ```sh
//! cargo xtask bench whole-process [--quick] [PART...]
//! ```

#![expect(clippy::print_stdout, reason = "hands a figure to its parent")]

use core::time::Duration;
use std::path::Path;
use std::sync::Barrier;
use std::time::Instant;
use std::{env, fs, thread};

use bench_tables::{Arguments, Column, Report, Table, column};
use benches::loggers::{self, Opened, Subject, in_a_process, path};

/// The numbers of records that one thread logs a second.
const RATES: [&str; 5] = ["10", "100", "1000", "10000", "100000"];
const OTHERS: [&str; 6] =
    ["idle", "after threads", "of a thread", "of a busy thread", "ended", "latency"];
/// Parts of the loggers' names.
const COMPARED: [&str; 12] = [
    "nothing, slog",
    "tach log, JSON",
    "tach tracing, JSON",
    "spdlog-rs, asynchronous, text",
    "tracing JSON through tracing-appender",
    "slog-json behind slog-async",
    "fast_log",
    "ftlog",
    "log4rs",
    "logforth",
    "emit",
    "quill",
];
/// How long the CPU time of a rate is measured.
const WHILE: Duration = Duration::from_secs(3);
const ROUNDS: u32 = 3;
const THREADS: u32 = 1_000;
const MANY_THREADS: u32 = 4_000;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let whats: Vec<_> = RATES.iter().chain(&OTHERS).collect();
    if let Some((subject, what, _)) = loggers::to_measure(&arguments) {
        println!("{:.3}", measured(subject, what));
        return;
    }
    let names: Vec<_> = loggers::subjects().map(|subject| subject.name).collect();
    let all = COMPARED.iter().filter_map(|part| names.iter().find(|name| name.contains(part)));
    let mut compared: Vec<&str> = all.copied().collect();
    let arguments = Arguments::read(&compared);
    compared.retain(|name| arguments.wants(name));
    let rounds = if arguments.quick { 1 } else { ROUNDS };
    let mut results = vec![vec![Vec::new(); whats.len()]; compared.len()];
    for _ in 0..rounds {
        for (at, what) in whats.iter().enumerate() {
            for (names, results) in
                compared.chunks(at_once(what)).zip(results.chunks_mut(at_once(what)))
            {
                let of_all: Vec<_> = thread::scope(|scope| {
                    let start = |&name| scope.spawn(move || in_a_process(name, what, false));
                    let all: Vec<_> = names.iter().map(start).collect();
                    all.into_iter().map(|one| one.join().expect("a result")).collect()
                });
                for (result, results) in of_all.iter().zip(results) {
                    results[at].push(result.parse::<f64>().expect("a number"));
                }
            }
        }
    }
    let medians = results.into_iter().map(|results| {
        results.into_iter().map(|mut of_rounds| {
            of_rounds.sort_by(f64::total_cmp);
            vec![of_rounds[of_rounds.len() / 2]]
        })
    });
    let medians: Vec<Vec<_>> = medians.map(Iterator::collect).collect();
    let is_of_time =
        |what: &str| what == "idle" || what == "after threads" || RATES.contains(&what);
    let mut report = Report::new();
    for (title, wanted) in
        [("CPU time of a process", true), ("memory, and the time to the file", false)]
    {
        let chosen: Vec<_> =
            (0..whats.len()).filter(|&at| is_of_time(whats[at]) == wanted).collect();
        let columns: Vec<_> = chosen.iter().map(|&at| named_column(whats[at])).collect();
        let mut table = Table::new(title, columns);
        for (name, medians) in compared.iter().zip(&medians) {
            table.row(name, chosen.iter().map(|&at| medians[at].clone()).collect::<Vec<_>>());
        }
        report.table(table);
    }
    report.end();
}

/// Returns how many loggers are measured at the same time.
fn at_once(what: &str) -> usize {
    match what {
        // At 100,000 a second a slow logger takes a core. Beside others, a pipeline would still
        // write while the memory of its busy threads is read.
        "100000" | "of a busy thread" => 1,
        // Linux allows 32,768 threads by default.
        "ended" => 4,
        _ => COMPARED.len(),
    }
}

/// Returns the column of one measurement.
fn named_column(what: &str) -> Column {
    match what {
        "idle" => column("idle", "%", 3),
        "after threads" => column("10/s after 1,000 threads ended", "%", 2),
        "of a thread" => column("a thread that logged once", "KiB", 1),
        "of a busy thread" => column("that logged 1,000 records", "KiB", 1),
        "ended" => column("after 4,000 threads ended", "KiB", 0),
        "latency" => column("p99 to the file", "ms", 1),
        rate => column(&format!("{rate}/s"), "%", 2),
    }
}

/// Measures one thing: percent of a core, KiB, or milliseconds.
fn measured(subject: &Subject, what: &str) -> f64 {
    let path = path();
    let Opened { log, message, close } = (subject.open)(&path);
    let result = match what {
        "idle" => {
            log(0);
            thread::sleep(Duration::from_secs(3));
            percent(|| thread::sleep(WHILE))
        }
        "after threads" => {
            threads(THREADS, 1, &*log, || {});
            thread::sleep(Duration::from_secs(3));
            percent(|| log_at(10, &*log))
        }
        "of a thread" => of_a_thread(1, &*log),
        "of a busy thread" => of_a_thread(1_000, &*log),
        "ended" => {
            threads(1, 1, &*log, || {});
            let before = resident_kib();
            threads(MANY_THREADS, 1, &*log, || {});
            thread::sleep(Duration::from_secs(4));
            resident_kib() - before
        }
        "latency" => latency(&*log, &path),
        rate => {
            // The first records set up buffers.
            log(0);
            thread::sleep(Duration::from_millis(500));
            percent(|| log_at(rate.parse().expect("a rate"), &*log))
        }
    };
    drop((log, message));
    close();
    loggers::remove(&path);
    result
}

/// Logs `rate` records a second, in batches if there are more than a thousand.
fn log_at(rate: u32, log: &(dyn Fn(u64) + Send + Sync)) {
    let each = (rate / 1_000).max(1);
    let period = Duration::from_secs(1) / (rate / each);
    let start = Instant::now();
    let mut next = start;
    while start.elapsed() < WHILE {
        (0..each).for_each(|number| log(u64::from(number)));
        next += period;
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

/// Runs threads that each log some records and then wait for all others. Calls `f` before they end.
fn threads(count: u32, records: u64, log: &(dyn Fn(u64) + Send + Sync), f: impl FnOnce()) {
    let all = Barrier::new(count as usize + 1);
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                (0..records).for_each(log);
                all.wait();
                all.wait();
            });
        }
        all.wait();
        f();
        all.wait();
    });
}

/// Returns the memory of a thread that has logged, its stack included.
fn of_a_thread(records: u64, log: &(dyn Fn(u64) + Send + Sync)) -> f64 {
    log(0);
    let before = resident_kib();
    let mut after = before;
    threads(THREADS, records, log, || {
        thread::sleep(Duration::from_secs(4));
        after = resident_kib();
    });
    (after - before) / f64::from(THREADS)
}

/// Returns the time from a call to its record in the file, in milliseconds: the 99th percentile of
/// records that come seldom. Returns infinity if a record is not there after a second.
fn latency(log: &(dyn Fn(u64) + Send + Sync), path: &Path) -> f64 {
    const LONGEST: Duration = Duration::from_secs(1);
    log(0);
    // A logger that names its file itself creates it by the first record.
    thread::sleep(LONGEST);
    let file = loggers::files(path).pop();
    let length = || file.as_ref().and_then(|it| fs::metadata(it).ok()).map_or(0, |file| file.len());
    let mut times = Vec::new();
    for number in 0..200_u64 {
        thread::sleep(Duration::from_micros(5_000 + 173 * (number % 50)));
        let before = length();
        let start = Instant::now();
        log(number);
        while length() == before {
            if start.elapsed() > LONGEST {
                return f64::INFINITY;
            }
            thread::sleep(Duration::from_micros(50));
        }
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    times[times.len() * 99 / 100]
}

/// Returns the CPU time of the process during `f`, in percent of a core.
fn percent(f: impl FnOnce()) -> f64 {
    let start = Instant::now();
    let before = cpu_time();
    f();
    cpu_time().saturating_sub(before).as_secs_f64() / start.elapsed().as_secs_f64() * 100.0
}

fn cpu_time() -> Duration {
    let threads = fs::read_dir("/proc/self/task").expect("Linux has it");
    let ns = threads.flatten().filter_map(|thread| {
        let read = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        read.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(ns.sum())
}

fn resident_kib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kib.expect("a number of KiB")
}
