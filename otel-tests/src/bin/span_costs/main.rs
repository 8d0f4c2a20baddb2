//! The costs of spans on their way to a collector, by several ways.
//!
//! A unit is a root span with three attributes, an event with one, and a child span, each entered
//! and closed. A request has 12 spans: the root, a handler within it, and ten queries within that,
//! each with two attributes, and three events. Each measurement is a process of
//! its own, and so is the server that receives the spans. The table shows the medians of all
//! rounds, and how many spans of the flood arrived: as a share, and a second until the last one was
//! exported.
//!
//! fastrace has a program of its own, since its spans are not tracing's, and its own exporter.
//!
//! ```sh
//! cargo xtask bench spans [--quick] [PART...]
//! ```
//!
//! `cargo xtask bench span-instructions` counts instructions instead, by callgrind.

#![expect(clippy::cast_precision_loss, reason = "the figures are far below 2^53")]

mod instructions;
mod programs;
mod ways;

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, thread};

use bench_tables::{Arguments, Report, Table, column};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use otel_tests::{decode, serve};
use rustix::time::{ClockId, clock_gettime};

use self::instructions::{COUNT, COUNT_ALL, ENCODE};
use self::programs::{Program, program};
use self::ways::{ENDPOINT, WAYS, install};

const WHATS: [&str; 9] = [
    "p50 ns",
    "p99 ns",
    "request p50 ns",
    "request p99 ns",
    "allocations",
    "CPU ns",
    "flooded ns",
    "flooded CPU ns",
    "open B",
];
/// The first argument of a process that measures.
const MEASURE: &str = "measure";
const INSTRUCTIONS: &str = "--instructions";
const UNITS: usize = 20_000;
/// How many units come at once. A sleep after each unit would cost more than the unit.
const BURST: usize = 50;
/// After each burst: some thousand units a second.
const PAUSE: Duration = Duration::from_millis(5);
const FLOOD: usize = 200_000;
const THREADS: usize = 2;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [MEASURE, way, what, endpoint] => {
            let figures = measured(way, what, endpoint);
            println!("{}", figures.map(|figure| format!("{figure:.1}")).join(" "));
        }
        [COUNT, way, what, endpoint] => instructions::count(way, what, endpoint),
        [COUNT_ALL, way, times, endpoint] => instructions::count_all(way, times, endpoint),
        [ENCODE] => instructions::encode(),
        [INSTRUCTIONS, ..] => {
            // Instructions are the same in each round, so nothing is shortened.
            let wanted = Arguments::of(&arguments[1..], &WAYS);
            report(instructions::tables(&wanted));
        }
        _ => report([times(&Arguments::read(&WAYS))]),
    }
}

fn report(tables: impl IntoIterator<Item = Table>) {
    let mut report = Report::new();
    for table in tables {
        report.table(table);
    }
    report.end();
}

/// Returns what each way takes: time, memory, and what is lost.
fn times(arguments: &Arguments) -> Table {
    let rounds: usize = if arguments.quick { 1 } else { 3 };
    let (endpoint, requests) = serve();
    let arrived = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&arrived);
    thread::spawn(move || {
        for (path, body) in requests {
            if path != "/v1/traces" {
                continue;
            }
            let request: ExportTraceServiceRequest = decode(&body);
            let scopes = request.resource_spans.iter().flat_map(|spans| &spans.scope_spans);
            let count: usize = scopes.map(|scope| scope.spans.len()).sum();
            counted.fetch_add(count as u64, Ordering::Relaxed);
        }
    });
    let of_what = |what: &&str| match what.rsplit_once(' ') {
        Some((name, unit)) => column(name, unit, 0),
        None => column(what, "", 0),
    };
    let mut columns: Vec<_> = WHATS.iter().map(of_what).collect();
    columns.push(column("arrived, flooded", "%", 0));
    columns.push(column("exported, flooded", "spans/s", 0));
    let mut table = Table::new("spans on their way to a collector", columns);
    for way in WAYS.iter().filter(|way| arguments.wants(way)) {
        eprintln!("{way}");
        let mut of_flood = Vec::new();
        let medians = WHATS.map(|what| {
            let before = arrived.load(Ordering::Relaxed);
            let all: Vec<_> = (0..rounds).map(|_| in_a_process(way, what, &endpoint)).collect();
            if what == "flooded ns" {
                wait_for_the_last(&arrived);
                let sent = (2 * FLOOD * THREADS * rounds) as f64;
                let arrived = (arrived.load(Ordering::Relaxed) - before) as f64;
                let seconds = all.iter().map(|[_, exported]| exported / 1e9).sum::<f64>();
                of_flood = vec![vec![100.0 * arrived / sent], vec![arrived / seconds]];
            }
            let mut all: Vec<_> = all.into_iter().map(|[figure, _]| figure).collect();
            all.sort_by(f64::total_cmp);
            vec![all[all.len() / 2]]
        });
        let mut cells = medians.to_vec();
        cells.append(&mut of_flood);
        table.row(way, cells);
    }
    table
}

