//! Tables of ratios: `cargo xtask bench clocks [--quick] [PART...]`. With a part: the groups whose
//! names contain it, also with several threads at once.
//!
//! All clocks of a group run in turn, round after round, so that a change of the machine's speed
//! affects all of them. The best round of each counts.
#![expect(clippy::print_stdout, reason = "says how it measures")]

use core::num::NonZero;
use core::time::Duration;
use std::env;
use std::process::Command;
use std::sync::Barrier;
use std::thread;
use std::time::Instant as StdInstant;

use bench_tables::{Arguments, Report, Table, column};
use benches::{Group, Subject, enforced, groups, thread_time};

/// The argument that makes this program print only the group with enforced order.
const ENFORCED: &str = "enforced";

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let counts = |quick: bool| if quick { (30, 20_000) } else { (200, 50_000) };
    if let Some((ENFORCED, options)) = arguments.split_first().map(|(word, rest)| (&**word, rest)) {
        let (rounds, iterations) = counts(!options.is_empty());
        let table = of_group(&enforced(), rounds, iterations);
        println!("{}", serde_json::to_string(&table).expect("a table is JSON"));
        return;
    }
    let names: Vec<_> = groups().iter().map(|group| group.name).collect();
    let arguments = Arguments::read(&names);
    let (rounds, iterations) = counts(arguments.quick);
    println!("best of {rounds} rounds of {iterations} calls, all clocks in turn\n");
    let mut report = Report::new();
    if arguments.wants_all() {
        for group in groups() {
            report.table(of_group(&group, rounds, iterations));
        }
        report.table(of_enforced(arguments.quick));
        report.table(of_threads(&groups()[0], rounds, iterations));
    } else {
        for group in groups().iter().filter(|group| arguments.wants(group.name)) {
            report.table(of_group(group, rounds, iterations));
            report.table(of_threads(group, rounds, iterations));
        }
    }
    report.end();
}

fn best_of(subjects: &[Subject], rounds: u32, iterations: u64) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; subjects.len()];
    for _ in 0..rounds {
        for (best, subject) in best.iter_mut().zip(subjects) {
            *best = best.min(per_call(subject.time(iterations), iterations));
        }
    }
    best
}

fn of_group(group: &Group, rounds: u32, iterations: u64) -> Table {
    let best = best_of(&group.subjects, rounds, iterations);
    let mut table = Table::new(group.name, [column("a call", "ns", 2), column("ratio", "", 2)]);
    for (subject, ns) in group.subjects.iter().zip(&best) {
        table.row(subject.name, [vec![*ns], vec![ns / best[0]]]);
    }
    table
}

/// Returns the group with enforced order from another process: order is enforced for a whole
/// process.
fn of_enforced(quick: bool) -> Table {
    let program = env::current_exe().expect("this program has a path");
    let mut child = Command::new(program);
    let child = child.arg(ENFORCED).args(quick.then_some("--quick")).env("TACH_ORDER", "enforced");
    let output = child.output().expect("this program starts again");
    serde_json::from_slice(&output.stdout).expect("a table")
}

/// Returns the CPU time of a call on one, two and eight threads at once: the median of the rounds
/// that nothing disturbed. The ratios are to the first clock on as many threads, and all clocks run
/// in turn here too.
fn of_threads(group: &Group, rounds: u32, iterations: u64) -> Table {
    const THREADS: [usize; 3] = [1, 2, 8];
    let mut all = vec![[const { Vec::new() }; 3]; group.subjects.len()];
    for _ in 0..rounds / 2 {
        for (all, subject) in all.iter_mut().zip(&group.subjects) {
            for (all, threads) in all.iter_mut().zip(THREADS) {
                all.extend(on_threads(threads, *subject, iterations));
            }
        }
    }
    let medians: Vec<_> = all.into_iter().map(|all| all.map(median)).collect();
    let name = format!("{}, CPU time", group.name);
    let columns = THREADS.map(|threads| {
        let threads = if threads == 1 { "1 thread".into() } else { format!("{threads} threads") };
        [column(&threads, "ns", 2), column(&format!("ratio of {threads}"), "", 2)]
    });
    let mut table = Table::new(&name, columns.concat());
    for (subject, ns) in group.subjects.iter().zip(&medians) {
        let cells = ns.iter().zip(&medians[0]).map(|(ns, first)| [vec![*ns], vec![ns / first]]);
        table.row(subject.name, cells.collect::<Vec<_>>().concat());
    }
    table
}

/// Returns the median, or NaN if there are no values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns the ns of CPU time that a call takes on `threads` threads, or `None` if they did not
/// have all cores to themselves.
fn on_threads(threads: usize, subject: Subject, iterations: u64) -> Option<f64> {
    let barrier = Barrier::new(threads);
    let run = || {
        barrier.wait();
        (subject.run)(iterations / 10);
        let (start, before) = (StdInstant::now(), thread_time());
        (subject.run)(iterations);
        (start, thread_time().saturating_sub(before), StdInstant::now())
    };
    let spans: Vec<_> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mine = run();
        let join = |other: thread::ScopedJoinHandle<'_, _>| other.join().expect("a loop");
        others.into_iter().map(join).chain([mine]).collect()
    });
    let first = spans.iter().map(|span| span.0).min().expect("a thread");
    let last = spans.iter().map(|span| span.2).max().expect("a thread");
    let cores = thread::available_parallelism().map_or(1, NonZero::get).min(threads);
    let used: Duration = spans.iter().map(|span| span.1).sum();
    let had = (last - first) * u32::try_from(cores).expect("few cores");
    let calls = iterations * u64::try_from(threads).expect("few threads");
    (had < used + used / 8).then(|| per_call(used, calls))
}

#[expect(clippy::cast_precision_loss, reason = "a ratio needs no more")]
fn per_call(time: Duration, iterations: u64) -> f64 {
    time.as_nanos() as f64 / iterations as f64
}
