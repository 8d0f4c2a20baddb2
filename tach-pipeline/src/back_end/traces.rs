//! Traces: the spans that are open, and those that wait until their trace is decided about.

mod durations;
mod lost_ends;
mod spans;
mod tail;

use std::sync::Arc;

use tach_core::{Instant, UnixTime};

use self::durations::Timed;
use self::spans::Spans;
use self::tail::Waiting;
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
    /// `None` if every trace is kept.
    tail: Option<Waiting>,
}

impl Traces {
    pub(super) fn new(
        shared: Arc<Shared>,
        tail: Option<Tail>,
        redacted: &[String],
        most_events: u32,
    ) -> Self {
        let tail = tail.map(|options| Waiting::new(options, redacted.to_vec()));
        let spans = Spans::new(redacted.to_vec(), most_events, shared.durations.is_some());
        Self { shared, spans, ended: Ended { timed: Timed::default(), tail } }
    }

    pub(super) fn begin_round(&mut self) {
        self.spans.begin_round();
        if let Some(tail) = &mut self.ended.tail {
            tail.begin_round();
        }
    }

    /// Takes a part of a span, which happened at `time`.
    pub(super) fn part(&mut self, record: &[u8], time: UnixTime) {
        self.spans.part(record, time);
    }

    /// Takes an event, which may have happened in a span.
    pub(super) fn event(&mut self, record: &Frame<'_>, time: UnixTime) {
        self.spans.event(record, time);
    }

    /// Ends the round that began at `start`. Passes on the spans that are kept, of those that ended
    /// in the round before.
    pub(super) fn end_round(&mut self, start: UnixTime, mut pass_on: impl FnMut(&Span<'_>)) {
        let Self { shared, spans, ended } = self;
        let durations = shared.durations.as_ref();
        spans.end_round(|span| ended.span(span, durations, &mut pass_on));
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
    /// Counts the duration. Passes a span that is sampled on, or has it wait until its trace is
    /// decided about.
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
        match &mut self.tail {
            Some(tail) => tail.span(span, Instant::now(), pass_on),
            None => pass_on(span),
        }
    }
}
