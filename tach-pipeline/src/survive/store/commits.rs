//! What counts: which records were passed on, and the batch of each collector that is on its way.
//!
//! A record counts as passed on when every sink has written it. Until then it stays in its ring. A
//! collector may take long, so the file has one batch of what waits for it: the oldest events that
//! no request has yet, and then the request.

use std::io;

use tach_core::Instant;

use super::super::layout::{check, hash, head, lane, table, write};
use super::super::mapping::Mapping;
use super::Store;
use crate::back_end::survival::Progress;
use tach_sinks::adapter::Target;

/// The room for the events of a collector.
pub(super) const BATCH: usize = 256 * 1024;
const END: usize = size_of::<u32>();

#[derive(Default)]
pub(super) struct Commits {
    lanes: Vec<Lane>,
    /// What the table that counts holds.
    progress: Progress,
    /// The number of the table that counts.
    number: u64,
    /// What the other table holds, if it `is_prepared` to count next.
    prepared: Progress,
    is_prepared: bool,
    pub(super) last_line: Option<Instant>,
    pub(super) lines: u64,
}

/// A sink.
#[derive(Default)]
struct Lane {
    /// `None` if the sink is no collector.
    batch: Option<Batch>,
    /// Which of the two notes of writes counts.
    write: usize,
}

/// Events that wait for a collector.
struct Batch {
    /// Where the batch is in the file.
    start: usize,
    number: u64,
    bytes: usize,
    events: usize,
    /// How many events came for the sink before these.
    first: u64,
    /// Whether the thread has taken the events. Before, the batch has the first of those that wait for
    /// it.
    is_sent: bool,
}

impl Commits {
    /// Adds a sink.
    ///
    /// # Errors
    ///
    /// If the file has no room for the batch of a collector.
    pub(super) fn add(&mut self, store: &Store, is_remote: bool) -> io::Result<()> {
        let mut lane = Lane::default();
        if is_remote {
            let start = store.room.lock().reserve(store.owned.file(), BATCH)?;
            let at = lane::of(self.lanes.len());
            store.memory.set(at + lane::START, start as u64);
            store.memory.set(at + lane::CAPACITY, BATCH as u64);
            let (number, is_sent) = (1, false);
            lane.batch = Some(Batch { start, number, bytes: 0, events: 0, first: 0, is_sent });
        }
        self.lanes.push(lane);
        Ok(())
    }

    /// Writes the table that does not count.
    fn write(&self, store: &Store, progress: &Progress) {
        let Self { lanes, number, .. } = self;
        let to = &store.memory;
        let next = *number + 1;
        let base = table::of(next);
        let words = [
            (table::NUMBER, next),
            (table::RINGS, progress.positions.len() as u64),
            (table::LANES, lanes.len() as u64),
            (table::REPORTED, progress.reported),
            (table::REPEATS, progress.repeats),
            (table::REFUSED, progress.refused),
            (table::SINKS_LOST, progress.sinks_lost),
        ];
        let batches = lanes.iter().enumerate().flat_map(|(at, lane)| {
            let words = lane.batch.as_ref().map_or([0; 3], Batch::words);
            (0..).step_by(8).map(move |word| table::batch(at) + word).zip(words)
        });
        let positions = progress.positions.iter().enumerate();
        let positions = positions.map(|(at, position)| (table::POSITIONS + 8 * at, *position));
        let mut sum = 0;
        for (at, word) in words.into_iter().chain(batches).chain(positions) {
            to.set(base + at, word);
            sum = check(sum, word);
        }
        to.set(base + table::CHECK, sum);
    }

    /// Makes the other table count.
    fn turn(&mut self, store: &Store) {
        self.number += 1;
        store.memory.publish(head::CURRENT, self.number);
    }

    /// Makes the batches count as they are now.
    pub(super) fn publish(&mut self, store: &Store) {
        self.is_prepared = false;
        self.write(store, &self.progress);
        self.turn(store);
    }
}

impl Batch {
    /// Returns the words of a table.
    fn words(&self) -> [u64; 3] {
        [self.number, self.bytes as u64, self.events as u64]
    }

    /// Adds those of the events that wait for the thread that the batch lacks and has room for.
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
    /// Writes down what counts after the next [`commit`](Self::commit), if that has the same
    /// progress. A write that is noted from now on may say that it has happened.
    pub(in crate::survive) fn prepare(&self, progress: &Progress) {
        let mut commits = self.commits.lock();
        commits.write(self, progress);
        commits.prepared.clone_from(progress);
        commits.is_prepared = true;
    }

    /// Makes `progress` count.
    pub(in crate::survive) fn commit(&self, progress: &Progress) {
        let mut commits = self.commits.lock();
        if !core::mem::take(&mut commits.is_prepared) || commits.prepared != *progress {
            commits.write(self, progress);
        }
        commits.progress.clone_from(progress);
        commits.turn(self);
    }
}

/// What the sinks note.
impl Store {
    pub(in crate::survive) fn gathers(&self, lane: usize, bytes: &[u8], ends: &[usize], came: u64) {
        let mut commits = self.commits.lock();
        let Some(Lane { batch: Some(batch), .. }) = commits.lanes.get_mut(lane) else { return };
        let before = batch.events;
        if !batch.is_sent && before < ends.len() {
            batch.first = came.saturating_sub(ends.len() as u64);
            batch.add(&self.memory, bytes, ends);
            if batch.events > before {
                commits.publish(self);
            }
        }
    }

    pub(in crate::survive) fn has(&self, lane: usize) -> [u64; 2] {
        let commits = self.commits.lock();
        let batch = commits.lanes.get(lane).and_then(|lane| lane.batch.as_ref());
        batch.map_or([0, 0], |batch| [batch.first, batch.first + batch.events as u64])
    }

    pub(in crate::survive) fn takes(&self, lane: usize) {
        let mut commits = self.commits.lock();
        let Some(Lane { batch: Some(batch), .. }) = commits.lanes.get_mut(lane) else { return };
        batch.is_sent |= batch.events > 0;
    }

    pub(in crate::survive) fn sent(&self, lane: usize) {
        let mut commits = self.commits.lock();
        let Some(Lane { batch: Some(batch), .. }) = commits.lanes.get_mut(lane) else { return };
        if batch.is_sent {
            self.memory.publish(lane::of(lane) + lane::SENT, batch.number);
            let number = batch.number + 1;
            (batch.number, batch.bytes, batch.events, batch.first) = (number, 0, 0, 0);
            batch.is_sent = false;
        }
    }

    pub(in crate::survive) fn writes(&self, lane: usize, bytes: &[u8], is_last: bool, to: Target) {
        let mut commits = self.commits.lock();
        let is_prepared = commits.is_prepared;
        let next = commits.number + 1;
        let Some(it) = commits.lanes.get_mut(lane) else { return };
        it.write = 1 - it.write;
        let is_whole = is_last && is_prepared;
        let (number, sum) = if is_whole { (next, hash(bytes)) } else { (0, 0) };
        let base = lane::of(lane);
        for (at, word) in [
            (write::TABLE, number),
            (write::SUM, sum),
            (write::BYTES, bytes.len() as u64),
            (write::DEVICE, to.device),
            (write::FILE, to.file),
            (write::LENGTH, to.length),
        ] {
            self.memory.set(base + lane::WRITES + it.write * write::SIZE + at, word);
        }
        self.memory.publish(base + lane::WRITE, it.write as u64);
    }
}
