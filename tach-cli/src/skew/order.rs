//! Whether a clock, read after a load, is ever behind the loaded value.
//!
//! Every thread loads its neighbour's last value, reads the clock, and publishes the reading. The
//! load happens before the read, so a clock in strict order never reads less than the loaded value.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Barrier;
use std::thread;
use std::time::Instant as StdInstant;

use crossbeam_utils::CachePadded;
use serde::Serialize;
use tach_core::{Instant, MonotonicInstant, Order, OrderedInstant, Source, status};

/// The number of threads and the length of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// At least 2.
    pub(super) threads: usize,
    /// The time for each clock.
    pub(super) time: Duration,
}

/// The findings for one clock.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Findings {
    /// Readings that were compared with an earlier one.
    pub(super) reads: u64,
    /// Readings that were less than the earlier one.
    pub(super) inversions: u64,
    /// The largest inversion.
    pub(super) largest: Duration,
}

/// The order that a clock promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Role {
    /// None: the positive control.
    Control,
    /// Strict order.
    Strict,
    /// Strict order if the kernel trusts the counter on all CPUs, or is the source itself.
    StrictIfTrusted,
    /// Strict order, in a process that enforces it.
    Enforced,
    /// Unknown: a clock of another crate.
    Other,
}

/// A clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject {
    /// Its name in the table.
    pub(super) name: &'static str,
    /// The order that it promises.
    pub(super) role: Role,
    /// Measures its order.
    pub(super) run: fn(Options) -> Findings,
}

/// Returns every clock.
pub(super) fn subjects() -> Vec<Subject> {
    vec![
        Subject {
            name: "tach Instant (bare)",
            role: Role::Control,
            run: |options| in_ticks(options, || Instant::now().as_ticks()),
        },
        Subject {
            name: "tach OrderedInstant",
            role: Role::StrictIfTrusted,
            run: |options| in_ticks(options, || Instant::from(OrderedInstant::now()).as_ticks()),
        },
        Subject {
            name: "tach MonotonicInstant",
            role: Role::Strict,
            run: |options| in_ticks(options, || Instant::from(MonotonicInstant::now()).as_ticks()),
        },
        Subject {
            name: "the same, enforced",
            role: Role::Enforced,
            run: |options| in_ticks(options, || Instant::from(MonotonicInstant::now()).as_ticks()),
        },
        Subject {
            name: "std Instant",
            role: Role::Strict,
            run: |options| {
                let base = StdInstant::now();
                in_ns(options, || StdInstant::now().duration_since(base))
            },
        },
        Subject {
            name: "quanta Instant",
            role: Role::Other,
            run: |options| {
                let base = quanta::Instant::now();
                in_ns(options, || quanta::Instant::now().duration_since(base))
            },
        },
        Subject {
            name: "minstant Instant",
            role: Role::Other,
            run: |options| {
                let base = minstant::Instant::now();
                in_ns(options, || minstant::Instant::now().duration_since(base))
            },
        },
    ]
}

impl Role {
    /// Returns whether strict order is promised on this machine.
    pub(super) fn is_strict(self) -> bool {
        match self {
            Self::Strict | Self::Enforced => true,
            Self::StrictIfTrusted => status().order != Order::Enforced,
            Self::Control | Self::Other => false,
        }
    }
}

/// Returns whether this process reads a counter, so that the control can fail.
pub(super) fn has_control() -> bool {
    status().source == Source::Counter
}

fn in_ticks(options: Options, read: impl Fn() -> u64 + Sync) -> Findings {
    let (findings, largest) = look(options, read);
    Findings { largest: ticks(largest), ..findings }
}

fn ticks(count: u64) -> Duration {
    let now = Instant::now();
    Instant::from_ticks(now.as_ticks() + count) - now
}

fn in_ns(options: Options, since_base: impl Fn() -> Duration + Sync) -> Findings {
    #[expect(clippy::cast_possible_truncation, reason = "the run is shorter than 584 years")]
    let (findings, largest) = look(options, || since_base().as_nanos() as u64);
    Findings { largest: Duration::from_nanos(largest), ..findings }
}

/// Makes every thread load its neighbour's value, read the clock, compare and publish. Returns the
/// findings, and the largest inversion in the clock's unit.
fn look(options: Options, read: impl Fn() -> u64 + Sync) -> (Findings, u64) {
    const READS: u64 = 1000;
    // The last value that each thread published.
    let published: Vec<_> =
        (0..options.threads).map(|_| CachePadded::new(AtomicU64::new(0))).collect();
    let (barrier, over) = (Barrier::new(options.threads + 1), AtomicBool::new(false));
    let run = |thread: usize| {
        let (mine, theirs) = (&published[thread], &published[(thread + 1) % options.threads]);
        let (mut findings, mut largest) = (Findings::default(), 0);
        barrier.wait();
        // ORDERING: Relaxed. A thread may see the end late.
        while !over.load(Ordering::Relaxed) {
            for _ in 0..READS {
                // ORDERING: Acquire and Release make the neighbour's read happen before this one.
                let before = theirs.load(Ordering::Acquire);
                let now = read();
                mine.store(now, Ordering::Release);
                if now < before {
                    findings.inversions += 1;
                    largest = largest.max(before - now);
                }
            }
            findings.reads += READS;
        }
        (findings, largest)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..options.threads).map(|i| scope.spawn(move || run(i))).collect();
        barrier.wait();
        thread::sleep(options.time);
        // ORDERING: Relaxed. A thread may see the end late.
        over.store(true, Ordering::Relaxed);
        let mut all = (Findings::default(), 0);
        for thread in threads {
            let (findings, largest) = thread.join().expect("a loop does not panic");
            all.0.reads += findings.reads;
            all.0.inversions += findings.inversions;
            all.1 = largest.max(all.1);
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The clock is behind on every second read.
    #[test]
    fn inversions_are_found() {
        static READS: AtomicU64 = AtomicU64::new(0);
        let options = Options { threads: 2, time: Duration::from_millis(50) };
        let look = || {
            look(options, || {
                let read = READS.fetch_add(1, Ordering::Relaxed);
                1_000_000 + read - 1000 * (read % 2)
            })
        };
        // On a busy machine one thread may run for all of the time.
        let mut runs = (0..200).map(|_| look());
        let (findings, largest) = runs.find(|(found, _)| found.inversions > 0).unwrap();
        assert!(findings.reads >= findings.inversions);
        assert!(largest >= 500, "{largest}");
    }

    #[test]
    fn a_shared_count_has_no_inversions() {
        static READS: AtomicU64 = AtomicU64::new(0);
        let options = Options { threads: 3, time: Duration::from_millis(50) };
        let (findings, largest) = look(options, || READS.fetch_add(1, Ordering::Relaxed));
        assert_eq!((findings.inversions, largest), (0, 0));
        assert!(findings.reads > 0);
    }
}
