//! The timelines against the OS's clocks, under random load and sleeps: `cargo xtask drift`.
//!
//! Every comparison is a bracket: OS clock, tach, OS clock. The timeline's error is its distance
//! from the middle, known to half the bracket's width; brackets wider than 100 ns (an interruption)
//! say little and are counted apart.
#![expect(clippy::print_stdout, reason = "the table is this program's output")]

use core::hint::black_box;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::env;
use std::thread;
use std::time::{Instant as StdInstant, SystemTime};

use tach_core::{MonotonicInstant, UnixTime, status};

/// Brackets wider than this are counted apart.
const WIDEST_NS: u64 = 100;
/// The longest sleep.
const LONGEST_SLEEP_US: u64 = 2_000_000;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let seconds = match arguments.as_slice() {
        [] => 30,
        [text] => match text.parse() {
            Ok(seconds) => seconds,
            Err(error) => {
                eprintln!("drift: \"{text}\" is not a number of seconds: {error}");
                std::process::exit(2);
            }
        },
        _ => {
            eprintln!("usage: drift [SECONDS]");
            std::process::exit(2);
        }
    };
    println!("{seconds} s, two threads, random load and sleeps up to 2 s");
    let start = Start::narrowest();
    let clocks = [Clock::monotonic(start), Clock::realtime()];
    let mut watches = thread::scope(|scope| {
        let clocks = &clocks;
        let threads: Vec<_> =
            (1..=2).map(|seed| scope.spawn(move || watch(clocks, seed, seconds))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a watch ends")).collect::<Vec<_>>()
    });
    let [mut monotonic, mut realtime] = watches.pop().expect("there are two");
    for [a, b] in watches {
        monotonic.add(a);
        realtime.add(b);
    }
    println!(
        "{:14} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7} {:>9}",
        "|error| in ns", "samples", "mean", "p50", "p99.9", "max", "wide", "backward"
    );
    monotonic.print("monotonic");
    realtime.print("real time");
    println!("\n{}", status());
}

/// The point from which both clocks' monotonic time is counted.
#[derive(Clone, Copy)]
struct Start {
    os: StdInstant,
    tach: MonotonicInstant,
}

impl Start {
    /// The narrowest bracket of many, since its error is part of all that follow.
    fn narrowest() -> Self {
        let bracket = || {
            let before = StdInstant::now();
            let tach = MonotonicInstant::now();
            let width = before.elapsed();
            (width, Self { os: before + width / 2, tach })
        };
        let narrowest = (0..10_000).map(|_| bracket()).min_by_key(|(width, _)| *width);
        narrowest.expect("there are many").1
    }
}

/// A clock of the OS beside tach's timeline for it, both in ns.
struct Clock {
    os: Box<dyn Fn() -> u64 + Sync>,
    /// Converts what tach read within the bracket, after the bracket.
    tach: Box<dyn Fn(MonotonicInstant) -> u64 + Sync>,
    /// The highest time that any thread has had from tach.
    last: AtomicU64,
}

impl Clock {
    fn monotonic(start: Start) -> Self {
        Self {
            os: Box::new(move || nanos(start.os.elapsed())),
            tach: Box::new(move |now| nanos(now - start.tach)),
            last: AtomicU64::new(0),
        }
    }

    fn realtime() -> Self {
        Self {
            os: Box::new(|| UnixTime::from_system_time(SystemTime::now()).as_nanos()),
            tach: Box::new(|now| now.unix_time().as_nanos()),
            last: AtomicU64::new(0),
        }
    }

    fn compare(&self, errors: &mut Errors) {
        let earlier = self.last.load(Ordering::Acquire);
        let before = (self.os)();
        let now = MonotonicInstant::now();
        let after = (self.os)();
        let tach = (self.tach)(now);
        self.last.fetch_max(tach, Ordering::AcqRel);
        errors.backward += u64::from(tach < earlier);
        if after - before > WIDEST_NS {
            errors.wide += 1;
        } else {
            errors.ns.push(tach.abs_diff(before + (after - before) / 2));
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).expect("a run is shorter than 584 years")
}

/// What one thread saw of one clock.
#[derive(Default)]
struct Errors {
    ns: Vec<u64>,
    wide: u64,
    backward: u64,
}

impl Errors {
    fn add(&mut self, other: Self) {
        self.ns.extend(other.ns);
        self.wide += other.wide;
        self.backward += other.backward;
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean needs no more")]
    fn print(&mut self, name: &str) {
        self.ns.sort_unstable();
        let Some(max) = self.ns.last() else {
            println!("{name:14} no bracket was narrower than {WIDEST_NS} ns");
            return;
        };
        let samples = self.ns.len();
        let mean = self.ns.iter().sum::<u64>() as f64 / samples as f64;
        let (p50, p999) = (self.ns[samples / 2], self.ns[samples * 999 / 1000]);
        println!(
            "{name:14} {samples:>9} {mean:>7.1} {p50:>7} {p999:>7} {max:>7} {:>7} {:>9}",
            self.wide, self.backward
        );
    }
}

/// Compares both clocks between random bursts of work and random sleeps.
fn watch(clocks: &[Clock; 2], seed: u64, seconds: u64) -> [Errors; 2] {
    let start = StdInstant::now();
    let mut random = seed;
    let mut errors = [Errors::default(), Errors::default()];
    while start.elapsed() < Duration::from_secs(seconds) {
        for _ in 0..next(&mut random) % 1000 {
            for (clock, errors) in clocks.iter().zip(&mut errors) {
                clock.compare(errors);
            }
        }
        let work = next(&mut random) % 1_000_000;
        black_box((0..work).fold(0, |sum: u64, i| black_box(sum.wrapping_add(i))));
        // Every order of magnitude is as likely as any other.
        let sleep_us = (LONGEST_SLEEP_US >> (next(&mut random) % 21)).max(1);
        thread::sleep(Duration::from_micros(next(&mut random) % sleep_us));
    }
    errors
}

/// A small generator (xorshift).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
