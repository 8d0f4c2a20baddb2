//! Traces that wait until they are decided about, between the open spans and the sinks.
//!
//! tracing's registry closes a span after its children, so the end of the root is the last one of
//! its trace. The root of a trace comes here at the end of a round; what another thread recorded
//! before comes in the next round at the latest. Then the trace is decided about.

use core::mem;
use core::ops::Range;
use core::time::Duration;
use std::collections::{HashMap, HashSet, VecDeque};

use tach_core::{Instant, UnixTime};

use crate::stats::Count;
use crate::trace::SpanContext;
use crate::trace::span::{Dropped, Span};
use crate::trace::tail::Tail;

/// How many kept traces are known, so that their late spans follow them.
const KNOWN: usize = 4096;
/// The memory of so many traces is used again.
const UNUSED: usize = 64;
/// Memory of a trace beyond this is freed.
const LARGE: usize = 64 * 1024;

pub(super) struct Waiting {
    options: Tail,
    redacted: Vec<String>,
    traces: HashMap<u128, Trace>,
    /// The traces by the time of their first span, with their numbers. Those that were decided
    /// about are passed over.
    order: VecDeque<(u128, u64)>,
    /// Traces whose root has come in this round.
    ended: Vec<u128>,
    /// Traces whose root came in the round before.
    due: Vec<u128>,
    kept: Known,
    /// Memory of traces that were decided about.
    unused: Vec<(Vec<Kept>, Vec<u8>)>,
    bytes: usize,
    next: u64,
}

struct Trace {
    number: u64,
    since: Instant,
    spans: Vec<Kept>,
    records: Vec<u8>,
    /// Whether one of the spans is reason to keep it.
    is_kept: bool,
    has_ended: bool,
}

struct Kept {
    context: SpanContext,
    start: UnixTime,
    end: UnixTime,
    is_unfinished: bool,
    records: Range<usize>,
    has_values: bool,
    dropped: Dropped,
    has_end: bool,
}

impl Waiting {
    pub(super) fn new(options: Tail, redacted: Vec<String>) -> Self {
        Self {
            options,
            redacted,
            traces: HashMap::new(),
            order: VecDeque::new(),
            ended: Vec::new(),
            due: Vec::new(),
            kept: Known::default(),
            unused: Vec::new(),
            bytes: 0,
            next: 0,
        }
    }

    pub(super) fn begin_round(&mut self) {
        self.due.append(&mut self.ended);
    }

