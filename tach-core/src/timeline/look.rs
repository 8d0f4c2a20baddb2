//! Looks: samples of the OS clock, and their consequences for the newest record.

use super::question::{Question, Round};
use super::record::{End, SPIN_NS};
use super::steps;
use super::{Record, Timeline};
use crate::line::{Line, shifted_tick};
use crate::sample::{ClockPair, CounterFailure, Sample};
use crate::sync::{Id, Ordering};

/// An OS clock that returns the same time in this many reads stands still, unless it rises in long
/// steps.
///
/// A first conversion may make three such series of reads. At 2 us a read, as in a virtual machine
/// without a vDSO, they take 0.8 ms. At 12 ns, one series still lasts longer than the step of a
/// counter of 1 MHz.
const STANDING_READS: u64 = 128;
/// Like [`STANDING_READS`], for a clock that has shown no rate yet. One call may make five such
/// series.
const FIRST_READS: u64 = 48;
/// The shortest time between two reads to expect of a clock that rises in long steps.
const STEPPING_READ_NS: u64 = 16;
/// If a counter has not moved while the OS clock advanced by this much, it has stopped. A counter
/// of 1 MHz makes ten ticks in this time.
const STOPPED_NS: u64 = 10_000;
/// How many reads of the counter are timed. An interruption slows one of them.
const COUNTER_READS: u32 = 4;
/// A bracket is two to four times as long as a read of the counter if user space reads the OS
/// clock, at any speed of the CPU. With a system call it is at least ten times as long.
const SLOWER_THAN_COUNTER: u64 = 6;

impl Timeline {
    /// Looks at the OS clock if that is due at `tick`, which was just read, and checks that the
    /// counter has not gone back.
    #[cold]
    pub(crate) fn try_look(&self, tick: u64, round: &Round<'_>) -> Result<(), Question> {
        // Read the floor before the counter. If another thread raised the floor after this thread's
        // read, the counter would seem to have gone back.
        let floor = self.current.floor();
        let Some(record) = self.newest() else { return Ok(()) };
        if is_behind(&record, tick, floor) && is_behind(&record, round.clocks.ticks(), floor) {
            return round.answers.about(CounterFailure::Regressed);
        }
        if record.is_identity() {
            self.current.raise_floor(tick);
        } else if !record.has_rate() {
            // A rate needs a second sample. Take the sample only when enough time has passed, since
            // no read waits here.
            let start_ns = record.piece.knee().ns;
            let waited = |ns: u64| ns.saturating_sub(start_ns) >= spin_ns(round.clocks);
            if !round.clocks.os_ns().is_some_and(waited) {
                return Ok(());
            }
        }
        self.find(tick, round).map(drop)
    }

    /// Looks at the OS clock now. Ticks that may have been converted keep their times, so the
    /// timeline follows a change of the OS clock from the next look on.
    pub(crate) fn try_sync(&self, round: &Round<'_>) -> Result<(), Question> {
        let tick = round.clocks.ticks();
        self.find(tick, round)?;
        let Some((id, record)) = self.newest_with_id() else { return Ok(()) };
        if !record.is_identity() && record.has_rate() {
            self.use_or_follow(id, &record, tick, round)?;
        }
        Ok(())
    }

    /// Takes a sample of both clocks, in this timeline's time; `None` if the OS clock can't be
    /// read. If the counter failed, fails until the caller has replaced the counter or decided to
    /// keep it.
    pub(super) fn sample(
        &self,
        record: &Record,
        round: &Round<'_>,
    ) -> Result<Option<Sample>, Question> {
        // Read the floor before the counter. If another thread raised the floor after this thread's
        // read, the counter would seem to have gone back.
        let floor = self.current.floor();
        let best_width = u64::from(record.best_width_ticks);
        let sample = Sample::take(round.clocks, best_width);
        self.outages.note(sample.is_some(), || round.clocks.ticks());
        let Some(sample) = sample else { return Ok(None) };
        let sample = self.steps.noted(sample, &record.estimate, round.clocks);
        let sample = Sample { ns: sample.ns.wrapping_add(record.offset_ns), ..sample };
        if is_behind(record, sample.tick, floor) {
            round.answers.about(CounterFailure::Regressed)?;
        } else if sample.width_ticks == 0 && counter_stands(round.clocks) {
            // A slow counter may not move within a bracket either, so `counter_stands` watches it
            // for longer.
            round.answers.about(CounterFailure::Stopped)?;
        } else if record.is_slow(&sample)
            && is_slower_than_counter(&sample, round.clocks)
            && Sample::take(round.clocks, best_width).is_some_and(|again| record.is_slow(&again))
        {
            round.answers.about(CounterFailure::Untrusted)?;
        }
        Ok(Some(sample))
    }

