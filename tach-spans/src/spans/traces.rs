//! Holds spans until they have ended and are passed on.

use tach_core::UnixTime;

use super::open::Spans;
use super::span::Span;
use super::timed::Timed;
use crate::durations::Collected;
use crate::trace::Contexts;
use tach_record::counts::Count;

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
        spans.end_round(round.contexts, |span| {
            timed.ended(span, round.durations, &mut pass_on);
        });
        round.spanless.add(spans.take_spanless());
    }

    /// Passes on all sampled spans that have ended. Call after every record was taken.
    pub fn finish(&mut self, round: &Round<'_>, mut pass_on: impl FnMut(&Span<'_>)) {
        let Self { spans, timed } = self;
        spans.finish(|span| timed.ended(span, round.durations, &mut pass_on));
        round.spanless.add(spans.take_spanless());
    }

    /// Passes on the sampled spans that were [seen](Spans::seen) open.
    pub fn unfinished(&mut self, mut pass_on: impl FnMut(&Span<'_>)) {
        self.spans.unfinished(&mut pass_on);
    }

    /// Calls `each` with the sampled spans that were not passed on yet.
    pub fn waiting(&self, each: &mut dyn FnMut(&Span<'_>)) {
        self.spans.waiting(each);
    }

    /// Begins to look for spans whose records were dropped, and marks as incomplete all spans that
    /// began before. Call after more was dropped of spans than their remains say. `wall` is the
    /// current time.
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
    use tach_record::frame::{Code, MaybeStatic, Scratch, SpanRecord, Time, Writer};
    use tach_record::ids::SpanContext;
    use tach_record::level::Level;

    /// A pipeline that collects durations, with a clock that the test sets. Each span is a trace.
    struct Machine {
        traces: Traces,
        contexts: Contexts,
        durations: Collected,
        spanless: Count,
        passed: Vec<u64>,
    }

    impl Machine {
        fn new() -> Self {
            Self {
                traces: Traces::new(&[], 128, true),
                contexts: Contexts::new(0, true),
                durations: Collected::new(Durations::new(), UnixTime::EPOCH),
                spanless: Count::default(),
                passed: Vec::new(),
            }
        }

        /// Calls `f` with the state of a round.
        fn with_round(
            &mut self,
            f: impl FnOnce(&mut Traces, &Round<'_>, &mut dyn FnMut(&Span<'_>)),
        ) {
            let Self { traces, contexts, durations, spanless, passed } = self;
            let round = Round { contexts, durations: Some(durations), spanless };
            f(traces, &round, &mut |span| passed.push(span.context.span));
        }

        /// Adds a span. The wall clock shows `wall` seconds at its end.
        fn span(&mut self, span: u64, since: Instant, end: Instant, wall: u64) {
            let context = SpanContext { trace: span.into(), span, is_sampled: span % 2 == 1 };
            let since = Time::Ticks(since);
            let record = SpanRecord { context, parent: 0, since, age: 0, thread: 0 };
            let mut scratch = Scratch::new();
            let texts = ["app", "name"].map(MaybeStatic::Static);
            Writer::begin_span(&mut scratch, Level::INFO, texts, &record).end();
            scratch.end_span(Time::Ticks(end), context.is_sampled);
            let time = UnixTime::from_nanos(wall * 1_000_000_000);
            self.traces.spans.ended(scratch.written(), time, 0);
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
            machine.span(span, begin, begin + Duration::from_secs(5), 20);
            (0..2).for_each(|_| machine.round());
            let [(1, took)] = machine.durations()[..] else { panic!("{:?}", machine.durations()) };
            // Allow a difference, since the rate of the ticks may be corrected meanwhile.
            assert!(took.abs_diff(Duration::from_secs(5)) < Duration::from_millis(1), "{took:?}");
            assert_eq!(machine.passed.len(), usize::from(span == 1), "one is not sampled");
        }
    }

    #[test]
    fn a_span_that_is_sent_unfinished_has_no_duration_yet() {
        let mut machine = Machine::new();
        let now = Instant::now();
        let context = SpanContext { trace: 1, span: 1, is_sampled: true };
        let since = Time::Ticks(now);
        let record = SpanRecord { context, parent: 0, since, age: 0, thread: 0 };
        let words = record.words(Code::of(1).unwrap(), since).map(u64::to_le_bytes);
        machine.traces.spans.seen(words.as_flattened(), UnixTime::EPOCH);
        machine.with_round(|traces, round, pass_on| {
            traces.finish(round, &mut *pass_on);
            traces.unfinished(pass_on);
        });
        assert_eq!((&*machine.passed, machine.durations()), (&[1][..], vec![]));
        machine.span(1, now, now, 1);
        (0..2).for_each(|_| machine.round());
        assert_eq!(
            (&*machine.passed, machine.durations()),
            (&[1, 1][..], vec![(1, Duration::ZERO)])
        );
    }
}