    /// Takes a span that has ended.
    pub(super) fn span(&mut self, span: &Span<'_>, now: Instant, pass_on: impl FnOnce(&Span<'_>)) {
        let id = span.context.trace;
        if self.kept.has(id) {
            return pass_on(span);
        }
        let trace = self.traces.entry(id).or_insert_with(|| {
            self.next += 1;
            self.order.push_back((id, self.next));
            let (spans, records) = self.unused.pop().unwrap_or_default();
            let number = self.next;
            Trace { number, since: now, spans, records, is_kept: false, has_ended: false }
        });
        trace.is_kept = trace.is_kept || self.options.keeps(span);
        if span.is_local_root() && !mem::replace(&mut trace.has_ended, true) {
            self.ended.push(id);
        }
        self.bytes += trace.push(span);
    }

    /// Decides about the traces that are complete, too old, or beyond the bound of bytes.
    pub(super) fn end_round(
        &mut self,
        now: Instant,
        early: &Count,
        mut pass_on: impl FnMut(&Span<'_>),
    ) {
        let mut due = mem::take(&mut self.due);
        for trace in due.drain(..) {
            self.decide(trace, now, &mut pass_on);
        }
        self.due = due;
        while let Some(&(trace, number)) = self.order.front() {
            if let Some(oldest) = self.traces.get(&trace).filter(|trace| trace.number == number) {
                let is_old = now.saturating_duration_since(oldest.since) >= self.options.max_wait;
                if !is_old && self.bytes <= self.options.max_bytes {
                    break;
                }
                early.add(u64::from(!oldest.has_ended));
                self.decide(trace, now, &mut pass_on);
            }
            self.order.pop_front();
        }
        if self.order.len() > 2 * self.traces.len() + 64 {
            self.order.retain(|(trace, number)| {
                self.traces.get(trace).is_some_and(|known| known.number == *number)
            });
        }
        self.kept.forget(now, self.options.max_wait);
    }

    /// Decides about all traces.
    pub(super) fn finish(
        &mut self,
        now: Instant,
        early: &Count,
        mut pass_on: impl FnMut(&Span<'_>),
    ) {
        for (trace, _) in mem::take(&mut self.order) {
            if let Some(trace) = self.traces.get(&trace) {
                early.add(u64::from(!trace.has_ended));
            }
            self.decide(trace, now, &mut pass_on);
        }
        self.ended.clear();
        self.due.clear();
    }

    /// Returns whether a trace waits for the next round.
    pub(super) fn is_waiting(&self) -> bool {
        !self.ended.is_empty()
    }

    fn decide(&mut self, id: u128, now: Instant, pass_on: &mut impl FnMut(&Span<'_>)) {
        let Some(mut trace) = self.traces.remove(&id) else { return };
        self.bytes -= trace.bytes();
        if trace.is_kept || self.options.others.has(id) {
            self.kept.add(id, now);
            for span in &trace.spans {
                pass_on(&Span {
                    context: span.context,
                    start: span.start,
                    end: span.end,
                    is_unfinished: span.is_unfinished,
                    records: &trace.records[span.records.clone()],
                    has_values: span.has_values,
                    dropped: span.dropped,
                    has_end: span.has_end,
                    redacted: &self.redacted,
                });
            }
        }
        if self.unused.len() < UNUSED && trace.records.capacity() <= LARGE {
            trace.spans.clear();
            trace.records.clear();
            self.unused.push((trace.spans, trace.records));
        }
    }
}

impl Trace {
    /// Adds a span, and returns how many bytes it takes.
    fn push(&mut self, span: &Span<'_>) -> usize {
        let before = self.bytes();
        let start = self.records.len();
        self.records.extend_from_slice(span.records);
        self.spans.push(Kept {
            context: span.context,
            start: span.start,
            end: span.end,
            is_unfinished: span.is_unfinished,
            records: start..self.records.len(),
            has_values: span.has_values,
            dropped: span.dropped,
            has_end: span.has_end,
        });
        self.bytes() - before
    }

    fn bytes(&self) -> usize {
        self.records.len() + self.spans.len() * size_of::<Kept>()
    }
}

/// Traces that were kept lately.
#[derive(Default)]
struct Known {
    traces: HashSet<u128>,
    order: VecDeque<(Instant, u128)>,
}

impl Known {
    fn has(&self, trace: u128) -> bool {
        self.traces.contains(&trace)
    }

    fn add(&mut self, trace: u128, now: Instant) {
        if self.traces.insert(trace) {
            self.order.push_back((now, trace));
        }
        if self.order.len() > KNOWN {
            self.forget_first();
        }
    }

    fn forget(&mut self, now: Instant, after: Duration) {
        while self.order.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) >= after)
        {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((_, trace)) = self.order.pop_front() {
            self.traces.remove(&trace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Scratch, Time, Writer};
    use crate::level::Level;

    const WAIT: Duration = Duration::from_secs(30);
    const FAST: u64 = 5;
    const SLOW: u64 = 10;

    struct Machine {
        waiting: Waiting,
        now: Instant,
        early: Count,
        passed: Vec<(u128, u64)>,
    }

    impl Machine {
        fn new(options: Tail) -> Self {
            let options = options.slower_than(Duration::from_nanos(SLOW)).max_wait(WAIT);
            let (now, early) = (Instant::now(), Count::default());
            Self { waiting: Waiting::new(options, Vec::new()), now, early, passed: Vec::new() }
        }

        /// Ends a span that took so many nanoseconds.
        fn span(&mut self, trace: u128, span: u64, parent: u64, took: u64) {
            let context = |span| SpanContext { trace, span, is_sampled: true };
            let mut scratch = Scratch::new();
            let start = UnixTime::from_nanos(1_000);
            let parent = (parent != 0).then(|| context(parent));
            let (at, level) = (Time::Unix(start), Level::INFO);
            Writer::begin_span(&mut scratch, at, level, "app", "name", context(span), parent).end();
            let span = Span {
                context: context(span),
                start,
                end: UnixTime::from_nanos(1_000 + took),
                is_unfinished: false,
                records: scratch.written(),
                has_values: false,
                dropped: Dropped::default(),
                has_end: true,
                redacted: &[],
            };
            let Self { waiting, now, passed, .. } = self;
            waiting.span(&span, *now, |span| passed.push((span.context.trace, span.context.span)));
        }

        /// Ends a round, and returns what has been passed on.
        fn round(&mut self) -> Vec<(u128, u64)> {
            let Self { waiting, now, early, passed } = self;
            waiting.end_round(*now, early, |span| {
                assert_eq!(span.begin().unwrap().name, "name");
                passed.push((span.context.trace, span.context.span));
            });
            waiting.begin_round();
            mem::take(passed)
        }

        fn is_empty(&self) -> bool {
            self.waiting.traces.is_empty() && self.waiting.bytes == 0
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
        // The trace is known for a while.
        machine.span(1, 13, 10, FAST);
        assert_eq!(machine.round(), [(1, 13)]);
        machine.now += WAIT;
        machine.round();
        machine.span(1, 14, 0, FAST);
        machine.round();
        assert_eq!(machine.round(), []);
        assert!(machine.is_empty() && machine.waiting.kept.traces.is_empty());
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
        assert_eq!((machine.waiting.traces.len(), machine.early.get()), (1, 2));
        machine.now += WAIT / 2;
        assert_eq!(machine.round(), [(2, 31)]);
        assert!(machine.is_empty());
    }

    #[test]
    fn the_oldest_traces_are_decided_about_if_bytes_are_short() {
        let mut machine = Machine::new(Tail::ratio(0.0).max_bytes(1_000));
        machine.span(1, 11, 10, SLOW);
        let bytes = machine.waiting.bytes;
        let room = 1_000 / bytes;
        for trace in 2..=1 + room as u128 {
            assert_eq!(machine.round(), []);
            machine.span(trace, 11, 10, FAST);
        }
        assert_eq!(machine.round(), [(1, 11)]);
        assert_eq!((machine.waiting.bytes, machine.early.get()), (bytes * room, 1));
        // Traces that ended are passed over, and take no memory.
        for trace in 1_000..2_000 {
            machine.span(trace, 1, 0, FAST);
            machine.round();
        }
        machine.round();
        assert!(machine.waiting.order.len() <= 2 * machine.waiting.traces.len() + 64);
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
    fn kept_traces_are_known_up_to_a_number() {
        let mut known = Known::default();
        let now = Instant::now();
        for trace in 0..KNOWN as u128 + 3 {
            known.add(trace, now);
            known.add(trace, now);
        }
        assert_eq!((known.order.len(), known.traces.len()), (KNOWN, KNOWN));
        assert!(!known.has(2) && known.has(3));
    }
}
