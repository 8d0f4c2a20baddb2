//! The ledger of a pipeline in its file, with the spans that wait and the flight recorder's items.

use std::sync::Arc;

use super::changes;
use super::recorder::SharedRecording;
use super::store::{self, Events, Store, WaitingSpans};
use crate::back_end::assembly::Spans;
use crate::back_end::survival::{Ledger, Progress};
use crate::sink::batch::Batch;

pub(super) struct FileLedger {
    store: Arc<Store>,
    waiting: WaitingSpans,
    /// `None` if the pipeline has no flight recorder.
    recording: Option<SharedRecording>,
    progress: store::Progress,
}

impl FileLedger {
    pub(super) fn new(store: &Arc<Store>) -> Self {
        Self {
            store: Arc::clone(store),
            waiting: WaitingSpans::new(store),
            recording: None,
            progress: store::Progress::default(),
        }
    }

    fn set(&mut self, progress: &Progress) {
        let Progress { positions, reported, repeats, takes, refused, sinks_dropped } = progress;
        let to = &mut self.progress;
        to.positions.clone_from(positions);
        (to.reported, to.repeats, to.takes) = (*reported, *repeats, *takes);
        (to.refused, to.sinks_dropped) = (*refused, *sinks_dropped);
    }
}

impl Ledger for FileLedger {
    fn attach(&mut self, spans: &mut Spans) {
        changes::keep(spans);
        let recorder = spans.recorder.as_mut();
        self.recording = recorder.map(|recorder| SharedRecording::attach(recorder, &self.store));
    }

    fn begin(&mut self, spans: &mut Spans) {
        self.store.line();
        changes::add(spans, &mut self.waiting);
        self.progress.spans = self.waiting.waits();
        self.progress.recorded =
            self.recording.as_ref().map(SharedRecording::recorded).unwrap_or_default();
    }

    fn commit(&mut self, progress: &Progress, all: &[&Batch]) -> bool {
        self.set(progress);
        let events = all.iter().enumerate().map(|(lane, batch)| Events {
            lane,
            bytes: batch.bytes(),
            ends: batch.ends(),
        });
        self.store.commit(&self.progress, &events.collect::<Vec<_>>())
    }

    fn commit_without(&mut self, progress: &Progress) {
        self.set(progress);
        self.store.commit_without(&self.progress);
    }

    fn committed(&mut self) {
        self.waiting.committed();
        self.recording.iter().for_each(SharedRecording::committed);
    }

    fn remove(&self) {
        self.store.remove();
    }
}
