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

use super::offsets::to_ns;
use crate::measure::{as_f64, nanos};

/// The findings for one clock.
#[derive(Debug, Serialize)]
pub(super) struct Clock {
    pub(super) name: &'static str,
    pub(super) promise: Promise,
    /// Readings that were compared with an earlier one.
    pub(super) reads: u64,
    /// Readings that were less than the earlier one.
    pub(super) inversions: u64,
    pub(super) largest_inversion_ns: f64,
}

/// The order that a clock promises on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Promise {
    /// None, and the clock is the positive control.
    Control,
    Strict,
    None,
}

/// Runs each clock for `time` on the threads, of which there are two or more.
pub(super) fn clocks(threads: usize, time: Duration) -> Vec<Clock> {
    // `Strict` holds if the kernel trusts the counter on all CPUs, or if every read of the OS clock
    // raises one shared maximum.
    let status = status();
    let ordered = if status.order == Order::OrderedRead || status.source == Source::Os {
        Promise::Strict
    } else {
        Promise::None
    };
    let (std, quanta) = (StdInstant::now(), quanta::Instant::now());
    let minstant = minstant::Instant::now();
    let run = Run { threads, time };
    vec![
        run.look("tach Instant (bare)", Promise::Control, to_ns, || Instant::now().as_ticks()),
        run.look("tach OrderedInstant", ordered, to_ns, || {
            Instant::from(OrderedInstant::now()).as_ticks()
        }),
        run.look("tach MonotonicInstant", Promise::Strict, to_ns, || {
            Instant::from(MonotonicInstant::now()).as_ticks()
        }),
        run.look("std Instant", Promise::Strict, as_f64, || nanos(std.elapsed())),
        run.look("quanta Instant", Promise::None, as_f64, || {
            nanos(quanta::Instant::now().duration_since(quanta))
        }),
        run.look("minstant Instant", Promise::None, as_f64, || {
            nanos(minstant::Instant::now().duration_since(minstant))
        }),
    ]
}

struct Run {
    threads: usize,
    time: Duration,
}

impl Run {
    /// Makes every thread load its neighbour's value, read the clock, compare and publish.
    fn look(
        &self,
        name: &'static str,
        promise: Promise,
        to_ns: fn(u64) -> f64,
        read: impl Fn() -> u64 + Sync,
    ) -> Clock {
        const READS: u64 = 1000;
        // The last value that each thread published.
        let published: Vec<_> =
            (0..self.threads).map(|_| CachePadded::new(AtomicU64::new(0))).collect();
        let (barrier, over) = (Barrier::new(self.threads + 1), AtomicBool::new(false));
        let run = |thread: usize| {
            let (mine, theirs) = (&published[thread], &published[(thread + 1) % self.threads]);
            let (mut reads, mut inversions, mut largest) = (0, 0, 0);
            barrier.wait();
            // ORDERING: Relaxed. A thread may see the end late.
            while !over.load(Ordering::Relaxed) {
                for _ in 0..READS {
                    // ORDERING: Acquire and Release make the neighbour's read happen before this
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
        thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|i| scope.spawn(move || run(i))).collect();
            barrier.wait();
            thread::sleep(self.time);
            // ORDERING: Relaxed. A thread may see the end late.
            over.store(true, Ordering::Relaxed);
            let found = threads.into_iter().map(|thread| thread.join().expect("no loop panics"));
            let (reads, inversions, largest) =
                found.fold((0, 0, 0), |all, one| (all.0 + one.0, all.1 + one.1, all.2.max(one.2)));
            Clock { name, promise, reads, inversions, largest_inversion_ns: to_ns(largest) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(threads: usize, read: impl Fn() -> u64 + Sync) -> Clock {
        Run { threads, time: Duration::from_millis(50) }.look("", Promise::None, as_f64, read)
    }

    /// The clock is behind on every second read.
    #[test]
    fn inversions_are_found() {
        static READS: AtomicU64 = AtomicU64::new(0);
        let behind = || {
            let read = READS.fetch_add(1, Ordering::Relaxed);
            1_000_000 + read - 1000 * (read % 2)
        };
        // Try again: on a busy machine, one thread may run alone for the whole time.
        let mut runs = (0..200).map(|_| look(2, behind));
        let found = runs.find(|found| found.inversions > 0).unwrap();
        assert!(found.reads >= found.inversions);
        assert!(found.largest_inversion_ns >= 500.0, "{found:?}");
    }

    #[test]
    fn a_shared_count_has_no_inversions() {
        static READS: AtomicU64 = AtomicU64::new(0);
        let found = look(3, || READS.fetch_add(1, Ordering::Relaxed));
        assert_eq!((found.inversions, found.largest_inversion_ns.to_bits()), (0, 0));
        assert!(found.reads > 0);
    }
}
