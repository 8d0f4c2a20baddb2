//! The timeline: a function from ticks to nanoseconds that all threads share and that grows on
//! demand.
//!
//! It is made of [`Record`]s, each published once and never changed, so a tick that has been
//! converted converts to the same value for as long as its record is kept. Whoever needs a tick
//! past the end of the last record makes the next one: it samples the OS clock, computes the record
//! privately, and publishes it by one compare-exchange of the head's generation. Of several that do
//! so at once one wins and the others convert by its record, so nobody waits: not for a thread that
//! was preempted in the middle of this, nor for one that a signal handler interrupted, nor for one
//! that a `fork` left behind. `docs/adr/0003` tells why.
//!
//! In the last eighth of a record one reader prepares the successor, so a busy process never gets
//! past an end.

mod current;
mod discipline;
mod history;
mod line;
mod past;
mod piece;
mod record;
mod thinning;

use self::current::Current;
use self::history::{Full, History, Id};
use self::line::{ExactNs, FAST_NS};
pub(crate) use self::line::{Line, Rate};
use self::piece::{PIECE_WORDS, Point};
pub use self::record::BackwardStep;
use self::record::{KNOWLEDGE_WORDS, SPIN_NS};
pub(crate) use self::record::{MAX_SKEW_NS, Record};
use crate::sample::{CounterFailure, Reference, Sample};
use crate::sync::{AtomicBool, Ordering, Padded};

/// Records in memory. In a busy process each covers over three seconds, so that more than a minute is
/// told by the very records that told it first; in an idle one any time.
const SLOTS: usize = 76;
/// Records whose knowledge is in memory: the newest's, and room for those that are being made.
const NEWEST: usize = 8;
/// Samples that the start-up spin takes at most, should the OS clock stand still; more of them if
/// it rises in long steps.
const MAX_SPINS: u64 = 10_000;
/// A counter that has not moved while the OS clock went on by so much has stopped: one of 1 MHz makes
/// ten ticks.
const STOPPED_NS: u64 = 10_000;
/// The host is reviewed at every event, and once in so many syncs: about a minute of a busy process.
const REVIEW_EVERY: u32 = 16;
/// The first time soon, to know how things were; but not in the very first conversion.
const FIRST_REVIEW: u32 = 4;

/// What a counter should read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) tick: u64,
    /// In ns per tick.
    pub(crate) rate: Rate,
    /// Standard error of `tick`.
    pub(crate) error_ns: u64,
}

#[derive(Debug)]
pub(crate) struct Timeline {
    /// A copy of the line in use, for the fast path.
    current: Padded<Current>,
    /// Somebody is preparing the successor, so that the others need not. A hint: nobody waits for
    /// it, and one that is never taken back (by a thread that a `fork` left behind) costs nothing
    /// but preparation.
    preparing: AtomicBool,
    /// Whether the timeline goes back when the OS clock is set back.
    follows_back: AtomicBool,
    history: History<SLOTS, PIECE_WORDS, KNOWLEDGE_WORDS, NEWEST>,
}

impl Timeline {
    pub(crate) const fn new(backward: BackwardStep) -> Self {
        Self {
            current: Padded(Current::new()),
            preparing: AtomicBool::new(false),
            follows_back: AtomicBool::new(matches!(backward, BackwardStep::Follow)),
            history: History::new(),
        }
    }

    /// From now on does so when the OS clock is set back.
    pub(crate) fn set_backward_step(&self, backward: BackwardStep) {
        // ORDERING: Relaxed, since the choice stands alone.
        self.follows_back.store(backward == BackwardStep::Follow, Ordering::Relaxed);
    }

    fn backward_step(&self) -> BackwardStep {
        // ORDERING: Relaxed, as above.
        if self.follows_back.load(Ordering::Relaxed) {
            BackwardStep::Follow
        } else {
            BackwardStep::Hold
        }
    }

    /// Begins here, unless it has begun already. The first record, if it could not be published.
    pub(crate) fn begin(&self, reference: &impl Reference) -> Option<Record> {
        if self.history.head() != 0 {
            return None;
        }
        let first = if reference.is_identity() {
            Record::identity(reference.os_ns())
        } else {
            Record::first(&Sample::take(reference, 0))
        };
        (!self.publish(0, &first)).then_some(first)
    }

