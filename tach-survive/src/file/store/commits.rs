//! The parts of the file beside the rings: the counts of lost records, the batch of each collector,
//! and the last write to each regular file.
//!
//! A record counts as passed on when every sink has written it. Until then it stays in its ring,
//! whose count says so. Because a collector may take long, its events don't hold up the rings: the
//! file has a batch for each collector, with the oldest events that wait for the next request, and
//! then with that request.

use core::ops::Range;
use std::io;

use tach_core::Instant;

use super::super::layout::{head, lane};
use super::super::mapping::Mapping;
use super::Store;
use tach_sinks::adapter::Target;

/// The room for the events of a collector.
pub(super) const BATCH: usize = 256 * 1024;
const END: usize = size_of::<u32>();

#[derive(Default)]
pub(super) struct Commits {
    /// The batch of each sink, if it is a collector.
    batches: Vec<Option<Batch>>,
    pub(super) last_line: Option<Instant>,
    pub(super) lines: u64,
}

/// Events that wait for a collector.
struct Batch {
    /// Where the batch is in the file.
    start: usize,
    bytes: usize,
    events: usize,
    /// How many events the sink had received before these.
    first: u64,
    /// Whether the sink's thread has taken the events for a request. Before that, the batch
    /// contains the first of the events that wait for the thread.
    is_sent: bool,
}

impl Commits {
    /// Adds a sink.
    ///
    /// # Errors
    ///
    /// If the file has no room for the batch of a collector.
    pub(super) fn add(&mut self, store: &Store, is_remote: bool) -> io::Result<()> {
        let mut batch = None;
        if is_remote {
            let start = store.reserve(&mut store.room.lock(), BATCH)?;
            let at = lane::of(self.batches.len());
            store.memory.set(at + lane::START, start as u64);
            store.memory.set(at + lane::CAPACITY, BATCH as u64);
            batch = Some(Batch { start, bytes: 0, events: 0, first: 0, is_sent: false });
        }
        self.batches.push(batch);
        Ok(())
    }

    fn batch(&mut self, sink: usize) -> Option<&mut Batch> {
        self.batches.get_mut(sink)?.as_mut()
    }
}

impl Batch {
    /// Adds waiting events that the batch does not contain yet, as far as there is room.
    fn add(&mut self, memory: &Mapping, bytes: &[u8], ends: &[usize]) {
        let (mut length, mut events) = (self.bytes, self.events);
        for end in ends.iter().skip(events) {
            if end + END * (events + 1) > BATCH {
                break;
            }
            let short = u32::try_from(*end).unwrap_or(u32::MAX);
            events += 1;
            memory.copy(self.start + BATCH - END * events, &short.to_ne_bytes());
            length = *end;
        }
        let new = bytes.get(self.bytes..length).unwrap_or_default();
        if !new.is_empty() {
            memory.copy(self.start + self.bytes, new);
        }
        (self.bytes, self.events) = (length, events);
    }
}

impl Store {
    /// Stores how many events are lost. Call before the words of passed-on records are freed.
    pub(crate) fn commit(&self, lost: u64) {
        self.memory.publish(head::SINKS_LOST, lost);
    }
}

/// Called by the sinks.
impl Store {
    pub(crate) fn gathers(&self, sink: usize, bytes: &[u8], ends: &[usize], came: u64) {
        let mut commits = self.commits.lock();
        let Some(batch) = commits.batch(sink).filter(|batch| !batch.is_sent) else { return };
        let before = batch.events;
        if before < ends.len() {
            batch.first = came.saturating_sub(ends.len() as u64);
            batch.add(&self.memory, bytes, ends);
        }
        if batch.events > before {
            let both = lane::batch(batch.bytes, batch.events);
            self.memory.publish(lane::of(sink) + lane::BATCH, both);
        }
    }

    pub(crate) fn has(&self, sink: usize) -> Range<u64> {
        let mut commits = self.commits.lock();
        let batch = commits.batch(sink);
        batch.map_or(0..0, |batch| batch.first..batch.first + batch.events as u64)
    }

    pub(crate) fn takes(&self, sink: usize) {
        if let Some(batch) = self.commits.lock().batch(sink) {
            batch.is_sent |= batch.events > 0;
        }
    }

    pub(crate) fn sent(&self, sink: usize) {
        if let Some(batch) = self.commits.lock().batch(sink).filter(|batch| batch.is_sent) {
            self.memory.publish(lane::of(sink) + lane::BATCH, 0);
            (batch.bytes, batch.events, batch.first, batch.is_sent) = (0, 0, 0, false);
        }
    }

    pub(crate) fn writes(&self, sink: usize, length: usize, to: Target) {
        let (at, memory) = (lane::of(sink), &self.memory);
        // Clear the note's last word while the note changes: a note that is written in part must
        // not count.
        memory.publish(at + lane::BYTES, 0);
        memory.set(at + lane::DEVICE, to.device);
        memory.set(at + lane::FILE, to.file);
        memory.set(at + lane::LENGTH, to.length);
        memory.publish(at + lane::BYTES, length as u64);
    }
}
