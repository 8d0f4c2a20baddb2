//! What an output notes for the next process, if this one is killed.

use super::Output;
use crate::batch::Batch;
use crate::owner::Owner;

impl<O: Owner> Output<O> {
    /// Notes that the thread has taken the events that waited.
    pub fn took(&self) {
        if let Some((notes, lane)) = &self.notes {
            notes.takes(*lane);
        }
    }

    /// Notes the next write of `length` bytes.
    pub(crate) fn note_write(&mut self, batch: &Batch<O::Label>, length: usize) {
        let Self { notes, receiver, .. } = self;
        let Some((notes, lane)) = notes else { return };
        if let Some(file) = receiver.file().filter(|file| file.is_regular()) {
            // Include the part of an event that the previous write may have left in the file.
            let part = batch.part();
            let mut to = file.known_target();
            to.length = to.length.saturating_sub(part as u64);
            notes.writes(*lane, part + length, to);
        }
    }

    /// Notes that a collector has all events that the thread had taken.
    pub(crate) fn note_sent(&self) {
        if let Some((notes, lane)) = self.notes.as_ref().filter(|_| self.aside.is_empty()) {
            notes.sent(*lane);
        }
    }
}
