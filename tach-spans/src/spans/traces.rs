//! Holds spans until they have ended and are passed on.

use tach_core::UnixTime;

use super::open::Spans;
use super::span::Span;
use super::timed::Timed;
use crate::durations::Collected;
use crate::trace::Contexts;
use tach_record::counts::Count;
use tach_record::frame::Time;

pub struct Traces {
    pub spans: Spans,
    timed: Timed,
}

/// The shared state that the back end passes to the methods of [`Traces`] in each round.
#[derive(Clone, Copy)]
pub struct Round<'a> {
    pub contexts: &'a Contexts,
    /// `None` if no durations are collected.
    pub durations: Option<&'a Collected>,
    /// Counts the records whose span is not known.
    pub spanless: &'a Count,
}

impl Traces {
    /// If `takes_unsampled`, also collects the durations of spans that are not sampled.
    pub fn new(redacted: &[String], most_events: u32, takes_unsampled: bool) -> Self {
        let spans = Spans::new(redacted.to_vec(), most_events, takes_unsampled);
        Self { spans, timed: Timed::default() }
    }

    /// Ends a round. Passes on the sampled spans that ended in the round before.
    pub fn end_round(&mut self, round: &Round<'_>, mut pass_on: impl FnMut(&Span<'_>)) {
        let Self { spans, timed } = self;
        spans.end_round(|span| timed.ended(span, round.durations, &mut pass_on));
        round.spanless.add(spans.take_spanless());
        spans.end_lost(round.contexts);
    }

    /// Passes on all sampled spans that have ended. Call after every record was taken.
    pub fn finish(&mut self, round: &Round<'_>, mut pass_on: impl FnMut(&Span<'_>)) {
        let Self { spans, timed } = self;
        spans.finish(|span| timed.ended(span, round.durations, &mut pass_on));
        round.spanless.add(spans.take_spanless());
    }

    /// Passes on the sampled spans that are open. `time` is the current time by the pipeline's
    /// clock, and `wall` the current time by the wall clock.
    pub fn unfinished(&mut self, time: Time, wall: UnixTime, mut pass_on: impl FnMut(&Span<'_>)) {
        self.spans.unfinished(time, wall, |span| {
            if span.context.is_sampled {
                pass_on(span);
            }
        });
    }

    /// Calls `each` with the sampled spans that were not passed on yet.
    pub fn waiting(&self, now: UnixTime, each: &mut dyn FnMut(&Span<'_>)) {
        self.spans.waiting(now, each);
    }

    /// Marks the open spans as incomplete, and begins to search for spans whose end was dropped.
    /// Call after more was dropped of spans than their remains say. `wall` is the current time.
    pub fn suspect_loss(&mut self, wall: UnixTime) {
        self.spans.suspect_loss(wall);
    }

    /// Returns whether a record waits for the next round.
    pub fn are_waiting(&self) -> bool {
        self.spans.are_waiting()
    }

    /// Frees memory that was not needed since the last call.
    pub fn trim(&mut self) {
        self.spans.trim();
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use tach_core::Instant;

    use super::*;
    use crate::durations::options::Durations;
    use crate::spans::slow::Slow;
    use tach_record::frame::{RecordKind, Scratch, Writer};
    use tach_record::ids::SpanContext;
    use tach_record::level::Level;
    use tach_record::queue::QueueId;

    /// A pipeline that collects durations, whose clock the test sets. Each span is a trace.
    struct Machine {
        traces: Traces,
        contexts: Contexts,
        durations: Collected,
        spanless: Count,
        /// If set, only slow spans are passed on.
        slow: Option<Slow>,
        passed: Vec<u64>,
    }

    impl Machine {
        fn new() -> Self {
            Self::with(None)
        }

        fn with(slow: Option<Slow>) -> Self {
            Self {
                traces: Traces::new(&[], 128, true),
                contexts: Contexts::new(0, true),
                durations: Collected::new(Durations::new(), UnixTime::EPOCH),
                spanless: Count::default(),
                slow,
                passed: Vec::new(),
            }
        }

        /// Calls `f` with the state of a round.
        fn with_round(
            &mut self,
            f: impl FnOnce(&mut Traces, &Round<'_>, &mut dyn FnMut(&Span<'_>)),
        ) {
            let Self { traces, contexts, durations, spanless, slow, passed } = self;
            let round = Round { contexts, durations: Some(durations), spanless };
            f(traces, &round, &mut |span| {
                if slow.as_ref().is_none_or(|slow| slow.has(span)) {
                    passed.push(span.context.span);
                }
            });
        }

        /// Adds the start or the end of a span. The wall clock shows `wall` seconds at that moment.
        fn part(&mut self, kind: RecordKind, span: u64, at: Instant, wall: u64) {
            let context = SpanContext { trace: span.into(), span, is_sampled: true };
            let (mut scratch, at) = (Scratch::new(), Time::Ticks(at));
            if kind == RecordKind::Start {
                let level = Level::INFO;
                let mut to = Writer::begin_span(&mut scratch, at, level, "app", "name", context, 0);
                if span % 2 == 0 {
                    to.unsampled();
                }
                to.end();
            } else {
                Writer::begin_part(&mut scratch, at, kind, context).end();
            }
            let time = UnixTime::from_nanos(wall * 1_000_000_000);
            self.traces.spans.part(scratch.written(), time, QueueId(1));
        }

        fn round(&mut self) {
            self.with_round(|traces, round, pass_on| {
                traces.spans.begin_round();
                traces.end_round(round, pass_on);
            });
        }

        fn durations(&self) -> Vec<(u64, Duration)> {
            let all = self.durations.snapshot();
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
            // Allow a difference, since the rate of the ticks may be corrected meanwhile.
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
        machine.traces.suspect_loss(UnixTime::EPOCH);
        (0..8).for_each(|_| machine.round());
        machine.passed.sort_unstable();
        assert_eq!(machine.passed, [1, 3], "the ends are found missing");
        assert_eq!(machine.durations(), [(1, Duration::ZERO)]);
        assert!(!machine.traces.are_waiting());
    }

    #[test]
    fn a_span_whose_end_was_dropped_is_not_slow() {
        let mut slow = Slow::default();
        slow.others(Duration::ZERO);
        let mut machine = Machine::with(Some(slow));
        let now = Instant::now();
        for span in [1, 3] {
            machine.part(RecordKind::Start, span, now, 1);
        }
        machine.part(RecordKind::End, 3, now, 1);
        machine.traces.suspect_loss(UnixTime::EPOCH);
        (0..8).for_each(|_| machine.round());
        assert_eq!(machine.passed, [3]);
    }

    #[test]
    fn records_of_unknown_spans_are_counted() {
        let mut machine = Machine::new();
        machine.part(RecordKind::End, 1, Instant::now(), 1);
        (0..3).for_each(|_| machine.round());
        assert_eq!(machine.spanless.get(), 1);
        machine.part(RecordKind::End, 1, Instant::now(), 1);
        machine.with_round(|traces, round, pass_on| traces.finish(round, pass_on));
        assert_eq!(machine.spanless.get(), 2);
    }

    #[test]
    fn a_span_that_is_sent_unfinished_has_no_duration_yet() {
        let mut machine = Machine::new();
        let now = Instant::now();
        (1..=2).for_each(|span| machine.part(RecordKind::Start, span, now, 1));
        let wall = UnixTime::EPOCH;
        machine.with_round(|traces, round, pass_on| {
            traces.finish(round, &mut *pass_on);
            traces.unfinished(Time::Ticks(now), wall, pass_on);
        });
        assert_eq!((&*machine.passed, machine.durations()), (&[1][..], vec![]));
        machine.part(RecordKind::End, 1, now, 1);
        (0..2).for_each(|_| machine.round());
        assert_eq!(
            (&*machine.passed, machine.durations()),
            (&[1, 1][..], vec![(1, Duration::ZERO)])
        );
    }
}