    /// The time at `tick`.
    ///
    /// It never decreases from one tick to a later one, except where the OS clock was set back and
    /// the timeline follows it. For a tick that lies in the future it is a prediction.
    #[inline]
    pub(crate) fn ns_at(&self, tick: u64, reference: &impl Reference) -> u64 {
        match self.current.0.ns_at(tick) {
            Some(ns) => ns,
            None => self.ns_at_elsewhere(tick, reference),
        }
    }

    /// Apart from [`ns_at`](Self::ns_at), so that this one needs no stack.
    #[cold]
    fn ns_at_elsewhere(&self, tick: u64, reference: &impl Reference) -> u64 {
        self.find(tick, reference).ns_at(tick)
    }

    /// The time from `earlier` to `later` in ns; zero if they come the other way round.
    #[inline]
    pub(crate) fn ns_between(&self, earlier: u64, later: u64, reference: &impl Reference) -> u64 {
        match self.current.0.ns_between(earlier, later) {
            Some(ns) => ns,
            None => self.ns_between_elsewhere(earlier, later, reference),
        }
    }

    #[cold]
    fn ns_between_elsewhere(&self, earlier: u64, later: u64, reference: &impl Reference) -> u64 {
        if later <= earlier {
            return 0;
        }
        // The later one first: it may append what the earlier one needs. Most often it is on the
        // current line, and the earlier one on a line before that.
        let last = self.current.0.line_at(later).unwrap_or_else(|| self.find(later, reference));
        let first = self.find(earlier, reference);
        if first == last {
            // As `ns_between` has it while the line is the current one.
            last.rate.ns(later - earlier)
        } else {
            last.ns_at(later).saturating_sub(first.ns_at(earlier))
        }
    }

    /// The tick that is `ns` after `tick`; `None` past the range of ticks.
    pub(crate) fn tick_after(&self, tick: u64, ns: u64, reference: &impl Reference) -> Option<u64> {
        let line = self.find(tick, reference);
        if let Some(target) = line.rate.ticks(ns).and_then(|ticks| tick.checked_add(ticks)) {
            if self.find(target, reference) == line {
                return Some(target);
            }
        }
        let told_ns = line.ns_at(tick).checked_add(ns)?;
        let time = line.exact_ns_at(tick).checked_add(ns)?;
        self.tick_telling(told_ns, time, [Line::first_tick_at, Line::last_tick_at])
    }

    /// The tick that is `ns` before `tick`; `None` before the range of ticks.
    pub(crate) fn tick_before(
        &self,
        tick: u64,
        ns: u64,
        reference: &impl Reference,
    ) -> Option<u64> {
        let line = self.find(tick, reference);
        if let Some(target) = line.rate.ticks(ns).and_then(|ticks| tick.checked_sub(ticks)) {
            if self.find(target, reference) == line {
                return Some(target);
            }
        }
        let told_ns = line.ns_at(tick).checked_sub(ns)?;
        let time = line.exact_ns_at(tick).checked_sub(ns)?;
        self.tick_telling(told_ns, time, [Line::last_tick_at, Line::first_tick_at])
    }

    /// The newest record; `None` before [`begin`](Self::begin).
    pub(crate) fn newest(&self) -> Option<Record> {
        self.newest_with_id().map(|(_, record)| record)
    }

    fn newest_with_id(&self) -> Option<(Id, Record)> {
        let (id, piece, knowledge) = self.history.newest()?;
        Some((id, Record::from_words(piece, knowledge)))
    }

    /// Where it began; `None` before [`begin`](Self::begin).
    pub(crate) fn origin_ns(&self) -> Option<u64> {
        let first = self.first_piece().map(|(_, piece)| piece);
        Some(first.or_else(|| Some(self.newest()?.piece))?.knee().ns)
    }

    /// The rate and its error in ppb, by a first conversion if there was none; `None` if that could
    /// not be published.
    pub(crate) fn rate(&self, reference: &impl Reference) -> Option<(Rate, u32)> {
        let known = || self.newest().filter(Record::has_rate);
        if known().is_none() {
            self.find(reference.ticks(), reference);
        }
        known().map(|record| (record.estimate.rate, record.estimate.rate_error_ppb))
    }

