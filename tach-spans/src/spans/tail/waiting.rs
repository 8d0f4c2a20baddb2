//! Holds the ended spans of a trace until it is decided whether the trace is kept.
//!
//! The registry of `tracing` closes a span after its children, so the root of a trace is the last
//! of its spans to end. The root comes here at the end of a round. A span that another thread ended
//! before comes in the next round at the latest. So the decision is made at the end of the next
//! round.

use core::mem;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;
use tach_core::Instant;

use crate::spans::kept::Kept;
use crate::spans::span::Span;
use crate::spans::tail::Tail;
use tach_record::counts::Count;

/// The memory of a waiting trace, without its spans: two entries of the map, which may be half
/// empty, and one entry of `order`.
const TRACE_BYTES: usize = 2 * size_of::<(u128, Known)>() + size_of::<(u128, u64)>();
/// The memory of a kept trace, which stays known so that its late spans are kept too: two entries
/// of the map, which may be half empty, and one entry of `kept`.
const KNOWN_BYTES: usize = 2 * size_of::<(u128, Known)>() + size_of::<(Instant, u128)>();
/// Kept traces may take this fraction of `max_bytes` (a quarter), in addition to the bytes of
/// waiting traces.
const PART_FOR_KNOWN: usize = 4;
/// The number of traces whose memory is kept for other traces.
const UNUSED: usize = 64;
/// The most bytes of records for which the memory of a trace is used again. Larger memory is freed.
const LARGE: usize = 64 * 1024;

pub struct WaitingTraces {
    options: Tail,
    redacted: Vec<String>,
    /// The waiting and the kept traces. The hash has a random key, since other services choose the
    /// ids of traces and could provoke collisions.
    pub(crate) traces: HashMap<u128, Known, RandomState>,
    /// How many of `traces` are waiting.
    undecided: usize,
    /// The ids and the numbers of the traces, in the order in which their first spans came. May
    /// contain traces that no longer wait, which are skipped.
    order: VecDeque<(u128, u64)>,
    /// Traces whose root came in this round.
    ended: Vec<u128>,
    /// Traces whose root came in the round before.
    due: Vec<u128>,
    /// The kept traces that are still known, in the order and with the times of the decisions.
    kept: VecDeque<(Instant, u128)>,
    /// The memory of traces that no longer wait, for other traces.
    unused: Vec<(Vec<Kept>, Vec<u8>)>,
    bytes: usize,
    next: u64,
}

/// A trace of which spans have ended.
pub(crate) enum Known {
    Waiting(Trace),
    /// The trace was kept a short while ago. Its late spans are kept too.
    Kept,
}

pub(crate) struct Trace {
    number: u64,
    since: Instant,
    pub(crate) spans: Vec<Kept>,
    pub(crate) records: Vec<u8>,
    /// Whether the trace must be kept because of one of its spans.
    is_kept: bool,
    has_ended: bool,
}

impl WaitingTraces {
    pub fn new(options: Tail, redacted: Vec<String>) -> Self {
        Self {
            options,
            redacted,
            traces: HashMap::default(),
            undecided: 0,
            order: VecDeque::new(),
            ended: Vec::new(),
            due: Vec::new(),
            kept: VecDeque::new(),
            unused: Vec::new(),
            bytes: 0,
            next: 0,
        }
    }

    pub fn begin_round(&mut self) {
        self.due.append(&mut self.ended);
    }