/// Waits until nothing has arrived for a second: the server counts more slowly than it accepts.
fn wait_for_the_last(arrived: &AtomicU64) {
    loop {
        let before = arrived.load(Ordering::Relaxed);
        thread::sleep(Duration::from_secs(1));
        if arrived.load(Ordering::Relaxed) == before {
            return;
        }
    }
}

/// Returns what [`measured`] returns in another process.
fn in_a_process(way: &str, what: &str, endpoint: &str) -> [f64; 2] {
    let mut command = Command::new(env::current_exe().expect("this program has a path"));
    command.args([MEASURE, way, what, endpoint]).env(ENDPOINT, endpoint);
    let output = command.stderr(Stdio::null()).output();
    let output = output.expect("this program runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<_> = printed.split_whitespace().map(str::parse).collect();
    let [Ok(figure), Ok(exported)] = figures[..] else { panic!("two figures in {printed:?}") };
    [figure, exported]
}

/// Returns a figure, and the time in ns until all spans of a flood were exported.
fn measured(way: &str, what: &str, endpoint: &str) -> [f64; 2] {
    let end = install(way, endpoint);
    let Program { unit, request, open, .. } = program(way);
    (0..1_000).for_each(unit);
    thread::sleep(Duration::from_millis(100));
    let result = match what {
        "p50 ns" => quantile(unit, 500),
        "p99 ns" => quantile(unit, 990),
        "request p50 ns" => quantile(request, 500),
        "request p99 ns" => quantile(request, 990),
        "allocations" => {
            let counted = allocation_counter::measure(|| (0..UNITS).for_each(unit));
            counted.count_total as f64 / UNITS as f64
        }
        "CPU ns" => {
            let before = cpu_ns();
            in_bursts(UNITS, unit);
            end();
            return [(cpu_ns() - before) / UNITS as f64, 0.0];
        }
        "open B" => open(),
        _ => {
            let (start, before) = (Instant::now(), cpu_ns());
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(move || (0..FLOOD).for_each(unit));
                }
            });
            let callers = start.elapsed().as_nanos() as f64;
            end();
            let exported = start.elapsed().as_nanos() as f64;
            let all = if what == "flooded ns" { callers } else { cpu_ns() - before };
            return [all / (FLOOD * THREADS) as f64, exported];
        }
    };
    end();
    [result, 0.0]
}

/// Runs a program so many times, some thousand times a second.
fn in_bursts(times: usize, mut program: impl FnMut(usize)) {
    for number in 0..times {
        if number % BURST == 0 {
            thread::sleep(PAUSE);
        }
        program(number);
    }
}

fn quantile(program: fn(usize), per_mille: usize) -> f64 {
    let mut all = Vec::with_capacity(UNITS);
    in_bursts(UNITS, |number| {
        let start = tach_core::Instant::now();
        program(number);
        all.push(start.elapsed().as_nanos());
    });
    all.sort_unstable();
    all[all.len() * per_mille / 1_000] as f64
}

/// Returns the CPU time of all threads, also of those that have ended.
fn cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
