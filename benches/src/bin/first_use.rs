//! The first use of tach in a fresh process: `cargo xtask bench first-use [--quick]`.
//!
//! This program links no other clock, since some calibrate for tens of milliseconds before `main`.
#![expect(clippy::print_stdout, reason = "hands its figure to its parent")]

use std::env;
use std::process::Command;
use std::time::Instant as StdInstant;

use bench_tables::{Arguments, Report, Table, column};
use tach_core::{Instant, unix_nanos};

/// The argument that makes this program measure.
const MEASURE: &str = "measure";
const PROCESSES: usize = 400;
const FEW_PROCESSES: usize = 40;

fn main() {
    if env::args().any(|argument| argument == MEASURE) {
        println!("{}", first_use_ns());
        return;
    }
    let processes = if Arguments::read(&[]).quick { FEW_PROCESSES } else { PROCESSES };
    let program = env::current_exe().expect("this program has a path");
    let mut all_us: Vec<f64> = (0..processes)
        .map(|_| {
            let output = Command::new(&program).arg(MEASURE).output().expect("it starts again");
            let ns: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
            ns / 1000.0
        })
        .collect();
    all_us.sort_by(f64::total_cmp);
    let [p50, p90, p99] = [50, 90, 99].map(|percent| all_us[processes * percent / 100]);
    let columns = ["p50", "p90", "p99"].map(|name| column(name, "µs", 1));
    let mut table = Table::new(&format!("the first use in each of {processes} processes"), columns);
    table.row("tach Instant::now(), unix_nanos() and elapsed()", [vec![p50], vec![p90], vec![p99]]);
    let mut report = Report::new();
    report.table(table);
    report.end();
}

fn first_use_ns() -> u128 {
    // The first read of the OS clock maps its page.
    let _ = StdInstant::now();
    let start = StdInstant::now();
    let instant = Instant::now();
    let converted = (unix_nanos(), instant.elapsed());
    let spent = start.elapsed();
    core::hint::black_box(converted);
    spent.as_nanos()
}
