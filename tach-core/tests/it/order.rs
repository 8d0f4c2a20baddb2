//! `MonotonicInstant` and `OrderedInstant` under a hand-off by an atomic.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::thread;
use std::time::Instant as StdInstant;

use tach_core::{MonotonicInstant, OrderedInstant};

/// Two threads read, check against the other's last read, and publish. The number of reads that
/// were smaller than one that happened before.
fn inversions(read: fn() -> u64) -> u64 {
    let published = AtomicU64::new(0);
    let run = || {
        let (start, mut found) = (StdInstant::now(), 0);
        while start.elapsed() < Duration::from_millis(300) {
            for _ in 0..1000 {
                let theirs = published.load(Ordering::Acquire);
                let mine = read();
                found += u64::from(mine < theirs);
                published.fetch_max(mine, Ordering::AcqRel);
            }
        }
        found
    };
    thread::scope(|scope| {
        let other = scope.spawn(run);
        run() + other.join().unwrap()
    })
}

#[test]
fn the_strict_reads_keep_the_order_of_a_hand_off() {
    assert_eq!(inversions(|| MonotonicInstant::now().as_ticks()), 0);
    assert_eq!(inversions(|| OrderedInstant::now().as_ticks()), 0);
}

/// The positive control: a clock that is a little behind on every second read is caught. (The bare
/// read may or may not show inversions on a given machine in so short a time.)
#[test]
fn a_clock_that_goes_back_is_caught() {
    static READS: AtomicU64 = AtomicU64::new(0);
    let flawed = || {
        let late = 1000 * (READS.fetch_add(1, Ordering::Relaxed) % 2);
        MonotonicInstant::now().as_ticks() - late
    };
    assert!(inversions(flawed) > 0);
}
