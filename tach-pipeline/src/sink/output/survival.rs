//! Events that outlive the process until they are written.

use super::Output;
use crate::sink::batch::Batch;
use crate::sink::file::Target;

impl Output {
    /// Notes that the events were taken from the batch to which the back end adds.
    pub(in crate::sink) fn took(&self) {
        if let Some((file, lane)) = &self.file {
            file.took(*lane);
        }
    }

    /// Copies the events into the file. The back end has copied all but its own reports.
    pub(super) fn keep(&self, batch: &Batch) {
        if let Some((file, lane)) = &self.file {
            file.commit_events(*lane, batch.bytes(), batch.ends());
        }
    }

    /// Notes where the next write of `length` bytes begins.
    pub(super) fn begin_write(&mut self, batch: &Batch, length: usize) {
        let Self { file, writer, .. } = self;
        if let Some((file, lane)) = file {
            let end = batch.written() + length;
            let target = writer.file().map(|log| log.known_target()).unwrap_or_default();
            file.begins_write(*lane, [batch.written(), end], target);
        }
    }

    /// Notes that nothing is being written. A regular file needs no note: the next process compares
    /// its bytes. Nor does an empty batch: a note of a spool says that those with lower numbers
    /// were written, and such a spool may be gathering events.
    pub(super) fn keep_written(&mut self, batch: &Batch) {
        let Self { file, writer, .. } = self;
        if let Some((file, lane)) = file.as_ref().filter(|_| batch.left() > 0) {
            if !writer.file().is_some_and(|log| log.is_regular()) {
                file.begins_write(*lane, [batch.written(); 2], Target::default());
            }
        }
    }

    /// Copies the events that were set aside into the store, if they have changed.
    pub(super) fn keep_aside(&mut self) {
        let Self { file, aside, aside_kept, .. } = self;
        if let Some((file, lane)) = file.as_ref().filter(|_| *aside_kept != aside.changes) {
            let left = aside.left();
            if file.set_aside(*lane, left.bytes(), left.ends(), aside.new) {
                *aside_kept = aside.changes;
                aside.new = 0;
            }
        }
    }

    /// Notes that all events were written.
    pub(super) fn wrote_all(&self) {
        if let Some((file, lane)) = &self.file {
            file.done(*lane);
        }
    }
}
