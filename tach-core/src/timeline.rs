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

mod discipline;
mod line;
mod record;
mod versioned;

pub(crate) use self::line::Rate;
use self::line::{FAST_NS, FastRate, Line};
pub(crate) use self::record::BackwardStep;
pub(crate) use self::record::Record;
use self::record::{RECORD_WORDS, SPIN_NS};
use self::versioned::{FIRST_VERSION, Versioned};
use crate::sample::{Reference, Sample};
use crate::sync::{AtomicBool, AtomicU64, Ordering, Padded};

/// Records kept: a power of two. In a busy process each covers a second, in an idle one any time.
const KEPT: usize = 32;
/// Generations past the head that appenders may claim at once. More than that many, all stopped in
/// the middle of an append, make the next one convert by a record that it does not publish.
const CLAIMS: u64 = 8;
/// Samples that the start-up spin takes at most, should the OS clock stand still.
const MAX_SPINS: u32 = 10_000;

#[derive(Debug)]
pub(crate) struct Timeline {
    /// A copy of the line in use, for the fast path.
    current: Padded<Current>,
    /// The generation of the newest record, which is its slot's version; 0 before the first.
    head: Padded<AtomicU64>,
    /// Somebody is preparing the successor, so that the others need not. A hint: nobody waits for
    /// it, and one that is never taken back (by a thread that a `fork` left behind) costs nothing
    /// but preparation.
    preparing: AtomicBool,
    /// Generation `g` is in slot `g % KEPT`. A slot may also hold a generation that was never
    /// published: only a record's `previous` leads to another.
    ring: [Versioned<RECORD_WORDS>; KEPT],
    backward: BackwardStep,
}

impl Timeline {
    pub(crate) const fn new(backward: BackwardStep) -> Self {
        Self {
            current: Padded(Current::new()),
            head: Padded(AtomicU64::new(0)),
            preparing: AtomicBool::new(false),
            ring: [const { Versioned::new([0; RECORD_WORDS]) }; KEPT],
            backward,
        }
    }

