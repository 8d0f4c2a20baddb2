//! The cost of an instant of some age: `cargo xtask bench ages [--quick]`, which takes eleven
//! minutes, or a minute.
//!
//! Two processes run at the same time. One converts an instant every millisecond, so its timeline
//! has a record for every four seconds. The other sleeps, so its timeline has few records.
#![expect(clippy::print_stdout, reason = "hands its figures to its parent")]

use core::hint::black_box;
use core::time::Duration;
use std::env;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant as StdInstant;

use bench_tables::{Arguments, Report, Table, column};
use tach_core::{Instant, MonotonicInstant, UnixTime};

/// The argument that makes this program measure, followed by `converts` or `sleeps` and the ages in
/// seconds.
const MEASURE: &str = "measure";
const CONVERTS: &str = "converts";
const PROCESSES: [(&str, &str); 2] = [("converts every ms", CONVERTS), ("sleeps", "sleeps")];
const AGES_S: [u64; 5] = [1, 2, 30, 60, 600];
const ROUNDS: u32 = 400;
const CALLS: u32 = 1_000;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let [MEASURE, way, ages @ ..] = &words[..] {
        let ages: Vec<u64> = ages.iter().map(|age| age.parse().expect("a number")).collect();
        measure_ages(*way == CONVERTS, &ages);
        return;
    }
    let most_s = if Arguments::read(&[]).quick { 60 } else { 600 };
    let ages_s: Vec<String> =
        AGES_S.iter().filter(|&&age| age <= most_s).map(u64::to_string).collect();
    let program = env::current_exe().expect("this program has a path");
    let children = PROCESSES.map(|(name, way)| {
        let mut command = Command::new(&program);
        command.args([MEASURE, way]).args(&ages_s).stdout(Stdio::piped());
        (name, command.spawn().expect("it starts again"))
    });
    let mut report = Report::new();
    for (name, child) in children {
        let output = child.wait_with_output().expect("a child can be waited for");
        let text = String::from_utf8_lossy(&output.stdout);
        let columns = ["elapsed()", "monotonic elapsed()", "unix_time()", "std elapsed()"]
            .map(|name| column(name, "ns", 1))
            .into_iter()
            .chain([column("elapsed() of std's", "", 2)]);
        let mut table = Table::new(&format!("a process that {name}"), columns.collect::<Vec<_>>());
        for (age, line) in ages_s.iter().zip(text.lines()) {
            let ns: Vec<f64> = line.split(' ').map(|ns| ns.parse().expect("a number")).collect();
            let ratio = ns[0] / ns[3];
            let cells = ns.into_iter().chain([ratio]).map(|figure| vec![figure]);
            table.row(&format!("tach, {age} s ago"), cells.collect::<Vec<_>>());
        }
        report.table(table);
    }
    report.end();
}

/// Prints a line for each age, once it is reached.
fn measure_ages(converts: bool, ages_s: &[u64]) {
    let (bare, monotonic, std) = (Instant::now(), MonotonicInstant::now(), StdInstant::now());
    for &age_s in ages_s {
        let age = Duration::from_secs(age_s);
        while converts && std.elapsed() < age {
            thread::sleep(Duration::from_millis(1));
            black_box((Instant::now().elapsed(), UnixTime::now()));
        }
        thread::sleep(age.saturating_sub(std.elapsed()));
        let calls: [&dyn Fn(); 4] = [
            &|| _ = black_box(black_box(bare).elapsed()),
            &|| _ = black_box(black_box(monotonic).elapsed()),
            &|| _ = black_box(black_box(bare).unix_time()),
            &|| _ = black_box(black_box(std).elapsed()),
        ];
        let ns = least_ns(calls).map(|ns| ns.to_string());
        println!("{}", ns.join(" "));
    }
}

/// Returns the best of all rounds, the calls in turn.
fn least_ns(calls: [&dyn Fn(); 4]) -> [f64; 4] {
    let mut least = [Duration::MAX; 4];
    for _ in 0..ROUNDS {
        for (least, call) in least.iter_mut().zip(calls) {
            let start = StdInstant::now();
            for _ in 0..CALLS {
                call();
            }
            *least = start.elapsed().min(*least);
        }
    }
    least.map(|least| least.as_secs_f64() * 1e9 / f64::from(CALLS))
}
