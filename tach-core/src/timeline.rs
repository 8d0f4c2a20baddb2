//! The timeline: a function from ticks to nanoseconds that all threads share and that grows on
//! demand.
//!
//! It consists of [`Record`]s, each published once and never changed. So a tick that was converted
//! keeps its value for as long as its record is kept. A thread that needs a tick past the end of
//! the last record makes the next one: it samples the OS clock, computes the record privately, and
//! publishes it by one compare-exchange of the head's generation. If several threads do so at once,
//! one wins and the others convert by its record. No thread waits for another, be that one
//! preempted, interrupted by a signal handler, or left behind by `fork`. `docs/adr/0003` gives the
//! reasons.
//!
//! A record is used for some 50 ms at a time. Then a look at the OS clock either extends its use or
//! ends it; the successor begins at the first tick that no thread can have converted yet
//! (`Horizon`). So any change of the OS clock or the counter is found within 100 ms of use.
//!
//! Every read compares its tick with the horizon. So a tick beyond the line in use is the result of
//! a sum. Sums and differences predict such ticks without a look (`Forecast`); `docs/adr/0087`
//! gives the reasons.

mod bound;
mod counts;
mod current;
mod discipline;
mod inverse;
mod look;
mod outages;
mod past;
mod piece;
mod policy;
mod question;
mod record;
mod steps;
mod thinning;

pub(crate) use self::counts::Counts;
use self::current::Current;
use self::discipline::NS_PER_S;
use self::look::counter_stands;
use self::outages::Outages;
use self::past::Table;
use self::piece::{PIECE_WORDS, Point};
pub(crate) use self::policy::BackwardStep;
pub(crate) use self::policy::Policy;
pub(crate) use self::question::{Answers, Question, Round};
use self::record::KNOWLEDGE_WORDS;
pub(crate) use self::record::{MAX_SKEW_NS, Record};
use self::steps::Steps;
use crate::line::{self, FAST_NS, Line, Rate, shifted_tick, unshifted_ns};
use crate::sample::{ClockPair, CounterFailure, LOOK_NS, Sample};
use crate::sync::{AtomicBool, Full, History, Id, Ordering, Reach};

/// The number of records in memory. In a calm, busy process each covers four seconds, so the ticks
/// of the last minute convert by the records that first converted them. In an idle process a record
/// covers any length of time.
const SLOTS: usize = 76;
/// The number of records whose knowledge is in memory: the newest record's, and room for those
/// being made. If seven threads are stopped between the write of their knowledge and the exchange
/// of the head, a conversion takes a sample of its own, until one of them goes on. Of threads that
/// run, the first one moves the head within nanoseconds. A forked child loses a slot for good only
/// if the fork hits another thread within such a write, which takes nanoseconds in some 50 ms.
const NEWEST: usize = 8;
/// A tick that is ahead by less belongs to another core's present, not to the future.
const NEAR_NS: u64 = 2_000;

/// The value that a counter should read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) tick: u64,
    /// In ns per tick.
    pub(crate) rate: Rate,
    /// Standard error of `tick`.
    pub(crate) error_ns: u64,
}

/// A function from ticks to nanoseconds; see the [module](self).
///
/// Begins with the words that every read loads, so that the owner can put one more such word before
/// them, on the same cache line. The words that follow are written no more often than these.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Timeline {
    /// A copy of the line in use, which serves almost every conversion, and the range of ticks that
    /// needs no look.
    pub(crate) current: Current,
    /// Whether the timeline waits for an OS clock that is set back, instead of going back with it.
    waits_for_clock: AtomicBool,
    /// Whether an event was counted that no caller has seen yet.
    counted_event: AtomicBool,
    pub(crate) outages: Outages,
    steps: Steps,
    /// The records in the order of time.
    table: Table,
    history: History<SLOTS, PIECE_WORDS, KNOWLEDGE_WORDS, NEWEST>,
}

impl Timeline {
    /// Creates a timeline of zeros only, so that the statics take no room in the program's file.
    pub(crate) const fn new() -> Self {
        Self {
            current: Current::new(),
            waits_for_clock: AtomicBool::new(false),
            counted_event: AtomicBool::new(false),
            outages: Outages::new(),
            steps: Steps::new(),
            table: Table::new(),
            history: History::new(),
        }
    }

    /// Sets the reaction to an OS clock that is set back.
    pub(crate) fn set_backward_step(&self, backward: BackwardStep) {
        // ORDERING: Relaxed: the choice publishes nothing else.
        self.waits_for_clock.store(backward == BackwardStep::Hold, Ordering::Relaxed);
    }

    fn policy(&self, clocks: &dyn ClockPair) -> Policy {
        if clocks.keeps_offset() {
            return Policy::Offset;
        }
        let waits = self.waits_for_clock();
        Policy::Step(if waits { BackwardStep::Hold } else { BackwardStep::Follow })
    }

