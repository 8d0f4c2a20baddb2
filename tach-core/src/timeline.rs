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
//! A record is used for some 50 ms at a time. Then a look at the OS clock either lengthens its use or ends
//! it: the successor begins at the first tick that nobody can have converted yet (`horizon`). So whatever
//! happens to the OS clock or to the counter is found within 100 ms of use.

mod current;
mod discipline;
mod history;
mod horizon;
mod line;
mod past;
mod piece;
mod record;
mod thinning;

use self::current::Current;
use self::history::{Full, History, Id};
use self::horizon::Reach;
use self::line::{ExactNs, FAST_NS};
pub(crate) use self::line::{Line, Rate};
use self::piece::{PIECE_WORDS, Point};
pub use self::record::BackwardStep;
use self::record::{End, KNOWLEDGE_WORDS, SPIN_NS};
pub(crate) use self::record::{MAX_SKEW_NS, Policy, Record};
use crate::sample::{CounterFailure, Reference, Sample};
use crate::sync::{AtomicBool, Ordering, Padded};

/// Records in memory. In a busy process each covers over three seconds, so that more than a minute is
/// told by the very records that told it first; in an idle one any time.
const SLOTS: usize = 76;
/// Records whose knowledge is in memory: the newest's, and room for those that are being made.
const NEWEST: usize = 8;
/// How often the start-up spin reads an OS clock that stands still; more often if it rises in long steps.
const MAX_SPINS: u64 = 2_000;
/// A bracket that is wider was interrupted, or is a system call's.
const NARROW_NS: u64 = 250;
/// A tick that is ahead by less is another core's present, not the future.
const NEAR_NS: u64 = 2_000;
/// How often a counter that stands is read, should the OS clock stand still too.
const MAX_STANDS: u64 = 1_000;
/// A counter that has not moved while the OS clock went on by so much has stopped: one of 1 MHz makes
/// ten ticks.
const STOPPED_NS: u64 = 10_000;

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
    /// Whether it waits for an OS clock that is set back, and does not go back with it.
    waits_for_clock: AtomicBool,
    history: History<SLOTS, PIECE_WORDS, KNOWLEDGE_WORDS, NEWEST>,
}

impl Timeline {
    /// Nothing but zeros, so that the statics take no room in the program's file.
    pub(crate) const fn new() -> Self {
        Self {
            current: Padded(Current::new()),
            waits_for_clock: AtomicBool::new(false),
            history: History::new(),
        }
    }

    /// From now on does so when the OS clock is set back.
    pub(crate) fn set_backward_step(&self, backward: BackwardStep) {
        // ORDERING: Relaxed, since the choice stands alone.
        self.waits_for_clock.store(backward == BackwardStep::Hold, Ordering::Relaxed);
    }

    fn policy(&self, reference: &dyn Reference) -> Policy {
        if reference.keeps_offset() {
            return Policy::Offset;
        }
        // ORDERING: Relaxed, as above.
        let waits = self.waits_for_clock.load(Ordering::Relaxed);
        Policy::Step(if waits { BackwardStep::Hold } else { BackwardStep::Follow })
    }

    /// Begins here, or at `sample` if there is one, unless it has begun already. Returns the first
    /// record if it could not be published.
    pub(crate) fn begin(
        &self,
        sample: Option<Sample>,
        reference: &dyn Reference,
    ) -> Option<Record> {
        if self.history.head() != 0 {
            return None;
        }
        let first = if reference.is_identity() {
            Record::identity(reference.os_ns())
        } else {
            Record::first(&sample.unwrap_or_else(|| Sample::take(reference, 0)))
        };
        (!self.publish(0, &first)).then_some(first)
    }

    /// Whether `tick`, read now, lies between the last look at the OS clock and the next. If it does not,
    /// [`look`](Self::look) is called for.
    #[inline]
    pub(crate) fn expects(&self, tick: u64) -> bool {
        self.current.0.expects(tick)
    }

