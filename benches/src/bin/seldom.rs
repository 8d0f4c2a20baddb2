//! Timers that print once a second, as in a process that logs little: the code and the data are out
//! of the caches, and the text of the last second is of no use.
//!
//! ```sh
//! cargo xtask bench seldom [--quick] [PART...]
//! ```
//!
//! Each second has a slot for each timer, and the process sleeps in between.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use bench_tables::{Arguments, Report, Table, column};

const SECOND: Duration = Duration::from_secs(1);
const SECONDS: usize = 120;
const FEW_SECONDS: usize = 10;

fn main() {
    let mut timers = benches::timers();
    let names: Vec<_> = timers.iter().map(|(name, _)| *name).collect();
    let arguments = Arguments::read(&names);
    timers.retain(|(name, _)| arguments.wants(name));
    let seconds = if arguments.quick { FEW_SECONDS } else { SECONDS };
    let slot = SECOND / u32::try_from(timers.len().max(1)).expect("few timers");
    let mut all_times = vec![Vec::with_capacity(seconds); timers.len()];
    let mut text = String::with_capacity(64);
    // The first second sets up what a timer keeps.
    for second in 0..=seconds {
        for ((_, print), taken) in timers.iter().zip(&mut all_times) {
            thread::sleep(slot);
            text.clear();
            // std's clock: tach's may owe a look at the OS clock, which the timer is to pay for.
            let start = Instant::now();
            print(&mut text);
            let took = start.elapsed().as_secs_f64() * 1e9;
            if second > 0 {
                taken.push(took);
            }
        }
    }
    let columns = ["p50", "p90", "p99"].map(|name| column(name, "ns", 0));
    let mut table = Table::new("format_time, once a second", columns);
    for ((name, _), mut taken) in timers.iter().zip(all_times) {
        taken.sort_by(f64::total_cmp);
        table.row(name, [50, 90, 99].map(|percent| vec![taken[taken.len() * percent / 100]]));
    }
    let mut report = Report::new();
    report.table(table);
    report.end();
}