    /// Looks at the OS clock. If it agrees with `record` or can't be read, raises the record's
    /// horizon, up to the record's end. Otherwise makes a successor. Returns the line of `tick` if
    /// the successor could not be published.
    pub(super) fn use_or_follow(
        &self,
        id: Id,
        record: &Record,
        tick: u64,
        round: &Round<'_>,
    ) -> Result<Option<Line>, Question> {
        let known_rate = if record.estimate.wants_rate() { round.answers.rate()? } else { None };
        let record = record.seeded(known_rate);
        let Some(reach) = self.reach(id, &record) else { return Ok(None) };
        let agreed_tick = self.current.floor();
        let read = self.sample(&record, round)?;
        let sample = read.unwrap_or_else(|| record.unread_sample(round.clocks));
        // A closed horizon needs a successor even if the record agrees: the thread that closed it
        // may be stopped before it publishes one.
        if record.agrees(&sample) && !record.is_slow(&sample) && !reach.is_closed() {
            if read.is_some() {
                self.current.raise_floor(sample.tick);
            }
            self.history.raise(id, reach, record.next_look(sample.tick, round.clocks.look_ns()));
            return Ok(None);
        }
        let clock_jumped = round.clocks.keeps_offset() && {
            let ahead_ns = sample.ns.saturating_sub(record.estimate.ns_at(sample.tick));
            round.answers.clock_jumped(ahead_ns, record.estimate.rate, agreed_tick)?
        };
        let end = End {
            tick: self.history.close(id, record.piece.knee().tick),
            wanted_tick: tick,
            agreed_tick,
            clock_jumped,
        };
        let next = match &read {
            Some(sample) => record.next(&end, sample, self.policy(round.clocks)),
            None => record.unread(&end, &sample, self.policy(round.clocks)),
        };
        if !self.publish(id, &next) {
            return Ok(Some(next.line_at(tick)));
        }
        self.take_up(&next, round.clocks.look_ns());
        if next.counts.events() != record.counts.events() {
            // ORDERING: Relaxed, since the flag publishes nothing.
            self.counted_event.store(true, Ordering::Relaxed);
        }
        Ok(None)
    }

    /// Returns whether an event was counted since the last call.
    pub(crate) fn take_counted_event(&self) -> bool {
        // ORDERING: Relaxed, since the flag publishes nothing. The load spares nearly every call
        // the swap, which locks the cache line. If several threads load a set flag, only one swap
        // returns `true`. A thread sees a flag that it has set itself, unless another thread took
        // the flag. A load may miss another thread's store: then that thread's own call takes the
        // flag.
        self.counted_event.load(Ordering::Relaxed)
            && self.counted_event.swap(false, Ordering::Relaxed)
    }

    /// Raises the horizon of `next` to the next look. If another record is the newest, does
    /// nothing.
    pub(super) fn take_up(&self, next: &Record, look_ns: u64) {
        self.current.raise_floor(next.estimate.tick);
        let own = self.newest_with_id().filter(|(_, newest)| newest == next);
        let Some((id, _)) = own else { return };
        let knee_tick = next.piece.knee().tick;
        if let Some(reach) = self.history.reach(id, knee_tick) {
            self.history.raise(id, reach, next.next_look(knee_tick, look_ns));
        }
    }