    /// Returns whether the reaction to an OS clock that is set back is [`BackwardStep::Hold`].
    pub(crate) fn waits_for_clock(&self) -> bool {
        // ORDERING: Relaxed: the choice publishes nothing else.
        self.waits_for_clock.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn has_begun(&self) -> bool {
        self.history.head() != 0
    }

    /// Begins the timeline at `sample`, or at a sample taken now, unless it has begun already or
    /// the OS clock can't be read. Returns the first record if it could not be published.
    pub(crate) fn begin(&self, sample: Option<Sample>, clocks: &dyn ClockPair) -> Option<Record> {
        if self.has_begun() {
            return None;
        }
        let first = if clocks.is_identity() {
            clocks.os_ns().map(Record::identity)
        } else {
            sample.or_else(|| Sample::take(clocks, 0)).map(|sample| Record::first(&sample))
        };
        self.outages.note(first.is_some(), || clocks.ticks());
        let first = first?;
        self.current.raise_floor(first.piece.knee().tick);
        (!self.publish(0, &first)).then_some(first)
    }

    /// Returns the time at `tick`, by any line.
    ///
    /// It never decreases from one tick to a later one, except where the OS clock was set back and
    /// the timeline follows it. For a tick in the future it is a prediction.
    pub(crate) fn try_ns_at(&self, tick: u64, round: &Round<'_>) -> Result<u64, Question> {
        let line = self.find(tick, round)?;
        Ok(if shifted_tick(tick) < shifted_tick(0) {
            unshifted_ns(line.shifted().ns_at(shifted_tick(tick))).unwrap_or(0)
        } else {
            line.ns_at(tick)
        })
    }

    /// Returns the time from `earlier` to `later` in ns, by any lines; zero if they come the other
    /// way round.
    pub(crate) fn try_ns_between(
        &self,
        earlier: u64,
        later: u64,
        round: &Round<'_>,
    ) -> Result<u64, Question> {
        if later == earlier && round.clocks.ticks() == later && counter_stands(round.clocks) {
            round.answers.about(CounterFailure::Stopped)?;
        }
        if shifted_tick(later) <= shifted_tick(earlier) {
            return Ok(0);
        }
        // Convert the later tick first: it may append the record that the earlier one needs.
        let last = self.find(later, round)?;
        let first = self.find(earlier, round)?;
        Ok(line::ns_between(first, earlier, last, later))
    }

    /// Returns the newest record; `None` before [`begin`](Self::begin).
    pub(crate) fn newest(&self) -> Option<Record> {
        self.newest_with_id().map(|(_, record)| record)
    }

    #[inline(never)]
    fn newest_with_id(&self) -> Option<(Id, Record)> {
        let (id, piece, knowledge) = self.history.newest()?;
        Some((id, Record::from_words(piece, knowledge)))
    }

    /// Returns the newest record's line as if it were in use; `None` as long as there is no rate.
    /// The line in use itself may be unreadable: its writer was stopped in the middle.
    fn recorded(&self) -> Option<Current> {
        let Record { piece, end_tick, estimate, .. } = self.newest().filter(Record::has_rate)?;
        let is_identity = piece.is_identity();
        let (line, end_tick) =
            if is_identity { (Line::IDENTITY, 0) } else { (piece.main, end_tick) };
        let own = Current::new();
        own.install(line, u64::MAX, end_tick, estimate.rate);
        Some(own)
    }

    /// Returns the time at which the timeline began; `None` before [`begin`](Self::begin).
    pub(crate) fn origin_ns(&self) -> Option<u64> {
        self.oldest().map(|first| first.knee().ns)
    }

    /// Returns the timeline minus the OS clock, in ns; wraps.
    pub(crate) fn offset_ns(&self) -> u64 {
        self.history.newest().map_or(0, |(_, [], [offset_ns])| offset_ns)
    }

    /// Returns the rate now and its error in ppb; `None` if a first conversion could not be
    /// published.
    pub(crate) fn try_rate(&self, round: &Round<'_>) -> Result<Option<(Rate, u32)>, Question> {
        self.find(round.clocks.ticks(), round)?;
        let record = self.newest().filter(Record::has_rate);
        Ok(record.map(|record| (record.estimate.rate, record.estimate.rate_error_ppb)))
    }

    /// Returns the line that holds `tick`, from a record that is made now if necessary. Ticks
    /// before zero are on the first line.
    #[cold]
    #[inline(never)]
    pub(crate) fn find(&self, tick: u64, round: &Round<'_>) -> Result<Line, Question> {
        let tick = if shifted_tick(tick) < shifted_tick(0) { 0 } else { tick };
        loop {
            let Some((id, record)) = self.newest_with_id() else {
                let Some(first) = self.begin(None, round.clocks) else {
                    if self.history.head() != 0 {
                        continue;
                    }
                    return Self::unread_line(Point { tick: 0, ns: 0 }, round);
                };
                // Nothing can be published, so the record serves this conversion only.
                let alone = if first.has_rate() {
                    Some(first)
                } else {
                    self.second(0, &first, tick, round)?
                };
                return match alone {
                    Some(alone) => Ok(alone.line_at(tick)),
                    None => Self::unread_line(first.piece.knee(), round),
                };
            };
            if !record.has_rate() {
                let Some(next) = self.second(id, &record, tick, round)? else {
                    return Self::unread_line(record.piece.knee(), round);
                };
                if !self.publish(id, &next) {
                    return Ok(next.line_at(tick));
                }
                self.take_up(&next, round.clocks.look_ns());
                continue;
            }
            if tick < record.piece.start().tick {
                let Some(stretch) = self.past_stretch(tick) else { continue };
                return Ok(stretch.line);
            }
            let Some(Reach { until, .. }) = self.reach(id, &record) else { continue };
            if tick < until {
                self.install(&record, until, tick, round.clocks);
                return Ok(record.line_at(tick));
            }
            // A tick of the future needs no new record yet. But if the present is just before
            // `until`, `tick` may be the present of another core, whose counter is a little ahead.
            let near_ticks = record.estimate.rate.ticks(NEAR_NS).unwrap_or(0);
            if round.clocks.ticks().saturating_add(near_ticks) < until {
                return Ok(record.line_at(tick));
            }
            if let Some(line) = self.use_or_follow(id, &record, tick, round)? {
                return Ok(line);
            }
        }
    }

    /// Returns the line from `start` of a timeline whose OS clock has not been read twice, so that
    /// it shows no rate. If no rate is known from elsewhere and the machine declares none, the line
    /// has the rate of the fastest counter: whoever waits for a time waits too long, but not
    /// forever, and no time goes back when the rate is known.
    #[inline(never)]
    fn unread_line(start: Point, round: &Round<'_>) -> Result<Line, Question> {
        const FASTEST_HZ: u64 = 10_000_000_000;
        let rate = match round.answers.rate()? {
            Some((rate, _)) => rate,
            None => Rate::from_slope(NS_PER_S, round.clocks.declared_hz().unwrap_or(FASTEST_HZ)),
        };
        Ok(Line { start_tick: start.tick, start_ns: start.ns, rate })
    }

    /// Returns the reach of the newest record, whose id is `id`.
    #[inline(never)]
    fn reach(&self, id: Id, record: &Record) -> Option<Reach> {
        if record.is_identity() {
            return Some(Reach::EVERYWHERE);
        }
        self.history.reach(id, record.piece.knee().tick)
    }

    /// Makes `record` the line in use up to `until`.
    fn install(&self, record: &Record, until: u64, tick: u64, clocks: &dyn ClockPair) {
        if record.is_identity() {
            // The fast path needs a line that ends, but the identity never does, so install it in
            // stretches. Never install a stretch of the future: the line in use does not move back,
            // so ticks of the present would miss the fast path until then. A tick before the next
            // look needs neither a new stretch nor a look.
            if tick < self.current.next_look() {
                return;
            }
            let is_read = clocks.os_ns().is_some();
            self.outages.note(is_read, || tick);
            // If the clock went back, `tick` may be ahead of it. A stretch from `tick` would be one
            // of the future.
            if is_read && tick <= clocks.ticks() {
                let start = tick & !(FAST_NS - 1);
                let stretch = Line { start_tick: start, start_ns: start, rate: Rate::ONE };
                let last = start.saturating_add(FAST_NS - 1);
                let until = last.saturating_add(1).min(tick.saturating_add(LOOK_NS));
                self.current.install(stretch, until, last, Rate::ONE);
            }
        } else {
            let Record { piece, end_tick, estimate, .. } = *record;
            self.current.install(piece.main, until, end_tick, estimate.rate);
        }
    }

    #[inline(never)]
    fn publish(&self, after: Id, record: &Record) -> bool {
        let (piece, knowledge) = record.to_words();
        loop {
            match self.history.publish(after, &piece, &knowledge) {
                Ok(()) => return true,
                // One freed slot may not be enough: it can't be reused while its knowledge would
                // overwrite the knowledge of `after`. Then free another.
                Err(Full::Pieces) if self.make_room() => {}
                Err(_) => return false,
            }
        }
    }

    /// Returns the tick that should be read when the OS clock has the time `os_ns`. If the timeline
    /// has no rate yet, ticks have the given one. Returns `None` before [`begin`](Self::begin).
    #[inline(never)]
    pub(crate) fn expected(&self, os_ns: u64, rate: Rate) -> Option<Expected> {
        let Record { estimate, offset_ns, .. } = self.newest()?;
        let ns = os_ns.wrapping_add(offset_ns);
        if !estimate.rate.is_known() {
            let ticks = rate.ticks(ns.saturating_sub(estimate.ns))?;
            let tick = estimate.tick.saturating_add(ticks);
            return Some(Expected { tick, rate, error_ns: 0 });
        }
        let error_ns = estimate.error_after(ns.saturating_sub(estimate.ns));
        Some(Expected { tick: estimate.tick_at(ns)?, rate: estimate.rate, error_ns })
    }
}

#[cfg(test)]
mod tests;
