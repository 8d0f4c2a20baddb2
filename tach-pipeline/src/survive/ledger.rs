//! The ledger of a pipeline in its file, with the flight recorder's items.

use std::sync::Arc;

use super::recorder::SharedRecording;
use super::store::{self, Store};
use crate::back_end::assembly::Spans;
use crate::back_end::survival::{Ledger, Progress};

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
}

impl Ledger for FileLedger {
    fn attach(&mut self, spans: &mut Spans) {
        let recorder = spans.recorder.as_mut();
        self.recording = recorder.map(|recorder| SharedRecording::attach(recorder, &self.store));
    }

    fn prepare(&mut self, progress: &Progress, is_alone: bool) {
        self.store.line();
        let Progress { positions, reported, repeats, refused } = progress;
        let to = &mut self.progress;
        to.positions.clone_from(positions);
        (to.reported, to.repeats, to.refused) = (*reported, *repeats, *refused);
        to.recorded = self.recording.as_ref().map(SharedRecording::recorded).unwrap_or_default();
        if is_alone {
            self.store.prepare(&self.progress);
        }
    }

    fn commit(&mut self, lost: u64) {
        self.progress.sinks_lost = lost;
        if let Some(recording) = &self.recording {
            // More has come since, and what was there may have been forgotten.
            self.progress.recorded = recording.recorded();
        }
        self.store.commit(&self.progress);
        self.recording.iter().for_each(SharedRecording::committed);
    }

    fn remove(&self) {
        self.store.remove();
    }
}