    /// Begins here, unless it has begun already.
    pub(crate) fn begin(&self, reference: &impl Reference) {
        if self.generation() == 0 {
            let first = if reference.is_identity() {
                Record::identity(reference.os_ns())
            } else {
                Record::first(&Sample::take(reference, 0))
            };
            self.publish(0, &first);
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

    /// The first tick that is `ns` or more after `tick`; `None` past the range of ticks.
    pub(crate) fn tick_after(&self, tick: u64, ns: u64, reference: &impl Reference) -> Option<u64> {
        let line = self.find(tick, reference);
        if let Some(target) = line.rate.ticks(ns).and_then(|ticks| tick.checked_add(ticks)) {
            if self.find(target, reference) == line {
                return Some(target);
            }
        }
        self.tick_at(line.ns_at(tick).checked_add(ns)?)
    }

    /// The last tick that is `ns` or more before `tick`; `None` before the range of ticks.
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
        self.tick_at(line.ns_at(tick).checked_sub(ns)?)
    }

    /// The newest record; `None` before [`begin`](Self::begin).
    pub(crate) fn newest(&self) -> Option<Record> {
        self.newest_with_generation().map(|(_, record)| record)
    }

    /// The line that tells the time at `tick`, from a record that is made now if need be.
    #[cold]
    fn find(&self, tick: u64, reference: &impl Reference) -> Line {
        loop {
            if let Some(line) = self.older_line(|start| start.tick <= tick) {
                return line;
            }
            let Some((generation, record)) = self.newest_with_generation() else {
                self.begin(reference);
                continue;
            };
            if record.has_rate() {
                if tick < record.start_tick {
                    // A record was published after `older_line` had looked: now it is an older one.
                    continue;
                }
                if tick < record.end_tick {
                    self.use_record(generation, &record, tick, reference);
                    return record.line_at(tick);
                }
                // Another core's counter may be a little ahead of this one's: that is not the
                // future yet, since a successor can be made already.
                if reference.ticks() < record.due_tick() {
                    return record.main_line();
                }
            }
            let next = self.make_next(generation, &record, tick, reference);
            if !self.publish(generation, &next) {
                return next.line_at(tick);
            }
        }
    }

    /// Serves the fast path from `record`, and prepares its successor when it is due.
    fn use_record(&self, generation: u64, record: &Record, tick: u64, reference: &impl Reference) {
        if tick < record.knee_tick {
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
            self.current.0.install(record.main_line(), record.due_tick());
        } else if self.start_preparing() {
            let next = self.make_next(generation, record, tick, reference);
            self.publish(generation, &next);
            self.current.0.install(record.main_line(), record.end_tick);
            self.end_preparing();
        }
    }

    /// The successor of `record`, made for the sake of `tick`.
    fn make_next(
        &self,
        generation: u64,
        record: &Record,
        tick: u64,
        reference: &impl Reference,
    ) -> Record {
        let sample = || Sample::take(reference, record.best_width_ticks);
        if record.has_rate() {
            return record.next(generation, tick, &sample(), self.backward);
        }
        if let Some((rate, error_ppb)) = reference.known_rate() {
            let seeded = record.seeded(rate, error_ppb);
            return seeded.next(generation, tick, &sample(), self.backward);
        }
        let mut taken = sample();
        for _ in 0..MAX_SPINS {
            if taken.ns.saturating_sub(record.knee_ns) >= SPIN_NS {
                break;
            }
            taken = sample();
        }
        record.next(generation, tick, &taken, self.backward)
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

    /// Makes `record` the successor of generation `after`. Whether `after` has a successor then: if
    /// so, it is this record or another's.
    fn publish(&self, after: u64, record: &Record) -> bool {
        let words = record.to_words();
        for generation in after + 1..=after + CLAIMS {
            if self.slot(generation).try_write(generation, &words) {
                // ORDERING: Release, with the Acquire in `generation`: whoever sees the generation
                // finds it in its slot. Relaxed on failure: the caller looks again.
                let _ = self.head.0.compare_exchange(
                    after,
                    generation,
                    Ordering::Release,
                    Ordering::Relaxed,
                );
                return true;
            }
        }
        self.generation() != after
    }

    fn newest_with_generation(&self) -> Option<(u64, Record)> {
        loop {
            let generation = self.generation();
            if generation == 0 {
                return None;
            }
            // A reader that slept for a whole ring finds a later generation, and looks again.
            if let Some(words) = self.words_of(generation) {
                return Some((generation, Record::from_words(words)));
            }
        }
    }

    /// The newest line whose start is as `wanted`, if it is older than the newest record. Beyond the
    /// oldest record that is kept, a straight line leads from there to the origin.
    ///
    /// It reads of each record no more than it needs: an interval that began a while ago asks for
    /// this every time.
    fn older_line(&self, wanted: impl Fn(Point) -> bool) -> Option<Line> {
        let [mut generation, tick, ns] = self.words_of(self.generation())?;
        let mut oldest = Point { tick, ns };
        if generation == 0 || wanted(oldest) {
            return None;
        }
        while let Some([previous, tick, ns]) = self.words_of(generation) {
            oldest = Point { tick, ns };
            if wanted(oldest) {
                let Some(words) = self.words_of(generation) else { break };
                let (gap, main) = record::lines(words);
                let knee = Point { tick: main.start_tick, ns: main.start_ns };
                return Some(if wanted(knee) { main } else { gap });
            }
            generation = previous;
        }
        let origin = self.newest()?.origin;
        if !wanted(Point { tick: origin.start_tick, ns: origin.start_ns }) {
            return Some(origin);
        }
        let ticks = oldest.tick.saturating_sub(origin.start_tick);
        let ns = oldest.ns.saturating_sub(origin.start_ns);
        Some(Line { rate: Rate::from_slope(ns, ticks), ..origin })
    }

    /// The first tick at which the time is `ns` or later.
    fn tick_at(&self, ns: u64) -> Option<u64> {
        if let Some(line) = self.older_line(|start| start.ns <= ns) {
            return line.tick_at(ns);
        }
        let newest = self.newest()?;
        let after_knee = ns >= newest.knee_ns;
        newest.line_at(if after_knee { newest.knee_tick } else { newest.start_tick }).tick_at(ns)
    }

    fn words_of<const N: usize>(&self, generation: u64) -> Option<[u64; N]> {
        let (found, words) = self.slot(generation).read()?;
        (found == generation && generation >= FIRST_VERSION).then_some(words)
    }

    #[expect(clippy::cast_possible_truncation, reason = "KEPT divides every power of two above it")]
    fn slot(&self, generation: u64) -> &Versioned<RECORD_WORDS> {
        &self.ring[generation as usize % KEPT]
    }

    fn generation(&self) -> u64 {
        // ORDERING: Acquire, with the Release in `publish`.
        self.head.0.load(Ordering::Acquire)
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

/// A point that a line starts at.
#[derive(Debug, Clone, Copy)]
struct Point {
    tick: u64,
    ns: u64,
}

/// The line in use: start tick, rate, and start ns. Its version is the tick up to which it may be
/// used, which rises with every line: so whoever has compared that tick with his own has checked
/// that there is a line at all.
#[derive(Debug)]
struct Current(Versioned<3>);

impl Current {
    /// No line, and a start that no tick reaches.
    const fn new() -> Self {
        Self(Versioned::new([u64::MAX, 0, 0]))
    }

    /// The time at `tick`, if the line covers it.
    #[inline]
    fn ns_at(&self, tick: u64) -> Option<u64> {
        let (until, [start_tick, q32, start_ns]) = self.0.read()?;
        let covered = start_tick <= tick && tick < until;
        covered.then(|| start_ns.wrapping_add(FastRate::from_q32(q32).ns(tick - start_tick)))
    }

    /// The time from `earlier` to `later`, if the line covers both and they come in this order. It
    /// needs no start ns, and so reads two words only.
    #[inline]
    fn ns_between(&self, earlier: u64, later: u64) -> Option<u64> {
        let (until, [start_tick, q32]) = self.0.read()?;
        let covered = start_tick <= earlier && earlier <= later && later < until;
        covered.then(|| FastRate::from_q32(q32).ns(later - earlier))
    }

    /// The line, if it covers `tick`.
    fn line_at(&self, tick: u64) -> Option<Line> {
        let (until, [start_tick, q32, start_ns]) = self.0.read()?;
        let rate = FastRate::from_q32(q32).into();
        (start_tick <= tick && tick < until).then_some(Line { start_tick, start_ns, rate })
    }

    /// Uses `line` from its start to the tick `until`.
    fn install(&self, line: Line, until: u64) {
        self.0.try_write(until, &[line.start_tick, FastRate::of(line.rate).q32(), line.start_ns]);
    }
}

#[cfg(test)]
mod tests;
