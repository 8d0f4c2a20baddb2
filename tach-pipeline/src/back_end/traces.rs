//! Traces: the spans that are open, and those that wait until their trace is decided about.

mod durations;
mod flight;
mod lost_ends;
mod spans;
mod tail;

use std::sync::Arc;

use tach_core::{Instant, UnixTime};

use self::durations::Timed;
pub(crate) use self::flight::Recorder;
use self::spans::Spans;
use self::tail::Waiting;
use super::inbox::QueueId;
use crate::durations::Collected;
use crate::frame::Frame;
use crate::shared::Shared;
use crate::trace::span::Span;
use crate::trace::tail::Tail;

pub(super) struct Traces {
    shared: Arc<Shared>,
    spans: Spans,
    ended: Ended,
}

/// The way of spans that have ended to the sinks.
struct Ended {
    timed: Timed,
    /// `None` without a flight recorder.
    flight: Option<Recorder>,
    /// `None` if every trace is kept.
    tail: Option<Waiting>,
}

impl Traces {
    pub(super) fn new(
        shared: Arc<Shared>,
        tail: Option<Tail>,
        flight: Option<Recorder>,
        redacted: &[String],
        most_events: u32,
    ) -> Self {
        let tail = tail.map(|options| Waiting::new(options, redacted.to_vec()));
        let spans = Spans::new(redacted.to_vec(), most_events, shared.durations.is_some());
        Self { shared, spans, ended: Ended { timed: Timed::default(), flight, tail } }
    }

    pub(super) fn begin_round(&mut self) {
        self.spans.begin_round();
        if let Some(tail) = &mut self.ended.tail {
            tail.begin_round();
        }
    }

    /// Takes a part of a span, which happened at `time`, out of a queue.
    pub(super) fn part(&mut self, record: &[u8], time: UnixTime, queue: QueueId) {
        self.spans.part(record, time, queue);
    }

    /// Takes an event for the flight recorder, whether or not it is written.
    #[inline]
    pub(super) fn recorded(&mut self, record: &[u8], time: UnixTime) {
        if let Some(flight) = &mut self.ended.flight {
            flight.event(record, time);
        }
    }

    /// Answers requests for dumps at the end of a round, and begins a file if a span was slow.
    pub(super) fn end_flight(&mut self, now: UnixTime) {
        if let Some(flight) = &mut self.ended.flight {
            flight.end_round(&self.spans, now);
        }
    }

    /// Takes an event, which may have happened in a span.
    pub(super) fn event(&mut self, record: &Frame<'_>, time: UnixTime) {
        self.spans.event(record, time);
    }

    /// Takes an event that was kept for a while. Its span may have ended.
    pub(super) fn released(&mut self, record: &Frame<'_>, time: UnixTime) {
        self.spans.released(record, time);
    }

