//! What the back end does with spans: puts them together, counts their durations, and passes them
//! to the flight recorder and to the sinks.

#[cfg(feature = "otlp")]
mod sent;
#[cfg(not(feature = "otlp"))]
#[path = "spans/unsent.rs"]
mod sent;

use std::sync::Arc;

use tach_core::UnixTime;

pub(crate) use self::sent::Sent;
use crate::flight::Recorder;
use crate::frame::{self, Frame};
use crate::queue::QueueId;
use crate::shared::Shared;
use crate::sink::all::Sinks;
use crate::spans::span::Span;
use crate::spans::traces::{Round, Traces};

/// The most events of a span, unless a sink takes more or fewer: the default of the specification.
const MOST_EVENTS: u32 = 128;

pub(crate) struct Spans {
    shared: Arc<Shared>,
    traces: Traces,
    /// `None` without a flight recorder.
    recorder: Option<Recorder>,
    sent: Sent,
}

impl Spans {
    pub(crate) fn new(
        shared: Arc<Shared>,
        recorder: Option<Recorder>,
        sent: Sent,
        redacted: &[String],
        most_events: Option<u32>,
    ) -> Self {
        let traces = Traces::new(
            redacted,
            most_events.unwrap_or(MOST_EVENTS),
            shared.spans.durations.is_some(),
        );
        Self { shared, traces, recorder, sent }
    }

    pub(super) fn begin_round(&mut self) {
        self.traces.begin_round();
        self.sent.begin_round();
    }

    /// Takes a record that happened at `time` out of a queue, if it is a part of a span. Returns
    /// whether it is.
    #[inline]
    pub(super) fn part(&mut self, record: &[u8], time: UnixTime, queue: QueueId) -> bool {
        let is_part = frame::is_of_span(record);
        if is_part {
            self.traces.part(record, time, queue);
        }
        is_part
    }

    /// Takes an event for the flight recorder, whether or not it is written.
    #[inline]
    pub(super) fn recorded(&mut self, record: &[u8], time: UnixTime) {
        if let Some(recorder) = &mut self.recorder {
            recorder.event(record, time);
        }
    }

    /// Takes an event, which may have happened in a span.
    pub(super) fn event(&mut self, record: &Frame<'_>, time: UnixTime) {
        self.traces.event(record, time);
    }

    /// Takes an event that was kept for a while. Its span may have ended.
    pub(super) fn released(&mut self, record: &Frame<'_>, time: UnixTime) {
        self.traces.released(record, time);
    }

    /// Ends the round that began at `start`. Passes on the spans that are kept, of those that ended
    /// in the round before.
    pub(super) fn end_round(&mut self, start: UnixTime, sinks: &mut Sinks) {
        let Self { shared, traces, recorder, sent } = self;
        let counts = &shared.channel.progress.counts;
        traces.end_round(start, &round(shared), |span| pass_on(span, recorder, sent, sinks));
        sent.end_round(counts, sinks);
    }

    /// Passes on the spans that are kept, of all that have ended, since every record was taken. If
    /// the process ends, also those that are open, if that is wanted.
    pub(super) fn finish(&mut self, process_ends: bool, sinks: &mut Sinks) {
        let Self { shared, traces, recorder, sent } = self;
        traces.finish(&round(shared), |span| pass_on(span, recorder, sent, sinks));
        if process_ends && shared.spans.sends_unfinished {
            let (time, wall) = (shared.clock_time(), shared.now());
            traces.unfinished(time, wall, |span| pass_on(span, recorder, sent, sinks));
        }
        sent.finish(&shared.channel.progress.counts, sinks);
    }

    /// Begins a round for the flight recorder. Returns whether somebody waits for a dump.
    pub(super) fn begin_dump(&self) -> bool {
        self.shared.spans.flight.as_ref().is_some_and(|flight| flight.requests.begin_round())
    }

    /// Answers requests for dumps at the end of a round, and begins a file if a span was slow.
    pub(super) fn end_dump(&mut self, now: UnixTime) {
        if let Some(recorder) = &mut self.recorder {
            let traces = &self.traces;
            recorder.end_round(now, |each| traces.waiting(now, each));
        }
    }

    /// Passes the durations of spans to the sinks that take them, each period.
    pub(super) fn export_durations(&mut self, now: UnixTime, is_asked: bool, sinks: &mut Sinks) {
        if let Some(durations) = &self.shared.spans.durations {
            self.sent.export_durations(durations, now, is_asked, sinks);
        }
    }

    /// Begins to look for spans without an end, since records were dropped.
    pub(super) fn suspect_lost_ends(&mut self) {
        self.traces.suspect_lost_ends();
    }

    /// Returns whether a record or a span waits for the next round.
    pub(super) fn are_waiting(&self) -> bool {
        self.traces.are_waiting() || self.sent.is_waiting()
    }

    /// Frees memory that was not needed since the last call.
    pub(super) fn trim(&mut self) {
        self.traces.trim();
    }

    /// Refuses requests for dumps, since the back end ends.
    pub(super) fn end(&self) {
        if let Some(flight) = &self.shared.spans.flight {
            flight.requests.end();
        }
    }
}

fn round(shared: &Shared) -> Round<'_> {
    Round {
        contexts: shared.spans.contexts.as_ref(),
        durations: shared.spans.durations.as_ref(),
        spanless: &shared.channel.progress.counts.spanless,
    }
}

fn pass_on(span: &Span<'_>, recorder: &mut Option<Recorder>, sent: &mut Sent, sinks: &mut Sinks) {
    if let Some(recorder) = recorder {
        recorder.span(span);
    }
    sent.span(span, sinks);
}
