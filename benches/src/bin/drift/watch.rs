//! One thread of the run: load, sleeps, and comparisons in between.

use core::hint::black_box;
use core::time::Duration;
use std::thread;
use std::time::Instant as StdInstant;

use crate::bracket::OsMonotonic;
use crate::clock::{Clocks, Tally};
use crate::intervals::Intervals;

const LONGEST_SLEEP_US: u64 = 2_000_000;

/// The findings of one or more threads.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) tallies: [Tally; 2],
    pub(crate) intervals: Intervals,
}

impl Watch {
    fn new(os: OsMonotonic) -> Self {
        Self { tallies: [Tally::new(), Tally::new()], intervals: Intervals::new(os) }
    }

    fn add(&mut self, other: &Self) {
        for (tally, more) in self.tallies.iter_mut().zip(&other.tallies) {
            tally.add(more);
        }
        self.intervals.add(&other.intervals);
    }
}

pub(crate) fn run(clocks: &Clocks, os: OsMonotonic, threads: u64, time: Duration) -> Watch {
    let mut all = Watch::new(os);
    thread::scope(|scope| {
        let running: Vec<_> = (1..=threads)
            .map(|number| scope.spawn(move || watch(clocks, os, number, time)))
            .collect();
        for thread in running {
            all.add(&thread.join().expect("a watch ends"));
        }
    });
    all
}

/// Compares both clocks between random bursts of work and random sleeps, with `number` as the seed.
fn watch(clocks: &Clocks, os: OsMonotonic, number: u64, time: Duration) -> Watch {
    let start = StdInstant::now();
    let mut random = number;
    let mut seen = Watch::new(os);
    while start.elapsed() < time {
        seen.intervals.mark();
        for _ in 0..next(&mut random) % 1000 {
            for (clock, tally) in clocks.iter().zip(&mut seen.tallies) {
                clock.compare(tally);
            }
        }
        let work = next(&mut random) % 1_000_000;
        black_box((0..work).fold(0, |sum: u64, i| black_box(sum.wrapping_add(i))));
        // All orders of magnitude are equally likely.
        let sleep_us = (LONGEST_SLEEP_US >> (next(&mut random) % 21)).max(1);
        thread::sleep(Duration::from_micros(next(&mut random) % sleep_us));
    }
    seen
}

/// Returns the next random number (xorshift).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