    /// Ends the round that began at `start`. Passes on the spans that are kept, of those that ended
    /// in the round before.
    pub(super) fn end_round(&mut self, start: UnixTime, mut pass_on: impl FnMut(&Span<'_>)) {
        let Self { shared, spans, ended } = self;
        let durations = shared.durations.as_ref();
        spans.end_round(|span| ended.span(span, durations, &mut pass_on));
        shared.counts.spanless.add(spans.take_spanless());
        if let Some(tail) = &mut ended.tail {
            tail.end_round(Instant::now(), &shared.counts.early, pass_on);
        }
        if let Some(contexts) = &shared.contexts {
            spans.end_lost(contexts, start);
        }
    }

    /// Passes on the spans that are kept, of all that have ended, since every record was taken. If
    /// the process ends, also those that are open, if that is wanted.
    pub(super) fn finish(&mut self, process_ends: bool, mut pass_on: impl FnMut(&Span<'_>)) {
        let Self { shared, spans, ended } = self;
        let durations = shared.durations.as_ref();
        spans.finish(|span| ended.span(span, durations, &mut pass_on));
        shared.counts.spanless.add(spans.take_spanless());
        if process_ends && shared.sends_unfinished {
            let (time, wall) = (shared.clock_time(), shared.now());
            spans.unfinished(time, wall, |span| ended.span(span, durations, &mut pass_on));
        }
        if let Some(tail) = &mut ended.tail {
            tail.finish(Instant::now(), &shared.counts.early, pass_on);
        }
    }

    /// Records were dropped, maybe the ends of spans.
    pub(super) fn suspect_lost_ends(&mut self) {
        self.spans.suspect_lost_ends();
    }

    /// Returns whether a record or a span waits for the next round.
    pub(super) fn are_waiting(&self) -> bool {
        self.spans.are_waiting() || self.ended.tail.as_ref().is_some_and(Waiting::is_waiting)
    }

    /// Frees memory that was not needed since the last call.
    pub(super) fn trim(&mut self) {
        self.spans.trim();
    }
}

impl Ended {
    /// Counts the duration. Has the flight recorder keep a span that is sampled, and passes the
    /// span on, or has it wait until its trace is decided about.
    fn span(
        &mut self,
        span: &Span<'_>,
        durations: Option<&Collected>,
        pass_on: &mut impl FnMut(&Span<'_>),
    ) {
        if let Some(durations) = durations {
            self.timed.span(span, durations);
        }
        if !span.context.is_sampled {
            return;
        }
        if let Some(flight) = &mut self.flight {
            flight.span(span);
        }
        match &mut self.tail {
            Some(tail) => tail.span(span, Instant::now(), pass_on),
            None => pass_on(span),
        }
    }
}

#[cfg(all(test, feature = "tracing"))]
mod tests {
    use core::time::Duration;

    use log::LevelFilter;

    use super::*;
    use crate::durations::options::Durations;
    use crate::filter::{Filters, Levels};
    use crate::frame::{RecordKind, Scratch, Time, Wanted, Writer};
    use crate::level::Level;
    use crate::queue::WhenFull;
    use crate::stats::Counts;
    use crate::trace::SpanContext;

    /// A pipeline that collects durations, whose clock the test sets. Each span is a trace.
    struct Machine {
        traces: Traces,
        passed: Vec<u64>,
    }

    impl Machine {
        fn new() -> Self {
            Self::with(None)
        }

        fn with(tail: Option<Tail>) -> Self {
            let filters = Filters::new(Levels::all(LevelFilter::Info), None, LevelFilter::Info);
            let mut wanted = Wanted::default();
            (wanted.spans, wanted.durations) = (true, true);
            let (when_full, counts) = (WhenFull::Block, Counts::default());
            let mut shared = Shared::new(filters, None, wanted, 4096, when_full, None, counts);
            shared.durations = Some(Collected::new(Durations::new(), UnixTime::EPOCH));
            shared.sends_unfinished = true;
            Self { traces: Traces::new(Arc::new(shared), tail, None, &[], 128), passed: Vec::new() }
        }

        /// Takes the start or the end of a span, when the wall clock shows `wall` seconds.
        fn part(&mut self, kind: RecordKind, span: u64, at: Instant, wall: u64) {
            let context = SpanContext { trace: span.into(), span, is_sampled: true };
            let (mut scratch, at) = (Scratch::new(), Time::Ticks(at));
            if kind == RecordKind::Start {
                let level = Level::INFO;
                let mut to =
                    Writer::begin_span(&mut scratch, at, level, "app", "name", context, None);
                if span % 2 == 0 {
                    to.unsampled();
                }
                to.end();
            } else {
                Writer::begin_part(&mut scratch, at, kind, context).end();
            }
            let time = UnixTime::from_nanos(wall * 1_000_000_000);
            self.traces.part(scratch.written(), time, QueueId::of(1));
        }

        fn round(&mut self) {
            let Self { traces, passed } = self;
            traces.begin_round();
            traces.end_round(UnixTime::EPOCH, |span| passed.push(span.context.span));
        }

        fn durations(&self) -> Vec<(u64, Duration)> {
            let all = self.traces.shared.durations.as_ref().unwrap().snapshot();
            all.iter().map(|spans| (spans.count(), spans.sum())).collect()
        }
    }

    #[test]
    fn a_step_of_the_wall_clock_bends_no_duration() {
        let begin = Instant::now();
        for span in [1, 2] {
            let mut machine = Machine::new();
            machine.part(RecordKind::Start, span, begin, 1_000);
            machine.part(RecordKind::End, span, begin + Duration::from_secs(5), 20);
            (0..2).for_each(|_| machine.round());
            let [(1, took)] = machine.durations()[..] else { panic!("{:?}", machine.durations()) };
            // The rate of the ticks may be corrected meanwhile.
            assert!(took.abs_diff(Duration::from_secs(5)) < Duration::from_millis(1), "{took:?}");
            assert_eq!(machine.passed.len(), usize::from(span == 1), "one is not sampled");
        }
    }

    #[test]
    fn a_span_whose_end_was_dropped_has_no_duration() {
        let mut machine = Machine::new();
        let now = Instant::now();
        (1..=3).for_each(|span| machine.part(RecordKind::Start, span, now, 1));
        machine.part(RecordKind::End, 3, now, 1);
        machine.traces.suspect_lost_ends();
        (0..8).for_each(|_| machine.round());
        machine.passed.sort_unstable();
        assert_eq!(machine.passed, [1, 3], "the ends are found missing");
        assert_eq!(machine.durations(), [(1, Duration::ZERO)]);
        assert!(!machine.traces.are_waiting());
    }

    #[test]
    fn a_span_whose_end_was_dropped_is_not_slow() {
        let mut machine = Machine::with(Some(Tail::ratio(0.0).slower_than(Duration::ZERO)));
        let now = Instant::now();
        for span in [1, 3] {
            machine.part(RecordKind::Start, span, now, 1);
        }
        machine.part(RecordKind::End, 3, now, 1);
        machine.traces.suspect_lost_ends();
        (0..8).for_each(|_| machine.round());
        assert_eq!(machine.passed, [3]);
    }

    #[test]
    fn records_of_unknown_spans_are_counted() {
        let mut machine = Machine::new();
        machine.part(RecordKind::End, 1, Instant::now(), 1);
        (0..3).for_each(|_| machine.round());
        let count = |machine: &Machine| machine.traces.shared.counts.stats().spanless_records();
        assert_eq!(count(&machine), 1);
        machine.part(RecordKind::End, 1, Instant::now(), 1);
        machine.traces.finish(false, |_| {});
        assert_eq!(count(&machine), 2);
    }

    #[test]
    fn a_span_that_is_sent_unfinished_has_no_duration_yet() {
        let mut machine = Machine::new();
        let now = Instant::now();
        (1..=2).for_each(|span| machine.part(RecordKind::Start, span, now, 1));
        let Machine { traces, passed } = &mut machine;
        traces.finish(true, |span| passed.push(span.context.span));
        assert_eq!((&*machine.passed, machine.durations()), (&[1][..], vec![]));
        machine.part(RecordKind::End, 1, now, 1);
        (0..2).for_each(|_| machine.round());
        assert_eq!(
            (&*machine.passed, machine.durations()),
            (&[1, 1][..], vec![(1, Duration::ZERO)])
        );
    }
}
