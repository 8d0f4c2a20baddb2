//! The recorder's items in the file of a pipeline, and those of a process that has ended.

use std::sync::Arc;

use super::Recorder;
use super::ring::{Block, Ring};
use super::snapshot::Snapshot;
use crate::frame;
use crate::incident::Incident;
use crate::spans::standing::Standing;
use crate::survive::{Recorded, Recording, RecordingLeft, Store};

/// An item that a file has.
pub(crate) enum Kept<'a> {
    /// The record of an event.
    Event(&'a [u8]),
    /// The state and the records of a span.
    Span(Standing, &'a [u8]),
}

impl Ring {
    /// Passes all items, those of a block after those of the blocks before.
    fn each(&self, each: &mut dyn FnMut(&Kept<'_>)) {
        self.iter().for_each(|block| block.each(each));
    }
}

impl Block {
    fn each(&self, each: &mut dyn FnMut(&Kept<'_>)) {
        let records = frame::split_all(&self.bytes);
        records.filter(|it| !frame::is_of_span(it)).for_each(|it| each(&Kept::Event(it)));
        for kept in &self.spans {
            let span = kept.span(&self.bytes, &[]);
            each(&Kept::Span(Standing::of_ended(&span), span.records));
        }
    }

    /// Returns the event that was added last.
    fn last_event(&self, bytes: usize) -> Option<Kept<'_>> {
        Some(Kept::Event(self.bytes.get(self.bytes.len().checked_sub(bytes)?..)?))
    }

    /// Returns the span that was added last.
    fn last_span(&self) -> Option<Kept<'_>> {
        let span = self.spans.last()?.span(&self.bytes, &[]);
        Some(Kept::Span(Standing::of_ended(&span), span.records))
    }
}

impl Recorder {
    /// Keeps the items in the file too.
    pub(crate) fn keep(&mut self, store: &Arc<Store>) {
        self.kept = Some(Recording::new(store, self.ring.most(), self.ring.max_age()));
    }

    /// Adds the event of `bytes` that the ring has got last.
    pub(super) fn keep_event(&mut self, bytes: usize) {
        let Self { kept: Some(kept), ring, .. } = self else { return };
        if let Some(item) = ring.newest().last_event(bytes) {
            kept.add(&item, |each| ring.each(each));
        }
    }

    /// Adds the span that the ring has got last.
    pub(super) fn keep_span(&mut self) {
        let Self { kept: Some(kept), ring, .. } = self else { return };
        if let Some(item) = ring.newest().last_span() {
            kept.add(&item, |each| ring.each(each));
        }
    }

    /// Returns what the next commit names.
    pub(crate) fn kept(&mut self) -> Recorded {
        self.kept.as_mut().map(Recording::recorded).unwrap_or_default()
    }

    /// Notes that the commit counts.
    pub(crate) fn committed(&mut self) {
        self.kept.as_mut().into_iter().for_each(Recording::committed);
    }

    /// Writes what the recorder of a process that has ended had kept, if this one writes files.
    pub(crate) fn recovered(&mut self, left: &RecordingLeft) {
        let Some(files) = &self.flight.files else { return };
        let mut ring = Ring::new(usize::MAX, left.age);
        for (time, event) in &left.events {
            ring.event(event, *time);
        }
        for span in left.spans.iter().map(|span| span.span(&[])).filter(|it| !it.is_unfinished) {
            ring.span(&span);
        }
        let mut snapshot = Snapshot::new(&ring, left.last, Arc::clone(&self.redacted));
        for span in left.spans.iter().map(|span| span.span(&[])).filter(|it| it.is_unfinished) {
            snapshot.add(&span);
        }
        let process = left.process;
        match files.write_of(&snapshot, process) {
            Ok(path) => {
                self.reporter.report(&Incident::RecordingRecovered { process, path: &path });
            }
            Err(error) => {
                self.reporter.report(&Incident::RecordingNotRecovered { process, error: &error });
            }
        }
    }
}
