//! The back end's code for spans. Assembles spans from their records, collects their durations, and
//! passes the spans to the flight recorder and to the sinks.

mod sent;

use core::time::Duration;
use std::sync::Arc;

use tach_core::UnixTime;

pub(crate) use self::sent::Sent;
use super::cause::Cause;
pub(super) use crate::callsites::whole::Whole;
use crate::flight::Recorder;
use crate::frame::{self, Frame, RecordKind};
use crate::incident::Incident;
use crate::queue::Queue;
use crate::report;
use crate::shared::Shared;
use crate::sink::all::Sinks;
use crate::spans::span::{MOST_EVENTS, Span};
use crate::spans::traces::{Round, Traces};

pub(crate) struct Spans {
    shared: Arc<Shared>,
    pub(crate) traces: Traces,
    /// `None` if the pipeline was built without a flight recorder.
    pub(crate) recorder: Option<Recorder>,
    pub(crate) sent: Sent,
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
        self.traces.spans.begin_round();
        self.sent.begin_round();
    }

    /// If a record is a part of a span, adds the part to the span and returns `true`. Otherwise
    /// returns `false`. The record happened at `time`, and comes from `queue`.
    #[inline]
    pub(super) fn part(&mut self, record: &[u8], time: UnixTime, queue: &Queue) -> bool {
        match frame::kind(record) {
            Some(RecordKind::Event) => return false,
            Some(RecordKind::Span) => {
                self.traces.spans.ended(record, time, queue.thread_number());
            }
            _ => self.traces.spans.part(record),
        }
        true
    }

    /// Adds an event to the flight recorder, even if the event will not be written.
    #[inline]
    pub(super) fn recorded(&mut self, record: &[u8], time: UnixTime) {
        if let Some(recorder) = &mut self.recorder {
            recorder.event(record, time);
        }
    }

    /// Adds an event to its span, if the event happened in a span.
    pub(super) fn event(&mut self, record: &Frame<'_>) {
        if let Some(context) = record.context() {
            self.traces.spans.event(context, record.bytes);
        }
    }

    /// Adds an event that was kept for a backtrace to its span. If the span was passed on
    /// meanwhile, ignores the event.
    pub(super) fn released(&mut self, record: &Frame<'_>) {
        self.traces.spans.released(record);
    }

    /// Ends a round. Passes on the spans that ended in the round before, except for spans in traces
    /// that are not kept.
    pub(super) fn end_round(&mut self, sinks: &mut Sinks) {
        let Self { shared, traces, recorder, sent, .. } = self;
        let counts = &shared.progress.counts;
        traces.end_round(&round(shared), |span| pass_on(span, recorder, sent, sinks));
        sent.end_round(counts, sinks);
        if let Some(span) = shared.spans.never_closes.take() {
            let now = shared.now();
            let incident = Incident::NeverCloses { span };
            sinks.report(&incident, &report::never_closes(&incident, now), now);
        }
    }

    /// Passes on all spans that have ended, except for spans in traces that are not kept. Call
    /// after every record was taken. Spans of open traces wait for the decision at the tail, unless
    /// the process or the pipeline ends. If the process ends and the pipeline sends unfinished
    /// spans, passes on the open spans too.
    pub(super) fn finish(&mut self, cause: Cause, sinks: &mut Sinks) {
        let Self { shared, traces, recorder, sent, .. } = self;
        traces.finish(&round(shared), |span| pass_on(span, recorder, sent, sinks));
        if cause == Cause::ProcessEnds && shared.spans.sends_unfinished {
            traces.unfinished(|span| pass_on(span, recorder, sent, sinks));
        }
        match cause {
            Cause::Flush => sent.flush(sinks),
            Cause::PipelineEnds | Cause::ProcessEnds => {
                sent.finish(&shared.progress.counts, sinks);
                sinks.finish_traces(shared.now());
            }
        }
    }

    /// Begins a round for the flight recorder. Returns whether the round may write a dump. If it
    /// may, or the process ends, notes which spans are open, before the records of the round
    /// are read: a span that ends meanwhile is among these or has a record.
    pub(super) fn begin_dump(&mut self, cause: Option<Cause>) -> bool {
        let Self { shared, traces, recorder, .. } = self;
        let is_dumping = recorder.as_mut().is_some_and(|it| it.begin_round(cause.is_some()));
        let is_end = cause == Some(Cause::ProcessEnds) && shared.spans.sends_unfinished;
        if is_dumping || is_end {
            let (now, wall) = (shared.clock_time(), shared.now());
            shared.spans.contexts.open_spans(now, |record| traces.spans.seen(record, wall));
        }
        is_dumping
    }

    /// Adds the callsites and the threads to the records of the spans that were open. Call after
    /// their threads are known.
    pub(super) fn complete(&mut self, whole: &mut Whole) {
        for (record, _) in self.traces.spans.seen.values_mut() {
            *record = whole.of_open(record).to_owned();
        }
    }

    /// Answers requests for dumps at the end of a round. If a span was slow, begins to write a
    /// file.
    pub(super) fn end_dump(&mut self, now: UnixTime) {
        if let Some(recorder) = &mut self.recorder {
            let traces = &self.traces;
            recorder.end_round(now, |each| traces.waiting(each));
        }
        self.traces.spans.seen.clear();
    }

    /// Passes the durations of spans to the sinks that take durations, once each period.
    pub(super) fn export_durations(&mut self, now: UnixTime, is_asked: bool, sinks: &mut Sinks) {
        if let Some(durations) = &self.shared.spans.durations {
            self.sent.export_durations(durations, now, is_asked, sinks);
        }
    }

    /// Begins to look for spans whose records were dropped, and marks every span that began before
    /// as incomplete. Call if records were dropped and no span counts them.
    pub(super) fn suspect_loss(&mut self) {
        self.traces.suspect_loss(self.shared.now());
    }

    /// Begins to look for spans whose records were dropped. Call after spans were dropped.
    pub(super) fn suspect_end(&mut self) {
        self.traces.spans.suspect_end();
    }

    /// Returns whether a record or a span waits for the next round.
    pub(super) fn are_waiting(&self) -> bool {
        self.traces.are_waiting()
            || self.sent.is_waiting()
            || self.recorder.as_ref().is_some_and(Recorder::is_due)
    }

    /// Returns when the next round must be for traces or durations that wait, if any do.
    pub(super) fn due(&self, sinks: &Sinks) -> Option<Duration> {
        self.sent.due(self.shared.spans.durations.is_some(), sinks)
    }

    /// Frees memory that was not needed since the last call.
    pub(super) fn trim(&mut self) {
        self.traces.trim();
    }
}

fn round(shared: &Shared) -> Round<'_> {
    Round {
        contexts: &shared.spans.contexts,
        durations: shared.spans.durations.as_ref(),
        spanless: &shared.progress.counts.spanless,
    }
}

fn pass_on(span: &Span<'_>, recorder: &mut Option<Recorder>, sent: &mut Sent, sinks: &mut Sinks) {
    if let Some(recorder) = recorder {
        recorder.span(span);
    }
    sent.span(span, sinks);
}