    /// Adds a span that has ended to its trace. If that trace was kept, passes the span on.
    pub fn span(&mut self, span: &Span<'_>, now: Instant, pass_on: impl FnOnce(&Span<'_>)) {
        let id = span.context.trace;
        let known = match self.traces.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                self.next += 1;
                self.undecided += 1;
                self.order.push_back((id, self.next));
                let (spans, records) = self.unused.pop().unwrap_or_default();
                let number = self.next;
                let (is_kept, has_ended) = (false, false);
                let trace = Trace { number, since: now, spans, records, is_kept, has_ended };
                self.bytes += trace.bytes();
                unknown.insert(Known::Waiting(trace))
            }
        };
        let Known::Waiting(trace) = known else { return pass_on(span) };
        trace.is_kept = trace.is_kept || self.options.keeps(span);
        if span.is_local_root() && !mem::replace(&mut trace.has_ended, true) {
            self.ended.push(id);
        }
        self.bytes += trace.push(span);
    }

    /// Decides which traces are kept, of the traces that are complete or too old. If the waiting
    /// traces exceed the bound of bytes, also decides about the oldest.
    pub fn end_round(&mut self, now: Instant, early: &Count, mut pass_on: impl FnMut(&Span<'_>)) {
        self.decide_due(now, &mut pass_on);
        while let Some(&(trace, number)) = self.order.front() {
            if let Some(oldest) = self.waiting(trace).filter(|trace| trace.number == number) {
                let is_old = now.saturating_duration_since(oldest.since) >= self.options.max_delay;
                if !is_old && self.bytes <= self.options.max_bytes {
                    break;
                }
                early.add(u64::from(!oldest.has_ended));
                self.decide(trace, now, &mut pass_on);
            }
            self.order.pop_front();
        }
        if self.order.len() > 2 * self.undecided + 64 {
            let traces = &self.traces;
            self.order.retain(|(trace, number)| match traces.get(trace) {
                Some(Known::Waiting(trace)) => trace.number == *number,
                _ => false,
            });
        }
        let max_delay = self.options.max_delay;
        let is_old = |at| now.saturating_duration_since(at) >= max_delay;
        while self.kept.front().is_some_and(|(at, _)| is_old(*at)) {
            self.forget_first();
        }
    }

    /// Decides about the traces whose root has come. Call after every record was taken, since then
    /// no span of these traces is on its way.
    pub fn flush(&mut self, now: Instant, mut pass_on: impl FnMut(&Span<'_>)) {
        self.due.append(&mut self.ended);
        self.decide_due(now, &mut pass_on);
    }

    fn decide_due(&mut self, now: Instant, pass_on: &mut impl FnMut(&Span<'_>)) {
        let mut due = mem::take(&mut self.due);
        for trace in due.drain(..) {
            self.decide(trace, now, pass_on);
        }
        self.due = due;
    }

    /// Decides about all waiting traces.
    pub fn finish(&mut self, now: Instant, early: &Count, mut pass_on: impl FnMut(&Span<'_>)) {
        for (trace, _) in mem::take(&mut self.order) {
            if let Some(trace) = self.waiting(trace) {
                early.add(u64::from(!trace.has_ended));
            }
            self.decide(trace, now, &mut pass_on);
        }
        self.ended.clear();
        self.due.clear();
    }

    /// Returns whether a trace waits for the next round.
    pub fn is_waiting(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Returns whether no trace waits, and none is kept for late spans.
    pub fn is_empty(&self) -> bool {
        self.traces.is_empty()
    }

    /// Returns a trace if it still waits for the decision.
    fn waiting(&self, id: u128) -> Option<&Trace> {
        match self.traces.get(&id)? {
            Known::Waiting(trace) => Some(trace),
            Known::Kept => None,
        }
    }

    fn most_known(&self) -> usize {
        self.options.max_bytes / PART_FOR_KNOWN / KNOWN_BYTES
    }

    /// Forgets the kept trace about which the decision was made first.
    fn forget_first(&mut self) {
        if let Some((_, trace)) = self.kept.pop_front() {
            self.traces.remove(&trace);
        }
    }

    fn decide(&mut self, id: u128, now: Instant, pass_on: &mut impl FnMut(&Span<'_>)) {
        let Entry::Occupied(mut known) = self.traces.entry(id) else { return };
        let Known::Waiting(trace) = known.get() else { return };
        let is_kept = trace.is_kept || self.options.others.has(id);
        let decided = if is_kept { known.insert(Known::Kept) } else { known.remove() };
        let Known::Waiting(mut trace) = decided else { return };
        self.undecided -= 1;
        self.bytes -= trace.bytes();
        if is_kept {
            self.kept.push_back((now, id));
            if self.kept.len() > self.most_known() {
                self.forget_first();
            }
            let spans = trace.spans.iter();
            let spans = spans.filter_map(|span| span.span(&trace.records, &self.redacted));
            spans.for_each(|span| pass_on(&span));
        }
        if self.unused.len() < UNUSED && trace.records.capacity() <= LARGE {
            trace.spans.clear();
            trace.records.clear();
            self.unused.push((trace.spans, trace.records));
        }
    }
}

impl Trace {
    /// Adds a span, and returns by how many bytes the trace's memory grows.
    fn push(&mut self, span: &Span<'_>) -> usize {
        let before = self.bytes();
        self.spans.push(Kept::new(span, &mut self.records));
        self.bytes() - before
    }

    /// Returns how much memory the trace takes.
    fn bytes(&self) -> usize {
        TRACE_BYTES + self.records.capacity() + self.spans.capacity() * size_of::<Kept>()
    }
}

impl Kept {
    /// Copies a span. Appends the records to `buffer`.
    fn new(span: &Span<'_>, buffer: &mut Vec<u8>) -> Self {
        let start = buffer.len();
        buffer.extend_from_slice(span.records);
        Self::at(span, start..buffer.len())
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use tach_core::UnixTime;

    use super::*;
    use crate::spans::span::{Dropped, first};
    use tach_record::frame::{MaybeStatic, Scratch, SpanRecord, Time, Writer};
    use tach_record::ids::SpanContext;
    use tach_record::level::Level;

    const WAIT: Duration = Duration::from_secs(30);
    const FAST: u64 = 5;
    const SLOW: u64 = 10;

    struct Machine {
        waiting: WaitingTraces,
        now: Instant,
        early: Count,
        passed: Vec<(u128, u64)>,
    }

    impl Machine {
        fn new(options: Tail) -> Self {
            let options = options.slower_than(Duration::from_nanos(SLOW)).max_delay(WAIT);
            let (now, early) = (Instant::now(), Count::default());
            Self {
                waiting: WaitingTraces::new(options, Vec::new()),
                now,
                early,
                passed: Vec::new(),
            }
        }

        /// Ends a span that took `took` nanoseconds.
        fn span(&mut self, trace: u128, span: u64, parent: u64, took: u64) {
            let context = |span| SpanContext { trace, span, is_sampled: true };
            let mut scratch = Scratch::new();
            let start = UnixTime::from_nanos(1_000);
            let (at, level) = (Time::Unix(start), Level::INFO);
            Writer::begin_span(
                &mut scratch,
                level,
                ["app", "name"].map(MaybeStatic::Static),
                &SpanRecord { context: context(span), parent, since: at, age: 0, thread: 0 },
            )
            .end();
            let span = Span {
                context: context(span),
                start,
                end: UnixTime::from_nanos(1_000 + took),
                is_unfinished: false,
                first: first(scratch.written(), &[]).unwrap(),
                records: scratch.written(),
                has_values: false,
                is_on_one_thread: true,
                dropped: Dropped::default(),
                redacted: &[],
            };
            let Self { waiting, now, passed, .. } = self;
            waiting.span(&span, *now, |span| passed.push((span.context.trace, span.context.span)));
        }

        /// Ends a round, and returns the spans that were passed on.
        fn round(&mut self) -> Vec<(u128, u64)> {
            let Self { waiting, now, early, passed } = self;
            waiting.end_round(*now, early, |span| {
                assert_eq!(span.first.0.name, "name");
                passed.push((span.context.trace, span.context.span));
            });
            waiting.begin_round();
            mem::take(passed)
        }

        fn is_empty(&self) -> bool {
            self.waiting.undecided == 0 && self.waiting.bytes == 0
        }
    }

    #[test]
    fn a_child_that_comes_a_round_after_its_root_decides_too() {
        let mut machine = Machine::new(Tail::ratio(0.0));
        machine.span(1, 11, 10, FAST);
        machine.span(1, 10, 0, FAST);
        machine.span(2, 20, 0, FAST);
        assert!(machine.waiting.is_waiting());
        assert_eq!(machine.round(), []);
        machine.span(1, 12, 10, SLOW);
        assert_eq!(machine.round(), [(1, 11), (1, 10), (1, 12)]);
        assert!(machine.is_empty() && !machine.waiting.is_waiting());
        // The kept trace stays known for a while.
        machine.span(1, 13, 10, FAST);
        assert_eq!(machine.round(), [(1, 13)]);
        machine.now += WAIT;
        machine.round();
        machine.span(1, 14, 0, FAST);
        machine.round();
        assert_eq!(machine.round(), []);
        assert!(machine.is_empty() && machine.waiting.traces.is_empty());
        assert_eq!(machine.early.get(), 0);
    }

    #[test]
    fn a_trace_whose_root_does_not_end_is_decided_about_in_time() {
        let mut machine = Machine::new(Tail::ratio(0.5));
        machine.span(1, 11, 10, FAST);
        machine.span(u128::MAX, 21, 20, FAST);
        machine.now += WAIT / 2;
        machine.span(2, 31, 30, SLOW);
        assert_eq!(machine.round(), []);
        machine.now += WAIT / 2;
        assert_eq!(machine.round(), [(1, 11)], "the ratio decides");
        assert_eq!((machine.waiting.undecided, machine.early.get()), (1, 2));
        machine.now += WAIT / 2;
        assert_eq!(machine.round(), [(2, 31)]);
        assert!(machine.is_empty());
    }

    #[test]
    fn the_oldest_traces_are_decided_about_if_bytes_are_short() {
        let mut machine = Machine::new(Tail::ratio(0.0).max_bytes(10_000));
        machine.span(1, 11, 10, SLOW);
        let bytes = machine.waiting.bytes;
        // Other tests may use up the numbers of texts. A span then contains a copy, and a few bytes
        // more.
        let decided = (2..100).find_map(|trace| {
            let decided = machine.round();
            assert!(machine.waiting.bytes <= 10_000);
            machine.span(trace, 11, 10, FAST);
            Some(decided).filter(|decided| !decided.is_empty())
        });
        assert_eq!(decided.as_deref(), Some(&[(1, 11)][..]));
        assert_eq!(machine.early.get(), 1);
        assert!(machine.waiting.bytes > 10_000 - 2 * bytes);
        // Traces that no longer wait are removed from `order`, so they take no memory there.
        for trace in 1_000..2_000 {
            machine.span(trace, 1, 0, FAST);
            machine.round();
        }
        machine.round();
        assert!(machine.waiting.order.len() <= 2 * machine.waiting.undecided + 64);
    }

    #[test]
    fn nothing_waits_after_a_flush() {
        let mut machine = Machine::new(Tail::ratio(0.0));
        machine.span(1, 10, 0, SLOW);
        machine.span(2, 21, 20, SLOW);
        machine.span(3, 31, 30, FAST);
        let Machine { waiting, now, early, passed } = &mut machine;
        waiting.finish(*now, early, |span| passed.push((span.context.trace, span.context.span)));
        assert_eq!(machine.round(), [(1, 10), (2, 21)]);
        assert!(machine.is_empty() && !machine.waiting.is_waiting());
        assert_eq!(machine.early.get(), 2);
    }

    #[test]
    fn kept_traces_are_known_up_to_a_part_of_the_bytes() {
        let known = 10_000;
        let bytes = known * KNOWN_BYTES * PART_FOR_KNOWN;
        let mut machine = Machine::new(Tail::ratio(1.0).max_bytes(bytes));
        for trace in 1..=known as u128 + 3 {
            machine.span(trace, 1, 0, FAST);
        }
        (0..2).for_each(|_| drop(machine.round()));
        assert_eq!((machine.waiting.kept.len(), machine.waiting.traces.len()), (known, known));
        machine.span(4, 2, 1, FAST);
        machine.span(3, 2, 1, FAST);
        assert_eq!(machine.passed, [(4, 2)], "the oldest are unknown again");
    }
}
