//! What counts: which records were passed on, and the batch of each collector that is on its way.
//!
//! A record counts as passed on when every sink has written it. Until then it stays in its ring. A
//! collector may take long, so the file has one batch of what waits for it: the oldest events that
//! no request has yet, and then the request.

use std::io;

use tach_core::{Instant, UnixTime};

use super::super::items::hash;
use super::super::layout::{check, head, lane, table, write};
use super::super::mapping::Mapping;
use super::Store;
use tach_sinks::adapter::Notes;
use tach_sinks::adapter::Target;

/// The room for the events of a collector.
pub(super) const BATCH: usize = 256 * 1024;
const END: usize = size_of::<u32>();

/// The state that a table holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::survive) struct Progress {
    /// For each ring, how many of its words were passed on.
    pub(in crate::survive) positions: Vec<u64>,
    pub(in crate::survive) reported: u64,
    /// How often the last record was repeated, and from when to when.
    pub(in crate::survive) repeats: Option<(u64, UnixTime, UnixTime)>,
    /// How many records over the rate limit were reported.
    pub(in crate::survive) refused: u64,
    /// How many events sinks have dropped that were not reported, or have in memory alone.
    pub(in crate::survive) sinks_lost: u64,
    pub(in crate::survive) recorded: Recorded,
}

/// The part of the file with the items of the flight recorder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::survive) struct Recorded {
    /// The number of the part. Zero if there is none.
    pub(in crate::survive) number: u64,
    pub(in crate::survive) start: u64,
    pub(in crate::survive) capacity: usize,
    /// How many bytes were written before the first item that counts, and before the last one's
    /// end.
    pub(in crate::survive) first: u64,
    pub(in crate::survive) end: u64,
}

pub(super) struct Commits {
    lanes: Vec<Lane>,
    /// What the table that counts holds.
    progress: Progress,
    /// The number of the table that counts.
    number: u64,
    /// What the other table holds, if it is to count next.
    prepared: Option<Progress>,
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
    memory: Mapping,
    number: u64,
    bytes: usize,
    events: usize,
    /// How many events came for the sink before these.
    first: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The batch has the first of the events that wait for the thread.
    Gathers,
    /// The thread has taken the events.
    IsSent,
}

/// A part of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub(super) start: u64,
    pub(super) length: usize,
}

impl Commits {
    pub(super) fn new() -> Self {
        Self {
            lanes: Vec::new(),
            progress: Progress::default(),
            number: 0,
            prepared: None,
            last_line: None,
            lines: 0,
        }
    }

    /// Adds a sink.
    ///
    /// # Errors
    ///
    /// If the file has no room for the batch of a collector, or the system refuses to map it.
    pub(super) fn add(&mut self, store: &Store, is_remote: bool) -> io::Result<()> {
        let mut lane = Lane::default();
        if is_remote {
            let (area, memory) = store.part(BATCH)?;
            let at = lane::of(self.lanes.len());
            store.fixed.set(at + lane::START, area.start);
            store.fixed.set(at + lane::CAPACITY, BATCH as u64);
            let state = State::Gathers;
            lane.batch = Some(Batch { memory, number: 1, bytes: 0, events: 0, first: 0, state });
        }
        self.lanes.push(lane);
        Ok(())
    }

