//! Steps of an OS clock that are longer than its system states.
//!
//! A look compares the clock's advance since the last look with the counter's. If the two differ
//! and the clock then stands for some reads, the clock rises in steps of at least the difference. A
//! difference that was seen only once may mean that the clock was set, or was stopped. So the
//! second longest step counts.

use super::discipline::Estimate;
use crate::sample::{ClockPair, Sample};
use crate::sync::{Maximum, Versioned};

/// A clock that returns one time in this many reads stands for 200 ns or more.
const STANDING_READS: u64 = 16;
/// The shortest time between two reads to expect.
const READ_NS: u64 = 16;
/// A smaller distance may be the difference between two cores' counters. If the system states
/// longer steps, it is believed.
pub(super) const SHORTEST_NS: u64 = 2_000;
/// A clock that is further off was set or stopped.
const LONGEST_NS: u64 = 250_000_000;

/// The steps of one OS clock.
#[derive(Debug)]
pub(super) struct Steps {
    /// The tick of the last sample, and the OS clock's time.
    last: Versioned<1>,
    longest_ns: Maximum,
    second_ns: Maximum,
}

impl Steps {
    pub(super) const fn new() -> Self {
        Self { last: Versioned::new(), longest_ns: Maximum::new(), second_ns: Maximum::new() }
    }

    /// Returns the longest step that was seen; 0 if there was none.
    pub(super) fn longest_ns(&self) -> u64 {
        self.longest_ns.get()
    }

    /// Returns `sample` with the resolution that was seen at least twice, if its system states
    /// less.
    ///
    /// A look sees at most the whole of a step, and soon one sees more than half of it. So twice
    /// the length seen is no less than a step, and a bound holds.
    pub(super) fn resolved(&self, sample: Sample) -> Sample {
        let seen_ns = self.second_ns.get().saturating_mul(2);
        Sample { resolution_ns: sample.resolution_ns.max(seen_ns), ..sample }
    }

    /// Returns `sample` with its resolution: if the clock stands, the distance from the time that
    /// the last sample and the counter predict. While no rate is known, all of the clock's advance
    /// may be one step.
    pub(super) fn noted(
        &self,
        sample: Sample,
        estimate: &Estimate,
        clocks: &dyn ClockPair,
    ) -> Sample {
        let last = self.last.read();
        self.last.try_write(sample.tick, &[sample.ns]);
        let stated_ns = sample.resolution_ns;
        let limit_ns = self.second_ns.get().max(SHORTEST_NS);
        let sample = self.resolved(sample);
        let Some((tick, [ns])) = last else { return sample };
        let advance_ns = sample.ns.saturating_sub(ns);
        let passed_ns = estimate.rate.ns(sample.tick.saturating_sub(tick));
        let off_ns = advance_ns.abs_diff(passed_ns).min(LONGEST_NS + 1);
        let is_off = limit_ns < off_ns && off_ns <= LONGEST_NS && stated_ns < SHORTEST_NS;
        if sample.ns < ns || !is_off || !stands(sample.ns, stated_ns, clocks) {
            return sample;
        }
        // If the clock never advanced, it may have stopped. Then the difference is no step.
        if advance_ns > 0 || self.second_ns.get() > 0 {
            self.see(off_ns.saturating_sub(estimate.error_of(passed_ns).saturating_mul(4)));
        }
        Sample { resolution_ns: sample.resolution_ns.max(off_ns), ..sample }
    }

    fn see(&self, step_ns: u64) {
        let longest_ns = self.longest_ns.get();
        self.longest_ns.raise(step_ns);
        self.second_ns.raise(step_ns.min(longest_ns));
    }
}

/// Returns whether an OS clock that read `ns` stands for longer than the steps that its system
/// states.
fn stands(ns: u64, stated_ns: u64, clocks: &dyn ClockPair) -> bool {
    (0..STANDING_READS + stated_ns / READ_NS).all(|_| clocks.os_ns() == Some(ns))
}
