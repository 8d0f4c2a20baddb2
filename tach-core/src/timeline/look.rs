//! Looks: a sample of the OS clock, and its consequences for the newest record.

use super::record::{End, SPIN_NS};
use super::{Record, Timeline};
use crate::line::Line;
use crate::sample::{CounterFailure, Reference, Sample};
use crate::sync::Id;

/// How often the start-up spin reads an OS clock that stands still; more often if it rises in long steps.
const MAX_SPINS: u64 = 2_000;
/// How often a counter that stands is read, should the OS clock stand still too.
const MAX_STANDS: u64 = 1_000;
/// A counter that has not moved while the OS clock went on by so much has stopped: one of 1 MHz makes
/// ten ticks.
const STOPPED_NS: u64 = 10_000;

impl Timeline {
    /// Looks at the OS clock if that is due at `tick`, which was just read, and replaces a counter that
    /// has gone back.
    #[cold]
    pub(crate) fn look(&self, tick: u64, reference: &dyn Reference) {
        // Before the counter is read again: another thread may look, and raise it, meanwhile.
        let floor = self.floor();
        let Some(record) = self.newest() else { return };
        if is_behind(&record, tick, floor) && is_behind(&record, reference.ticks(), floor) {
            reference.counter_failed(CounterFailure::Regressed);
        } else if record.is_identity() {
            self.current.0.raise_floor(tick);
            self.find(tick, reference);
        } else if !record.has_rate() {
            // A rate needs a second sample; nobody waits for it here.
            if reference.os_ns().saturating_sub(record.piece.knee().ns) >= spin_ns(reference) {
                self.find(tick, reference);
            }
        } else {
            self.find(tick, reference);
        }
    }

    /// Looks at the OS clock now. Ticks that may have been converted keep their times, so a change of the
    /// OS clock is followed from the next look on.
    pub(crate) fn sync(&self, reference: &dyn Reference) {
        let tick = reference.ticks();
        self.find(tick, reference);
        let Some((id, record)) = self.newest_with_id() else { return };
        if !record.is_identity() && record.has_rate() {
            self.use_or_follow(id, &record, tick, reference);
        }
    }

    /// A sample of both clocks, in this timeline's time; if the counter has failed, of the counter that is
    /// read from now on.
    pub(super) fn sample(&self, record: &Record, reference: &dyn Reference) -> Sample {
        let take = || {
            let sample = Sample::take(reference, u64::from(record.best_width_ticks));
            Sample { ns: sample.ns.wrapping_add(record.offset_ns), ..sample }
        };
        // Before the counter is read: another thread may look, and raise it, meanwhile.
        let floor = self.floor();
        let sample = take();
        let failure = if is_behind(record, sample.tick, floor) {
            CounterFailure::Regressed
        } else if sample.width_ticks == 0 && counter_stands(reference) {
            // A slow counter may not move within a bracket either, so it was looked at for longer.
            CounterFailure::Stopped
        } else if record.is_slow(&sample) {
            CounterFailure::Untrusted
        } else {
            return sample;
        };
        if reference.counter_failed(failure) { take() } else { sample }
    }

    /// Looks at the OS clock. If it agrees with `record`, that may be used for longer; otherwise a
    /// successor is made. Returns the line of `tick` if that could not be published.
    pub(super) fn use_or_follow(
        &self,
        id: Id,
        record: &Record,
        tick: u64,
        reference: &dyn Reference,
    ) -> Option<Line> {
        let record = record.seeded(|| reference.known_rate());
        let reach = self.reach(id, &record)?;
        let agreed_tick = self.floor();
        let sample = self.sample(&record, reference);
        // A thread that has closed the horizon may never publish the successor.
        if record.agrees(&sample) && !record.is_slow(&sample) && !reach.is_closed() {
            self.current.0.raise_floor(sample.tick);
            self.history.raise(id, reach, record.next_look(sample.tick));
            return None;
        }
        let end = End {
            id,
            tick: self.history.close(id, record.piece.knee().tick),
            wanted_tick: tick,
            agreed_tick,
            clock_jumped: reference.clock_jumped(
                sample.ns.saturating_sub(record.estimate.ns_at(sample.tick)),
                record.estimate.rate,
                agreed_tick,
            ),
        };
        let next = record.next(&end, &sample, self.policy(reference));
        if !self.publish(id, &next) {
            return Some(next.line_at(tick));
        }
        self.take_up(&next);
        if next.counts.events() != record.counts.events() {
            reference.disturbed();
        }
        None
    }

    /// Raises the horizon of `next` to the next look. If another record is the newest, does nothing.
    pub(super) fn take_up(&self, next: &Record) {
        self.current.0.raise_floor(next.estimate.tick);
        if let Some((id, newest)) = self.newest_with_id() {
            if newest.piece == next.piece {
                let knee_tick = next.piece.knee().tick;
                if let Some(reach) = self.history.reach(id, knee_tick) {
                    self.history.raise(id, reach, next.next_look(knee_tick));
                }
            }
        }
    }

    /// The first record that has a rate, after `record`. It takes a second sample, some time after the
    /// first.
    pub(super) fn second(
        &self,
        id: Id,
        record: &Record,
        tick: u64,
        reference: &dyn Reference,
    ) -> Record {
        let end = End {
            id,
            tick: self.history.close(id, record.piece.knee().tick),
            wanted_tick: tick,
            agreed_tick: 0,
            clock_jumped: false,
        };
        let seeded = record.seeded(|| reference.known_rate());
        if seeded.has_rate() {
            let sample = self.sample(&seeded, reference);
            return seeded.next(&end, &sample, self.policy(reference));
        }
        // Asked before the spin, since asking takes time too.
        let declared_hz = reference.declared_hz();
        let spin_ns = spin_ns(reference);
        for _ in 0..MAX_SPINS + spin_ns / 32 {
            if reference.os_ns().saturating_sub(record.piece.knee().ns) >= spin_ns {
                break;
            }
        }
        record.second(&end, &self.sample(record, reference), declared_hz)
    }
}

/// Whether the counter has gone back if it read `tick` after the floor was at `floor`.
fn is_behind(record: &Record, tick: u64, floor: u64) -> bool {
    tick.saturating_add(record.skew_ticks()) < floor
}

/// How long after the first sample a second one shows the rate: two steps of a clock that rises in long ones.
fn spin_ns(reference: &dyn Reference) -> u64 {
    SPIN_NS.max(2 * reference.resolution_ns())
}

/// Whether the counter stands still while the OS clock goes on.
pub(super) fn counter_stands(reference: &dyn Reference) -> bool {
    if !reference.reads_counter() {
        return false;
    }
    let (tick, ns) = (reference.ticks(), reference.os_ns());
    for _ in 0..MAX_STANDS {
        // The counter last: an interruption before its read only gives it time to move.
        let has_had_time = reference.os_ns().saturating_sub(ns) >= STOPPED_NS;
        if reference.ticks() != tick {
            return false;
        }
        if has_had_time {
            return true;
        }
    }
    false
}
