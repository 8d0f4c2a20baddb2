//! The order of reads across threads: `cargo xtask bench order [--quick]`.
//!
//! Each of two threads loads the other's last published reading, reads the clock, compares and
//! publishes. The bare counter is the control: if it shows no inversion, the zeros of the other
//! clocks prove nothing.
#![expect(clippy::cast_precision_loss, reason = "counts and times that an f64 holds")]

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Barrier;
use std::thread;
use std::time::Instant as StdInstant;

use bench_tables::{Arguments, Report, Table, column};
use tach_core::{Instant, MonotonicInstant, OrderedInstant};

const THREADS: usize = 2;
/// The reads between two looks at the time.
const READS: u64 = 1000;

/// The bytes of two cache lines, since CPUs fetch lines in pairs.
#[repr(align(128))]
struct Padded(AtomicU64);

fn main() {
    let seconds = if Arguments::read(&[]).quick { 1 } else { 20 };
    let (std, quanta) = (StdInstant::now(), quanta::Instant::now());
    let minstant = minstant::Instant::now();
    let ticks = |ticks: u64| {
        let now = Instant::now();
        Instant::from_ticks(now.as_ticks() + ticks) - now
    };
    let mut rows = Rows { seconds, table: table() };
    rows.add("tach Instant (bare)", ticks, || Instant::now().as_ticks());
    rows.add("tach OrderedInstant", ticks, || Instant::from(OrderedInstant::now()).as_ticks());
    rows.add("tach MonotonicInstant", ticks, || Instant::from(MonotonicInstant::now()).as_ticks());
    rows.add("std Instant", Duration::from_nanos, || nanos(std.elapsed()));
    rows.add("quanta Instant", Duration::from_nanos, || {
        nanos(quanta::Instant::now().duration_since(quanta))
    });
    rows.add("minstant Instant", Duration::from_nanos, || {
        nanos(minstant::Instant::now().duration_since(minstant))
    });
    let mut report = Report::new();
    report.table(rows.table);
    report.end();
}

fn table() -> Table {
    let columns = [
        column("reads", "", 0),
        column("inversions", "", 0),
        column("largest", "µs", 1),
        column("a second", "millions", 1),
    ];
    Table::new("clock", columns)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

struct Rows {
    seconds: u64,
    table: Table,
}

impl Rows {
    /// Makes the threads compare their readings of a clock, and adds what they found.
    fn add(&mut self, name: &str, length: impl Fn(u64) -> Duration, read: impl Fn() -> u64 + Sync) {
        let published: [_; THREADS] = core::array::from_fn(|_| Padded(AtomicU64::new(0)));
        let (barrier, over) = (Barrier::new(THREADS + 1), AtomicBool::new(false));
        let run = |thread: usize| {
            let (mine, theirs) = (&published[thread].0, &published[(thread + 1) % THREADS].0);
            let (mut reads, mut inversions, mut largest) = (0, 0, 0);
            barrier.wait();
            // ORDERING: Relaxed. A thread may see the end late.
            while !over.load(Ordering::Relaxed) {
                for _ in 0..READS {
                    // ORDERING: Acquire and Release make the other thread's read happen before this
                    // one.
                    let before = theirs.load(Ordering::Acquire);
                    let now = read();
                    mine.store(now, Ordering::Release);
                    if now < before {
                        inversions += 1;
                        largest = largest.max(before - now);
                    }
                }
                reads += READS;
            }
            (reads, inversions, largest)
        };
        let (reads, inversions, largest) = thread::scope(|scope| {
            let threads = [0, 1].map(|thread| {
                let run = &run;
                scope.spawn(move || run(thread))
            });
            barrier.wait();
            thread::sleep(Duration::from_secs(self.seconds));
            // ORDERING: Relaxed. A thread may see the end late.
            over.store(true, Ordering::Relaxed);
            let found = threads.map(|thread| thread.join().expect("no loop panics"));
            found.iter().fold((0, 0, 0), |all: (u64, u64, u64), one| {
                (all.0 + one.0, all.1 + one.1, all.2.max(one.2))
            })
        });
        let largest_us = length(largest).as_secs_f64() * 1e6;
        let largest = if inversions > 0 { vec![largest_us] } else { Vec::new() };
        let a_second = reads as f64 / self.seconds as f64 / 1e6;
        let cells = [vec![reads as f64], vec![inversions as f64], largest, vec![a_second]];
        self.table.row(name, cells);
    }
}
