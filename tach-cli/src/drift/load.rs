//! Threads that work and sleep at random, and compare tach's timelines with the OS in between.
//!
//! Every comparison is a bracket: OS clock, tach, OS clock. The timeline's error is its distance
//! from the middle, known to half the bracket's width. Brackets wider than 100 ns (an interruption)
//! are counted apart. Intervals lie between the narrowest of several brackets. Memory does not grow
//! with the length of the run.

mod histogram;
mod intervals;
mod table;
mod timelines;

use core::hint::black_box;
use core::time::Duration;
use std::thread;
use std::time::Instant as StdInstant;

use serde::{Serialize, Serializer};
use serde_json::json;

use self::histogram::Histogram;
use self::intervals::Intervals;
use self::timelines::{Tally, Timelines, timelines};
use crate::interrupt;
use crate::measure::OsMonotonic;

const LONGEST_SLEEP_US: u64 = 2_000_000;

/// The findings of all threads.
#[derive(Debug)]
pub(super) struct Found {
    timelines: [Compared; 2],
    intervals: Intervals,
}

/// The findings for one timeline.
#[derive(Debug)]
struct Compared {
    name: &'static str,
    tally: Tally,
    /// The number of times that the timeline sampled the OS clock.
    syncs: u32,
}

impl Found {
    /// Returns whether elapsed time went back between threads.
    pub(super) fn went_back(&self) -> bool {
        self.timelines[0].tally.backward > 0
    }
}

/// The findings of one thread.
#[derive(Debug)]
struct Seen {
    tallies: [Tally; 2],
    intervals: Intervals,
}

impl Seen {
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

/// Runs `threads` threads for `time`, or until Ctrl-C.
pub(super) fn run(threads: u16, time: Duration) -> Found {
    let os = OsMonotonic::new();
    let timelines = &timelines(os);
    let mut all = Seen::new(os);
    thread::scope(|scope| {
        let running: Vec<_> = (1..=threads)
            .map(|number| scope.spawn(move || watch(timelines, os, number.into(), time)))
            .collect();
        for thread in running {
            all.add(&thread.join().expect("a thread ends"));
        }
    });
    let Seen { tallies: [monotonic, realtime], intervals } = all;
    let compared = |index: usize, tally| Compared {
        name: timelines[index].name,
        tally,
        syncs: timelines[index].syncs(),
    };
    Found { timelines: [compared(0, monotonic), compared(1, realtime)], intervals }
}

/// Compares both timelines between random bursts of work and random sleeps. `number` is the seed.
fn watch(timelines: &Timelines, os: OsMonotonic, number: u64, time: Duration) -> Seen {
    let start = StdInstant::now();
    let mut random = number;
    let mut seen = Seen::new(os);
    while start.elapsed() < time && !interrupt::was_pressed() {
        seen.intervals.mark();
        for _ in 0..next(&mut random) % 1000 {
            for (timeline, tally) in timelines.iter().zip(&mut seen.tallies) {
                timeline.compare(tally);
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

/// The findings as JSON: distances in ns.
impl Serialize for Found {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let distances = |name: &str, errors: &Histogram| {
            json!({
                "name": name,
                "measured": errors.count(),
                "mean_ns": errors.mean(),
                "p50_ns": errors.per_mille(500),
                "p99_9_ns": errors.per_mille(999),
                "max_ns": errors.max(),
            })
        };
        let timelines = self.timelines.iter().map(|one| {
            let mut found = distances(one.name, &one.tally.errors_ns);
            found["backward"] = one.tally.backward.into();
            found["wide"] = one.tally.wide.into();
            found["syncs"] = one.syncs.into();
            found
        });
        let intervals = self.intervals.errors().filter(|(_, errors)| errors.count() > 0);
        let intervals = intervals.map(|(name, errors)| distances(name, errors));
        let [timelines, intervals]: [Vec<_>; 2] = [timelines.collect(), intervals.collect()];
        json!({ "timelines": timelines, "intervals": intervals }).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_elapsed_time_may_not_go_back() {
        let found = |backward: [u64; 2]| {
            let [monotonic, realtime] = backward.map(|backward| Tally { backward, ..Tally::new() });
            let compared = |name, tally| Compared { name, tally, syncs: 0 };
            Found {
                timelines: [compared("monotonic", monotonic), compared("real time", realtime)],
                intervals: Intervals::new(OsMonotonic::new()),
            }
        };
        assert!(found([1, 0]).went_back());
        // The real-time clock may be set back.
        assert!(!found([0, 1]).went_back());
    }
}