    /// Samples the OS clock now, and takes down what that shows. What has been converted stays as it
    /// is, so a change of the OS clock is followed from the end of the newest record on, which may be one
    /// that was prepared already.
    pub(crate) fn sync(&self, reference: &impl Reference) {
        let tick = reference.ticks();
        self.ns_at(tick, reference);
        let Some((id, record)) = self.newest_with_id() else { return };
        if record.is_identity() || !record.has_rate() {
            return;
        }
        let record = record.seeded(|| reference.known_rate());
        let sample = Self::sample(&record, reference);
        if !record.sees_event(&sample) {
            return;
        }
        let next = record.next(id, tick, &sample, self.backward_step());
        self.append(id, &record, &next, reference);
        if tick >= record.piece.knee().tick {
            self.current.0.install(record.piece.main, record.piece.end_tick);
        }
    }

    /// A sample of both clocks; if the counter has failed, of that which is read from now on.
    fn sample(record: &Record, reference: &impl Reference) -> Sample {
        let take = || Sample::take(reference, u64::from(record.best_width_ticks));
        let sample = take();
        let failure = if record.is_behind(sample.tick) {
            CounterFailure::Regressed
        } else if sample.width_ticks == 0 && Self::counter_stands(reference) {
            // A slow counter may not move within a bracket either, so it was looked at for longer.
            CounterFailure::Stopped
        } else {
            return sample;
        };
        reference.counter_failed(failure);
        take()
    }