    /// Looks at the OS clock if that is due at `tick`, which was just read, and replaces a counter that
    /// has gone back.
    #[cold]
    pub(crate) fn look(&self, tick: u64, reference: &dyn Reference) {
        let Some(record) = self.newest() else { return };
        if record.is_identity() {
            return;
        }
        if !record.has_rate() {
            // A rate needs a second sample; nobody waits for it here.
            if reference.os_ns().saturating_sub(record.piece.knee().ns) >= SPIN_NS {
                self.find(tick, reference);
            }
        } else if self.is_behind(&record, tick) && self.is_behind(&record, reference.ticks()) {
            reference.counter_failed(CounterFailure::Regressed);
        } else {
            self.find(tick, reference);
        }
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
    #[inline(never)]
    fn ns_at_elsewhere(&self, tick: u64, reference: &dyn Reference) -> u64 {
        self.find(tick, reference).ns_at(tick)
    }

    /// The time at `now`, a tick that was just read; `None` if a look is due first.
    #[inline]
    pub(crate) fn ns_now(&self, now: u64) -> Option<u64> {
        self.current.0.ns_now(now)
    }

    /// The time from `earlier` to `now`, a tick that was just read; `None` if a look is due first.
    #[inline]
    pub(crate) fn ns_since(&self, earlier: u64, now: u64) -> Option<u64> {
        self.current.0.ns_since(earlier, now)
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
    #[inline(never)]
    fn ns_between_elsewhere(&self, earlier: u64, later: u64, reference: &dyn Reference) -> u64 {
        if later == earlier
            && !reference.is_identity()
            && reference.ticks() == later
            && Self::counter_stands(reference)
        {
            reference.counter_failed(CounterFailure::Stopped);
        }
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
    pub(crate) fn tick_after(&self, tick: u64, ns: u64, reference: &dyn Reference) -> Option<u64> {
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
    pub(crate) fn tick_before(&self, tick: u64, ns: u64, reference: &dyn Reference) -> Option<u64> {
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

    #[inline(never)]
    fn newest_with_id(&self) -> Option<(Id, Record)> {
        let (id, piece, knowledge) = self.history.newest()?;
        Some((id, Record::from_words(piece, knowledge)))
    }

    /// Where it began; `None` before [`begin`](Self::begin).
    pub(crate) fn origin_ns(&self) -> Option<u64> {
        let first = self.first_piece().map(|(_, piece)| piece);
        Some(first.or_else(|| Some(self.newest()?.piece))?.knee().ns)
    }

    /// The timeline less the OS clock, in ns; wraps.
    pub(crate) fn offset_ns(&self) -> u64 {
        self.newest().map_or(0, |record| record.offset_ns)
    }

    /// The rate now and its error in ppb; `None` if a first conversion could not be published.
    pub(crate) fn rate(&self, reference: &dyn Reference) -> Option<(Rate, u32)> {
        self.find(reference.ticks(), reference);
        let record = self.newest().filter(Record::has_rate)?;
        Some((record.estimate.rate, record.estimate.rate_error_ppb))
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

    /// Whether the OS clock is within `tolerance_ns` of where it was expected at the tick `since`.
    pub(crate) fn is_undisturbed(
        &self,
        since: u64,
        tolerance_ns: u64,
        reference: &dyn Reference,
    ) -> bool {
        let Some(record) = self.newest().filter(Record::has_rate) else { return false };
        let sample = self.sample(&record, reference);
        let deviation_ns = sample.ns.abs_diff(record.estimate.ns_at(sample.tick));
        record.last_event_tick <= since && deviation_ns <= tolerance_ns
    }

    /// A tick of now, and how far the timeline may be there from the OS clock plus the offset, in ns. `None`
    /// before the first conversion.
    ///
    /// It rests on nothing but a reading of both clocks.
    pub(crate) fn bound(&self, reference: &dyn Reference) -> Option<(u64, u64)> {
        // An offset stands in the newest record only, and a timeline that waits may run at half its rate.
        let is_plain = self.policy(reference) == Policy::Step(BackwardStep::Follow);
        let first = if is_plain { self.bound_at_first(reference) } else { None };
        first.or_else(|| self.bound_elsewhere(reference))
    }

    /// The bound by one bracket around the OS clock, if that was not interrupted and is on the current line.
    fn bound_at_first(&self, reference: &dyn Reference) -> Option<(u64, u64)> {
        let sample = Sample::take(reference, u64::MAX);
        let line = self.current.0.line_at(sample.tick)?;
        let bound_ns = distance_ns(&line, line.rate, &sample);
        let is_narrow = line.rate.ns(sample.width_ticks) < NARROW_NS;
        (is_narrow && self.expects(sample.tick)).then_some((sample.tick, bound_ns))
    }

    #[cold]
    #[inline(never)]
    fn bound_elsewhere(&self, reference: &dyn Reference) -> Option<(u64, u64)> {
        self.find(reference.ticks(), reference);
        let record = self.newest().filter(Record::has_rate)?;
        if record.is_identity() {
            return Some((reference.ticks(), 0));
        }
        let sample = self.sample(&record, reference);
        let line = self.find(sample.tick, reference);
        // That may have found a jump of the OS clock, for which the timeline has another offset now.
        let jumped_ns = self.offset_ns().wrapping_sub(record.offset_ns);
        let sample = Sample { ns: sample.ns.wrapping_add(jumped_ns), ..sample };
        Some((sample.tick, distance_ns(&line, record.estimate.rate, &sample)))
    }

    /// A sample of both clocks, in this timeline's time; if the counter has failed, of the counter that is
    /// read from now on.
    fn sample(&self, record: &Record, reference: &dyn Reference) -> Sample {
        let take = || {
            let sample = Sample::take(reference, u64::from(record.best_width_ticks));
            Sample { ns: sample.ns.wrapping_add(record.offset_ns), ..sample }
        };
        let sample = take();
        let failure = if self.is_behind(record, sample.tick) {
            CounterFailure::Regressed
        } else if sample.width_ticks == 0 && Self::counter_stands(reference) {
            // A slow counter may not move within a bracket either, so it was looked at for longer.
            CounterFailure::Stopped
        } else if record.is_slow(&sample) {
            CounterFailure::Untrusted
        } else {
            return sample;
        };
        if reference.counter_failed(failure) { take() } else { sample }
    }

    /// Whether `tick`, read now, is so far back that the counter has gone back.
    fn is_behind(&self, record: &Record, tick: u64) -> bool {
        record.has_rate()
            && !record.is_identity()
            && tick.saturating_add(record.skew_ticks()) < self.current.0.floor()
    }

    /// Whether the counter stands still while the OS clock goes on.
    fn counter_stands(reference: &dyn Reference) -> bool {
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

    /// The line that tells the time at `tick`, from a record that is made now if need be.
    #[cold]
    #[inline(never)]
    fn find(&self, tick: u64, reference: &dyn Reference) -> Line {
        loop {
            let Some((id, record)) = self.newest_with_id() else {
                let Some(first) = self.begin(None, reference) else { continue };
                // Nobody can publish: this conversion is good for itself alone.
                let told =
                    if first.has_rate() { first } else { self.second(0, &first, tick, reference) };
                return told.line_at(tick);
            };
            if !record.has_rate() {
                let next = self.second(id, &record, tick, reference);
                if !self.publish(id, &next) {
                    return next.line_at(tick);
                }
                self.take_up(&next);
                continue;
            }
            if tick < record.piece.start().tick {
                return self.older_line(&record.piece, |point| point.tick <= tick);
            }
            let until = self.reach(id, &record).until;
            if tick < until {
                self.install(&record, until, tick, reference);
                return record.line_at(tick);
            }
            // Another core's counter may be a little ahead of this one's: that is not the future yet.
            let near_ticks = record.estimate.rate.ticks(NEAR_NS).unwrap_or(0);
            if reference.ticks().saturating_add(near_ticks) < until {
                return record.piece.main;
            }
            if let Some(line) = self.use_or_follow(id, &record, tick, reference) {
                return line;
            }
        }
    }

    /// Up to where the newest record, whose id is `id`, may be used.
    fn reach(&self, id: Id, record: &Record) -> Reach {
        if record.is_identity() {
            return Reach::EVERYWHERE;
        }
        self.history.reach(id, record.piece.knee().tick)
    }

    /// Serves the fast path from `record`, which may be used up to `until`.
    fn install(&self, record: &Record, until: u64, tick: u64, reference: &dyn Reference) {
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
        } else {
            self.current.0.install(main, until);
        }
    }

    /// Looks at the OS clock. If it agrees with `record`, that may be used for longer; otherwise a
    /// successor is made. Returns the line of `tick` if that could not be published.
    fn use_or_follow(
        &self,
        id: Id,
        record: &Record,
        tick: u64,
        reference: &dyn Reference,
    ) -> Option<Line> {
        let record = record.seeded(|| reference.known_rate());
        let reach = self.reach(id, &record);
        let agreed_tick = self.current.0.floor();
        let sample = self.sample(&record, reference);
        if record.agrees(&sample) && !record.is_slow(&sample) {
            self.current.0.raise_floor(sample.tick);
            self.history.raise(id, reach, record.next_look(sample.tick));
            return None;
        }
        let end = End {
            id,
            tick: self.history.close(id, record.piece.knee().tick),
            wanted_tick: tick,
            agreed_tick,
            clock_jumped: reference.clock_jumped(&record, &sample, agreed_tick),
        };
        let next = record.next(&end, &sample, self.policy(reference));
        if !self.publish(id, &next) {
            return Some(next.line_at(tick));
        }
        self.current.0.raise_floor(sample.tick);
        self.take_up(&next);
        if next.counts.events() != record.counts.events() {
            reference.disturbed();
        }
        None
    }

    /// Lets `next`, which was made of a sample just now, be used until the next look, unless another record
    /// is the newest.
    fn take_up(&self, next: &Record) {
        if let Some((id, newest)) = self.newest_with_id() {
            if newest.piece == next.piece {
                let knee_tick = next.piece.knee().tick;
                let reach = self.history.reach(id, knee_tick);
                self.history.raise(id, reach, next.next_look(knee_tick));
            }
        }
    }

    /// The first record that has a rate, after `record`. It takes a second sample, some time after the
    /// first.
    fn second(&self, id: Id, record: &Record, tick: u64, reference: &dyn Reference) -> Record {
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
        let resolution_ns = reference.resolution_ns();
        // A clock that rises in long steps tells a rate after two of them.
        let spin_ns = SPIN_NS.max(2 * resolution_ns);
        for _ in 0..MAX_SPINS + resolution_ns / 16 {
            if reference.os_ns().saturating_sub(record.piece.knee().ns) >= spin_ns {
                break;
            }
        }
        record.second(&end, &self.sample(record, reference), declared_hz)
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

    /// What should be read when the OS clock says `os_ns`; nanoseconds that begin here if no rate is
    /// known. `None` before [`begin`](Self::begin).
    pub(crate) fn expected(&self, os_ns: u64) -> Option<Expected> {
        let Record { estimate, offset_ns, .. } = self.newest()?;
        if !estimate.rate.is_known() {
            return Some(Expected { tick: estimate.tick, rate: Rate::ONE, error_ns: 0 });
        }
        let ns = os_ns.wrapping_add(offset_ns);
        let error_ns = estimate.error_after(ns.saturating_sub(estimate.ns));
        Some(Expected { tick: estimate.tick_at(ns)?, rate: estimate.rate, error_ns })
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
}

/// How far `line` may be from the OS clock at the sample's tick, where ticks last by `rate`.
fn distance_ns(line: &Line, rate: Rate, sample: &Sample) -> u64 {
    // The clock was read in the bracket, and shows the last of its steps. Odd widths are rounded down.
    let half_width_ticks = sample.width_ticks / 2 + 2;
    line.ns_at(sample.tick)
        .abs_diff(sample.ns)
        .saturating_add(rate.ns(half_width_ticks))
        .saturating_add(sample.resolution_ns)
        .saturating_add(1)
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
