//! Processes whose threads convert while they fork.

use core::hint::black_box;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::env;
use std::thread;
use std::time::Instant;

use crate::again;
use crate::child::{self, GOOD, IMPURE, Known};
use crate::forked::{End, Forked};
use crate::os;
use crate::reading::{READS, Reading, Witnessed};

const PROCESS: &str = "process";
const FORKS: usize = 50;
const THREADS: usize = 3;
/// The longest run of a child after the last fork.
const DEADLINE: Duration = Duration::from_secs(10);

pub(crate) fn main() {
    os::begin();
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == PROCESS) {
        process(arguments[1].parse().expect("the process's number"));
        return;
    }
    let processes = again::runs();
    for number in 0..processes {
        let status = again::run(&[PROCESS.to_owned(), number.to_string()]);
        assert!(status.success(), "process {number}: {status}");
    }
    controls();
    eprintln!("{} passed, 0 failed", processes + 1);
}

/// Forks repeatedly. Processes differ in how long their threads have converted before the first
/// fork: from not at all to about 100 us.
fn process(number: u64) {
    let (go, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let started = AtomicU64::new(0);
    let convert = || {
        // ORDERING: Relaxed for all three atomics, since they publish nothing.
        started.fetch_add(1, Ordering::Relaxed);
        while !go.load(Ordering::Relaxed) {
            core::hint::spin_loop();
        }
        while !done.load(Ordering::Relaxed) {
            black_box(Reading::at(READS[1]()));
        }
    };
    let ends = thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(convert);
        }
        while started.load(Ordering::Relaxed) < THREADS as u64 {
            thread::yield_now();
        }
        go.store(true, Ordering::Relaxed);
        for _ in 0..number * 500 {
            core::hint::spin_loop();
        }
        let ends = fork_often(number % 2 == 0);
        done.store(true, Ordering::Relaxed);
        ends
    });
    assert_eq!(ends, [End::Exit(GOOD); FORKS], "process {number}");
}

/// Forks with the readings that this thread has made so far. Unless `read_first`, there are none
/// before the first fork.
fn fork_often(read_first: bool) -> Vec<End> {
    let mut known: Known = [Reading::default(); 64];
    let children: Vec<Forked> = (0..FORKS)
        .map(|fork| {
            if fork > 0 || read_first {
                known[fork] = Reading::at(READS[fork % READS.len()]());
            }
            Forked::start(|| child::run(&known))
        })
        .collect();
    let deadline = Instant::now() + DEADLINE;
    let ends = children.into_iter().map(|child| child.end(deadline)).collect();
    assert!(known.iter().all(|reading| *reading == Reading::default() || reading.is_pure()));
    ends
}

/// Runs the positive controls: a child that finds a different value than its parent, and one that
/// hangs.
fn controls() {
    let end = |readings: &[Reading], deadline: Duration| {
        let mut known: Known = [Reading::default(); 64];
        known[..readings.len()].copy_from_slice(readings);
        Forked::start(|| child::run(&known)).end(Instant::now() + deadline)
    };
    let now = Reading::at(READS[0]());
    assert_eq!(end(&[now], DEADLINE), End::Exit(GOOD));
    let other = Reading { unix_ns: now.unix_ns + 1, ..now };
    assert_eq!(end(&[now, other], DEADLINE), End::Exit(IMPURE));
    let hung = Forked::start(|| {
        loop {
            core::hint::spin_loop();
        }
    });
    assert_eq!(hung.end(Instant::now() + Duration::from_millis(100)), End::Hung);
    // The two other checks are comparisons, so test them without a child.
    let witnessed = Witnessed::take(READS[0]);
    let late = witnessed.reading.unix_ns + 2_000_000;
    let untrue = Witnessed { reading: Reading { unix_ns: late, ..witnessed.reading }, ..witnessed };
    assert!(witnessed.is_true(&witnessed) && !untrue.is_true(&witnessed));
    assert!(untrue.reading.is_not_before(&now) && !now.is_not_before(&untrue.reading));
}
