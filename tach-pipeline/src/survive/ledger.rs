//! The ledger of a pipeline in its file, with the flight recorder's items.

use std::sync::Arc;

use super::recorder::SharedRecording;
use super::store::{self, Events, Store};
use crate::back_end::assembly::Spans;
use crate::back_end::survival::{Ledger, Progress};
use crate::sink::batch::Batch;

pub(super) struct FileLedger {
    store: Arc<Store>,
    /// `None` if the pipeline has no flight recorder.
    recording: Option<SharedRecording>,
    progress: store::Progress,
}

impl FileLedger {
    pub(super) fn new(store: &Arc<Store>) -> Self {
        Self { store: Arc::clone(store), recording: None, progress: store::Progress::default() }
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
        let recorder = spans.recorder.as_mut();
        self.recording = recorder.map(|recorder| SharedRecording::attach(recorder, &self.store));
    }

    fn begin(&mut self) {
        self.store.line();
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
        self.recording.iter().for_each(SharedRecording::committed);
    }

    fn remove(&self) {
        self.store.remove();
    }
}