    /// Returns the first record that has a rate, which follows `record`. If the rate is not known
    /// from elsewhere, waits until a second sample can show it. Returns `None` if the OS clock
    /// can't be read, or stands.
    pub(super) fn second(
        &self,
        id: Id,
        record: &Record,
        tick: u64,
        round: &Round<'_>,
    ) -> Result<Option<Record>, Question> {
        let seeded = record.seeded(round.answers.rate()?);
        let end = || End {
            tick: self.history.close(id, record.piece.knee().tick),
            wanted_tick: tick,
            agreed_tick: 0,
            clock_jumped: false,
        };
        if seeded.has_rate() {
            let sample = self.sample(&seeded, round)?;
            return Ok(sample.map(|sample| seeded.next(&end(), &sample, self.policy(round.clocks))));
        }
        // Read the frequency before the spin, which then includes the time that the reading takes.
        let declared_hz = round.clocks.declared_hz();
        let spin_ns = spin_ns(round.clocks).max(2 * self.steps.longest_ns());
        let start_ns = record.piece.knee().ns;
        let mut motion = Motion::since(start_ns, FIRST_READS, round.clocks);
        while let Some(ns) = round.clocks.os_ns() {
            if ns.saturating_sub(start_ns) >= spin_ns {
                break;
            }
            if motion.stands(ns) {
                if round.clocks.resolution_ns() < steps::SHORTEST_NS {
                    return Ok(None);
                }
                // The clock was watched for longer than its steps: it has stopped.
                break;
            }
        }
        let sample = self.sample(record, round)?;
        // A clock that advanced by a single step shows no rate.
        let shows_rate =
            |sample: &Sample| sample.ns.saturating_sub(start_ns) >= 2 * self.steps.longest_ns();
        let sample = sample.filter(shows_rate);
        Ok(sample.map(|sample| record.second(&end(), &sample, declared_hz)))
    }
}

/// Returns whether a counter that read `tick` has gone back. `floor` was read before `tick`.
fn is_behind(record: &Record, tick: u64, floor: u64) -> bool {
    shifted_tick(tick).saturating_add(record.skew_ticks()) < shifted_tick(floor)
}

/// Returns the time after which a second sample shows the rate. For a clock that rises in long
/// steps, it is two steps.
fn spin_ns(clocks: &dyn ClockPair) -> u64 {
    SPIN_NS.max(2 * clocks.resolution_ns())
}

/// Returns whether reading the OS clock took much longer than reading the counter does. Otherwise
/// the CPU is slow, and not the clock.
fn is_slower_than_counter(sample: &Sample, clocks: &dyn ClockPair) -> bool {
    let read = |_| {
        let before = clocks.ticks();
        clocks.ticks().saturating_sub(before)
    };
    let fastest = (0..COUNTER_READS).map(read).min().unwrap_or(0);
    sample.width_ticks / SLOWER_THAN_COUNTER > fastest
}

/// Returns whether the counter stands still while the OS clock advances.
pub(super) fn counter_stands(clocks: &dyn ClockPair) -> bool {
    if !clocks.reads_counter() {
        return false;
    }
    let tick = clocks.ticks();
    let Some(first_ns) = clocks.os_ns() else { return false };
    let mut motion = Motion::since(first_ns, STANDING_READS, clocks);
    // Read the counter last: an interruption before that read only gives the counter time to move.
    while let Some(ns) = clocks.os_ns() {
        if clocks.ticks() != tick {
            return false;
        }
        if ns.saturating_sub(first_ns) >= STOPPED_NS {
            return true;
        }
        if motion.stands(ns) {
            return false;
        }
    }
    false
}

/// Watches whether an OS clock moves.
struct Motion {
    greatest_ns: u64,
    /// The number of reads since the clock last rose.
    reads: u64,
    /// The number of reads without a rise at which the clock counts as standing still.
    most: u64,
}

impl Motion {
    /// Watches a clock that read `ns`, for `reads` more reads plus those that fit into one of its
    /// steps.
    fn since(ns: u64, reads: u64, clocks: &dyn ClockPair) -> Self {
        let most = reads + clocks.resolution_ns() / STEPPING_READ_NS;
        Self { greatest_ns: ns, reads: 0, most }
    }

    /// Returns whether the clock, which now reads `ns`, has not risen for too many reads. A clock
    /// that was set back does not rise until it passes its greatest time.
    fn stands(&mut self, ns: u64) -> bool {
        if ns > self.greatest_ns {
            (self.greatest_ns, self.reads) = (ns, 0);
        }
        self.reads += 1;
        self.reads > self.most
    }
}