    /// Whether the counter stands still while the OS clock goes on.
    fn counter_stands(reference: &impl Reference) -> bool {
        let (tick, ns) = (reference.ticks(), reference.os_ns());
        for _ in 0..MAX_SPINS {
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

    /// The line that tells the time at `tick`, from a record that is made now if need be.
    #[cold]
    fn find(&self, tick: u64, reference: &impl Reference) -> Line {
        loop {
            let Some((id, record)) = self.newest_with_id() else {
                let Some(first) = self.begin(reference) else { continue };
                // Nobody can publish: this conversion is good for itself alone.
                let told = if first.has_rate() {
                    first
                } else {
                    self.make_next(0, &first, tick, reference)
                };
                return told.line_at(tick);
            };
            if record.has_rate() {
                if tick < record.piece.start().tick {
                    Self::check_counter(&record, reference);
                    return self.older_line(&record.piece, |point| point.tick <= tick);
                }
                if tick < record.piece.end_tick {
                    self.use_record(id, &record, tick, reference);
                    return record.line_at(tick);
                }
                // Another core's counter may be a little ahead of this one's: that is not the
                // future yet, since a successor can be made already.
                if reference.ticks() < record.due_tick() {
                    Self::check_counter(&record, reference);
                    return record.piece.main;
                }
            }
            let next = self.make_next(id, &record, tick, reference);
            if !self.append(id, &record, &next, reference) {
                return next.line_at(tick);
            }
        }
    }

    /// Serves the fast path from `record`, and prepares its successor when it is due.
    fn use_record(&self, id: Id, record: &Record, tick: u64, reference: &impl Reference) {
        let main = record.piece.main;
        if tick < main.start_tick {
            return;
        }
        if record.is_identity() {
            // Without an end, so it is served by one stretch after the other; but not by a future
            // one, after which the present could not be served any more.
            if tick <= reference.os_ns() {
                let start = tick & !(FAST_NS - 1);
                let stretch = Line { start_tick: start, start_ns: start, rate: Rate::ONE };
                self.current.0.install(stretch, start.saturating_add(FAST_NS));
            }
        } else if tick < record.due_tick() {
            self.current.0.install(main, record.due_tick());
        } else if self.start_preparing() {
            let next = self.make_next(id, record, tick, reference);
            self.append(id, record, &next, reference);
            self.current.0.install(main, record.piece.end_tick);
            self.end_preparing();
        }
    }

    /// The successor of `record`, made for the sake of `tick`.
    fn make_next(&self, id: Id, record: &Record, tick: u64, reference: &impl Reference) -> Record {
        let sample = || Self::sample(record, reference);
        let record = record.seeded(|| reference.known_rate());
        if record.has_rate() {
            return record.next(id, tick, &sample(), self.backward_step());
        }
        // Asked before the spin, since asking takes time too.
        let declared_hz = reference.declared_hz();
        // A clock that rises in long steps tells a rate after two of them.
        let spin_ns = SPIN_NS.max(2 * reference.resolution_ns());
        let mut taken = sample();
        for _ in 0..MAX_SPINS + reference.resolution_ns() / 16 {
            if taken.ns.saturating_sub(record.piece.knee().ns) >= spin_ns {
                break;
            }
            taken = sample();
        }
        record.second(id, tick, &taken, declared_hz)
    }

    /// Publishes `next` after `record`, and has the host reviewed if that is called for. Whether
    /// `record` has a successor then: if so, it is this one or another's.
    fn append(&self, id: Id, record: &Record, next: &Record, reference: &impl Reference) -> bool {
        let published = self.publish(id, next);
        let event = next.counts.events() != record.counts.events();
        if event || next.counts.syncs % REVIEW_EVERY == FIRST_REVIEW {
            reference.review();
        }
        published
    }

    fn publish(&self, after: Id, record: &Record) -> bool {
        let (piece, knowledge) = record.to_words();
        let publish = || self.history.publish(after, &piece, &knowledge);
        match publish() {
            Ok(()) => true,
            Err(Full::Knowledge) => false,
            Err(Full::Pieces) => {
                self.make_room();
                publish().is_ok()
            }
        }
    }

    /// Checks that the counter has not gone back; if it has, it is replaced for the reads to come.
    fn check_counter(record: &Record, reference: &impl Reference) {
        if record.is_behind(reference.ticks()) {
            reference.counter_failed(CounterFailure::Regressed);
        }
    }

    /// What should be read when the OS clock says `os_ns`; nanoseconds that begin here if no rate is
    /// known. `None` before [`begin`](Self::begin).
    pub(crate) fn expected(&self, os_ns: u64) -> Option<Expected> {
        let Record { estimate, .. } = self.newest()?;
        if !estimate.rate.is_known() {
            return Some(Expected { tick: estimate.tick, rate: Rate::ONE, error_ns: 0 });
        }
        let error_ns = estimate.error_after(os_ns.saturating_sub(estimate.ns));
        Some(Expected { tick: estimate.tick_at(os_ns)?, rate: estimate.rate, error_ns })
    }

    /// The first tick at which the time is `ns` or later.
    #[allow(dead_code, reason = "for the standard library's instants, which are not everywhere")]
    pub(crate) fn tick_at(&self, ns: u64) -> Option<u64> {
        self.line_telling(ns)?.tick_at(ns)
    }

    /// The first of the ticks `beside` a time that is told as `told_ns`.
    ///
    /// So a sum differs from its summand by just what was added; and as `time` was not rounded on the way,
    /// adding and subtracting lead back to within a tick. Where a tick is longer than a nanosecond no tick
    /// may be told so, and it is the first beside `time`.
    fn tick_telling(
        &self,
        told_ns: u64,
        time: ExactNs,
        beside: [fn(&Line, ExactNs) -> Option<u64>; 2],
    ) -> Option<u64> {
        let line = self.line_telling(told_ns)?;
        let [first, second] = beside.map(|tick_beside| tick_beside(&line, time));
        let is_told_so = |tick: &u64| line.ns_at(*tick) == told_ns;
        [first, second, line.tick_at(told_ns)].into_iter().flatten().find(is_told_so).or(first)
    }

    /// The line on which the time is `ns`; `None` before [`begin`](Self::begin).
    fn line_telling(&self, ns: u64) -> Option<Line> {
        let newest = self.newest()?.piece;
        let wanted = |point: Point| point.ns <= ns;
        if wanted(newest.start()) {
            Some(newest.line(wanted))
        } else {
            Some(self.older_line(&newest, wanted))
        }
    }

    fn start_preparing(&self) -> bool {
        // ORDERING: Relaxed, since a hint orders nothing.
        !self.preparing.swap(true, Ordering::Relaxed)
    }

    fn end_preparing(&self) {
        // ORDERING: Relaxed, since a hint orders nothing.
        self.preparing.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod appenders;
#[cfg(all(test, not(tach_same_arithmetic)))]
mod disruptions;
#[cfg(test)]
mod first_rate;
#[cfg(all(test, not(tach_same_arithmetic)))]
mod scenarios;
#[cfg(test)]
#[cfg_attr(tach_same_arithmetic, expect(dead_code, reason = "what uses it is left out"))]
mod simulation;
#[cfg(all(test, not(tach_same_arithmetic)))]
mod sums;
#[cfg(test)]
mod tests;
