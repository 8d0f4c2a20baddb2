//! Keeps the spans that wait in the pipeline's file, and passes on those of a process that has
//! ended.

use std::sync::Arc;

use super::Spans;
use crate::sink::all::Sinks;
use crate::spans::standing::Change;
use crate::survive::{Progress, RecordingFile, SpanLeft, Store, WaitingSpans};

/// The spans that wait, in the file.
pub(in crate::back_end) struct Kept(WaitingSpans);

impl Kept {
    pub(in crate::back_end) fn new(store: &Arc<Store>) -> Self {
        Self(WaitingSpans::new(store))
    }

    /// Adds what has changed since the last call to what the next commit names.
    pub(in crate::back_end) fn add(&mut self, spans: &mut Spans, progress: &mut Progress) {
        let Self(waiting) = self;
        let Spans { traces, sent, recorder, .. } = spans;
        let has_room = waiting.add(|each| {
            let mut came = sent.take_changes(each).peekable();
            traces.take_changes(&mut |change| {
                // A span that is passed on may wait for the decision about its trace. It is noted
                // at the same moment in both lists, so they have the same order.
                if !matches!(change, Change::Gone(gone) if came.next_if_eq(gone).is_some()) {
                    each(change);
                }
            });
        });
        if !has_room {
            waiting.begin(|each| {
                sent.each_waiting(each);
                traces.each_waiting(each);
            });
        }
        progress.spans = waiting.waits();
        if let Some(recorder) = recorder {
            progress.recorded = recorder.kept();
        }
    }

    /// Notes that the commit counts.
    pub(in crate::back_end) fn committed(&mut self, spans: &mut Spans) {
        self.0.committed();
        if let Some(recorder) = &mut spans.recorder {
            recorder.committed();
        }
    }
}

impl Spans {
    /// Begins to write what the flight recorders of processes that have ended had kept. Returns
    /// the files if no recorder writes it.
    pub(in crate::back_end) fn recorded_by(&self, files: Vec<RecordingFile>) -> Vec<RecordingFile> {
        match &self.recorder {
            Some(recorder) => recorder.recovered(files),
            None => files,
        }
    }

    /// Passes on a span of a process that has ended.
    pub(in crate::back_end) fn recovered(
        &self,
        span: &SpanLeft,
        redacted: &[String],
        sinks: &mut Sinks,
    ) {
        self.sent.recovered(&span.span(redacted), sinks);
    }
}