    /// Writes the table that does not count.
    fn write(&self, store: &Store, progress: &Progress) {
        let Self { lanes, number, .. } = self;
        let to = &store.fixed;
        let next = *number + 1;
        let base = table::of(next);
        let (repeats, from, to_time) = progress
            .repeats
            .map_or((0, 0, 0), |(count, from, to)| (count, from.as_nanos(), to.as_nanos()));
        let words = [
            (table::NUMBER, next),
            (table::RINGS, progress.positions.len() as u64),
            (table::LANES, lanes.len() as u64),
            (table::REPORTED, progress.reported),
            (table::REPEATS, repeats),
            (table::REPEATS_FROM, from),
            (table::REPEATS_TO, to_time),
            (table::REFUSED, progress.refused),
            (table::SINKS_LOST, progress.sinks_lost),
            (table::RECORDED_NUMBER, progress.recorded.number),
            (table::RECORDED_START, progress.recorded.start),
            (table::RECORDED_CAPACITY, progress.recorded.capacity as u64),
            (table::RECORDED_FIRST, progress.recorded.first),
            (table::RECORDED_END, progress.recorded.end),
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
        store.fixed.publish(head::CURRENT, self.number);
    }

    /// Makes the batches count as they are now.
    pub(super) fn publish(&mut self, store: &Store) {
        self.prepared = None;
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
    fn add(&mut self, bytes: &[u8], ends: &[usize]) {
        let (mut length, mut events) = (self.bytes, self.events);
        for end in ends.iter().skip(events) {
            if end + END * (events + 1) > BATCH {
                break;
            }
            let short = u32::try_from(*end).unwrap_or(u32::MAX);
            events += 1;
            self.memory.copy(BATCH - END * events, &short.to_ne_bytes());
            length = *end;
        }
        let new = bytes.get(self.bytes..length).unwrap_or_default();
        if !new.is_empty() {
            self.memory.copy(self.bytes, new);
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
        commits.prepared = Some(progress.clone());
    }

    /// Makes `progress` count.
    pub(in crate::survive) fn commit(&self, progress: &Progress) {
        let mut commits = self.commits.lock();
        if commits.prepared.take().is_none_or(|prepared| prepared != *progress) {
            commits.write(self, progress);
        }
        commits.progress.clone_from(progress);
        commits.turn(self);
    }

    /// Makes the items of the flight recorder count no more that were written before `first`.
    pub(super) fn forget_recorded(&self, first: u64) {
        let mut commits = self.commits.lock();
        let recorded = &mut commits.progress.recorded;
        (recorded.first, recorded.end) = (first, recorded.end.max(first));
        commits.publish(self);
    }
}

impl Notes for Store {
    fn gathers(&self, lane: usize, bytes: &[u8], ends: &[usize], came: u64) {
        let mut commits = self.commits.lock();
        let Some(Lane { batch: Some(batch), .. }) = commits.lanes.get_mut(lane) else { return };
        let before = batch.events;
        if batch.state == State::Gathers && before < ends.len() {
            batch.first = came.saturating_sub(ends.len() as u64);
            batch.add(bytes, ends);
            if batch.events > before {
                commits.publish(self);
            }
        }
    }

    fn has(&self, lane: usize) -> [u64; 2] {
        let commits = self.commits.lock();
        let batch = commits.lanes.get(lane).and_then(|lane| lane.batch.as_ref());
        batch.map_or([0, 0], |batch| [batch.first, batch.first + batch.events as u64])
    }

    fn takes(&self, lane: usize) {
        let mut commits = self.commits.lock();
        let Some(Lane { batch: Some(batch), .. }) = commits.lanes.get_mut(lane) else { return };
        if batch.state == State::Gathers && batch.events > 0 {
            batch.state = State::IsSent;
        }
    }

    fn sent(&self, lane: usize) {
        let mut commits = self.commits.lock();
        let Some(Lane { batch: Some(batch), .. }) = commits.lanes.get_mut(lane) else { return };
        if batch.state == State::IsSent {
            self.fixed.publish(lane::of(lane) + lane::SENT, batch.number);
            let number = batch.number + 1;
            (batch.number, batch.bytes, batch.events, batch.first) = (number, 0, 0, 0);
            batch.state = State::Gathers;
        }
    }

    fn writes(&self, lane: usize, bytes: &[u8], is_last: bool, to: Target) {
        let mut commits = self.commits.lock();
        let is_prepared = commits.prepared.is_some();
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
            self.fixed.set(base + lane::WRITES + it.write * write::SIZE + at, word);
        }
        self.fixed.publish(base + lane::WRITE, it.write as u64);
    }
}
