//! What counts: which records were passed on, and which events the sinks have yet to write.
//!
//! Each sink has two spools, as its thread has two batches: one that it writes, and one to which
//! the back end adds. They change places when the thread [takes](Store::took) the events. A
//! pipeline's only sink uses the first spool alone. A third one has the events that a collector did
//! not take, while it takes others.

use std::io;

use tach_core::{Instant, UnixTime};

use super::super::layout::{ASIDE, LANES, PAGE, SPOOLS, check, head, lane, spool, table, write};
use super::super::mapping::Mapping;
use super::Store;
use crate::sink::file::Target;
use crate::sink::spools::SpoolFile;

/// The room for events at first. A batch of text is written when it has 64 KiB. For a collector,
/// more gathers, and the spool grows once.
pub(super) const SPOOL: usize = 96 * 1024;
const END: usize = size_of::<u32>();

/// The state that a table holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::survive) struct Progress {
    /// For each ring, how many of its words were passed on.
    pub(in crate::survive) positions: Vec<u64>,
    pub(in crate::survive) reported: u64,
    /// How often the last record was repeated, and from when to when.
    pub(in crate::survive) repeats: Option<(u64, UnixTime, UnixTime)>,
    /// The file that is being taken over, and how many of its records were passed on.
    pub(in crate::survive) takes: (u64, u64),
    /// How many records over the rate limit were reported.
    pub(in crate::survive) refused: u64,
    /// How many events sinks have dropped that were not reported.
    pub(in crate::survive) sinks_dropped: u64,
    /// How many events wait in memory alone.
    pub(in crate::survive) waiting: u64,
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

/// All events that the back end has added for a sink, and the sink's thread has not taken.
pub(in crate::survive) struct Events<'a> {
    /// The sink's number.
    pub(in crate::survive) lane: usize,
    pub(in crate::survive) bytes: &'a [u8],
    /// Where each event ends.
    pub(in crate::survive) ends: &'a [usize],
}

pub(super) struct Commits {
    lanes: Vec<Lane>,
    /// What the table that counts holds.
    progress: Progress,
    current: usize,
    /// Whether spools have events that no table counts.
    is_open: bool,
    /// Parts of the file that the table which counts may name, and the next one does not.
    retired: Vec<Area>,
    pub(super) last_line: Option<Instant>,
    pub(super) lines: u64,
}

/// The spools of a sink.
struct Lane {
    spools: Vec<Spool>,
    /// Events that the receiver did not take.
    aside: Option<Spool>,
    /// The spool that the back end adds to.
    adding: usize,
    /// The spool that is written.
    writing: usize,
    /// The number of the next spool that begins anew. Lower numbers are written first.
    next: u64,
    /// Which of the two writes counts.
    write: usize,
    target: Target,
    /// The number of the spool whose write was noted last.
    noted: u64,
    /// Whether a commit failed since the spools were last empty.
    is_behind: bool,
    /// How many events a commit had no room for.
    waiting: u64,
    /// How many of the events that the receiver did not take had no room.
    aside_outside: u64,
}

/// The copy of a batch.
struct Spool {
    memory: Mapping,
    area: Area,
    number: u64,
    bytes: usize,
    events: usize,
}

/// A part of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub(super) start: u64,
    pub(super) length: usize,
}

impl Commits {
    pub(super) const fn new() -> Self {
        Self {
            lanes: Vec::new(),
            progress: Progress {
                positions: Vec::new(),
                reported: 0,
                repeats: None,
                takes: (0, 0),
                refused: 0,
                sinks_dropped: 0,
                waiting: 0,
                recorded: Recorded { number: 0, start: 0, capacity: 0, first: 0, end: 0 },
            },
            current: 0,
            is_open: false,
            retired: Vec::new(),
            last_line: None,
            lines: 0,
        }
    }

    /// Writes the table that does not count, and makes it count.
    pub(super) fn publish(&mut self, store: &Store) {
        let Self { lanes, progress, current, .. } = self;
        let to = &store.fixed;
        let next = 1 - *current;
        let base = table::AT + next * table::BYTES;
        let (repeats, from, to_time) = progress
            .repeats
            .map_or((0, 0, 0), |(count, from, to)| (count, from.as_nanos(), to.as_nanos()));
        let outside: u64 = lanes.iter().map(|lane| lane.aside_outside).sum();
        let words = [
            (table::RINGS, progress.positions.len() as u64),
            (table::LANES, lanes.len() as u64),
            (table::REPORTED, progress.reported),
            (table::REPEATS, repeats),
            (table::REPEATS_FROM, from),
            (table::REPEATS_TO, to_time),
            (table::TAKES, progress.takes.0),
            (table::TAKEN, progress.takes.1),
            (table::REFUSED, progress.refused),
            (table::SINKS_DROPPED, progress.sinks_dropped),
            (table::WAITING, progress.waiting.saturating_add(outside)),
            (table::RECORDED_NUMBER, progress.recorded.number),
            (table::RECORDED_START, progress.recorded.start),
            (table::RECORDED_CAPACITY, progress.recorded.capacity as u64),
            (table::RECORDED_FIRST, progress.recorded.first),
            (table::RECORDED_END, progress.recorded.end),
        ];
        let spools = lanes.iter().enumerate().flat_map(|(at, lane)| {
            // The checksum covers the words of a spool that is not there.
            (0..SPOOLS).flat_map(move |spool| {
                let aside = lane.aside.as_ref().filter(|_| spool == ASIDE);
                let it = lane.spools.get(spool).or(aside);
                it.map_or_else(Spool::none, Spool::words)
                    .map(|(word, value)| (table::spool(at, spool) + word, value))
            })
        });
        let positions = progress.positions.iter().enumerate();
        let positions = positions.map(|(at, position)| (table::POSITIONS + 8 * at, *position));
        let mut sum = 0;
        for (at, word) in words.into_iter().chain(spools).chain(positions) {
            to.set(base + at, word);
            sum = check(sum, word);
        }
        to.set(base + table::CHECK, sum);
        to.publish(head::CURRENT, next as u64);
        *current = next;
        self.is_open = false;
        store.room.lock().areas.append(&mut self.retired);
    }

    /// Adds the spools of a sink, which are written at once.
    ///
    /// # Errors
    ///
    /// If the file has no room, or the system refuses to map a part of it.
    pub(super) fn add(&mut self, store: &Store, spools: usize) -> io::Result<()> {
        let mut lane = Lane {
            spools: Vec::new(),
            aside: None,
            adding: 0,
            writing: 0,
            next: 1,
            write: 0,
            target: Target::default(),
            noted: 0,
            is_behind: false,
            waiting: 0,
            aside_outside: 0,
        };
        for _ in 0..spools {
            let (area, memory) = store.part(SPOOL)?;
            let number = lane.take_number();
            lane.spools.push(Spool { memory, area, number, bytes: 0, events: 0 });
        }
        lane.adding = spools - 1;
        self.lanes.push(lane);
        Ok(())
    }
}

impl Lane {
    fn take_number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Writes the write that does not count, and makes it count.
    fn write(&mut self, number: usize, to: &Mapping, [from, end]: [usize; 2]) {
        let next = 1 - self.write;
        let base = lane::of(number);
        let Target { device, file, length } = self.target;
        self.noted = self.spools[self.writing].number;
        for (at, word) in [
            (write::SPOOL, self.noted),
            (write::FROM, from as u64),
            (write::END, end as u64),
            (write::DEVICE, device),
            (write::FILE, file),
            (write::LENGTH, length),
        ] {
            to.set(base + lane::WRITES + next * write::BYTES + at, word);
        }
        to.publish(base + lane::WRITE, next as u64);
        self.write = next;
    }
}

impl Spool {
    /// Returns the words of a table.
    fn words(&self) -> [(usize, u64); spool::WORDS] {
        [
            (spool::NUMBER, self.number),
            (spool::START, self.area.start),
            (spool::CAPACITY, self.area.length as u64),
            (spool::LENGTH, self.bytes as u64),
            (spool::EVENTS, self.events as u64),
        ]
    }

    /// Returns the words of a spool that is not there.
    fn none() -> [(usize, u64); spool::WORDS] {
        core::array::from_fn(|at| (8 * at, 0))
    }

    /// Copies the events that are not in the spool yet. Returns whether there was room.
    fn copy(
        &mut self,
        store: &Store,
        bytes: &[u8],
        ends: &[usize],
        retired: &mut Vec<Area>,
    ) -> bool {
        let needed = bytes.len() + END * ends.len();
        if needed > self.area.length && !self.grow(store, needed, retired) {
            return false;
        }
        self.memory.copy(self.bytes, bytes.get(self.bytes..).unwrap_or_default());
        for (at, end) in ends.iter().enumerate().skip(self.events) {
            let end = u32::try_from(*end).unwrap_or(u32::MAX);
            self.memory.copy(self.area.length - END * (at + 1), &end.to_le_bytes());
        }
        (self.bytes, self.events) = (bytes.len(), ends.len());
        true
    }

    /// Moves the spool to a larger part of the file.
    fn grow(&mut self, store: &Store, needed: usize, retired: &mut Vec<Area>) -> bool {
        let length = (needed + needed / 2).next_multiple_of(PAGE);
        let Ok((area, memory)) = store.part(length) else { return false };
        // The part before holds the events until a table names the new part. All events are copied
        // again, since their ends lie elsewhere.
        retired.push(self.area);
        *self = Self { memory, area, bytes: 0, events: 0, ..*self };
        true
    }
}

impl Store {
    /// Makes `progress` count, and the events of all sinks with it, all at once. The events of a
    /// sink contain those of the last commit, unless the sink's thread has taken them since.
    /// Returns whether there was room. If not, nothing has changed.
    pub(in crate::survive) fn commit(&self, progress: &Progress, all: &[Events<'_>]) -> bool {
        let mut commits = self.commits.lock();
        let Commits { lanes, is_open, retired, .. } = &mut *commits;
        let mut before = Vec::with_capacity(all.len());
        let mut has_room = true;
        for Events { lane, bytes, ends } in all {
            let Some(lane) = lanes.get_mut(*lane) else { continue };
            let spool = &mut lane.spools[lane.adding];
            let (had, is_longer) = ((spool.bytes, spool.events), bytes.len() > spool.bytes);
            if is_longer && has_room {
                has_room = spool.copy(self, bytes, ends, retired);
            }
            before.push((had, is_longer, ends.len()));
        }
        if !has_room {
            // A part of the events would come twice: their records still wait in the rings.
            for (Events { lane, .. }, (had, is_longer, events)) in all.iter().zip(before) {
                let Some(lane) = lanes.get_mut(*lane).filter(|_| is_longer) else { continue };
                let spool = &mut lane.spools[lane.adding];
                if spool.bytes > had.0 {
                    (spool.bytes, spool.events) = had;
                }
                lane.is_behind = true;
                lane.waiting = events.saturating_sub(spool.events) as u64;
            }
            return false;
        }
        *is_open |= before.iter().any(|(_, is_longer, _)| *is_longer);
        if *is_open || commits.progress != *progress {
            commits.progress.clone_from(progress);
            commits.publish(self);
        }
        true
    }

    /// Makes `progress` count, although the file has no room for all events of a commit. The events
    /// that are not in the file are lost if the process ends before they are written.
    pub(in crate::survive) fn commit_without(&self, progress: &Progress) {
        let mut commits = self.commits.lock();
        let waiting = commits.lanes.iter().map(|lane| lane.waiting).sum();
        commits.progress = Progress { waiting, ..progress.clone() };
        commits.publish(self);
    }

    /// Makes the items of the flight recorder count no more that were written before `first`.
    pub(super) fn forget_recorded(&self, first: u64) {
        let mut commits = self.commits.lock();
        let recorded = &mut commits.progress.recorded;
        (recorded.first, recorded.end) = (first, recorded.end.max(first));
        commits.publish(self);
    }
}

impl SpoolFile for Store {
    fn commit_events(&self, lane: usize, bytes: &[u8], ends: &[usize]) {
        let mut commits = self.commits.lock();
        let Commits { lanes, retired, .. } = &mut *commits;
        let Some(lane) = lanes.get_mut(lane) else { return };
        let spool = &mut lane.spools[lane.writing];
        if spool.bytes < bytes.len() && !lane.is_behind {
            lane.is_behind = !spool.copy(self, bytes, ends, retired);
            if !lane.is_behind {
                commits.publish(self);
            }
        }
    }

    fn took(&self, lane: usize) {
        if let Some(lane) = self.commits.lock().lanes.get_mut(lane) {
            lane.writing = lane.adding;
            lane.adding = (lane.adding + 1) % lane.spools.len();
            // The number of a spool that was never used is lower than that of the events before.
            lane.spools[lane.adding].number = lane.take_number();
        }
    }

    fn begins_write(&self, lane: usize, range: [usize; 2], target: Target) {
        if let Some(it) = self.commits.lock().lanes.get_mut(lane) {
            it.target = target;
            it.write(lane, &self.fixed, range);
        }
    }

    fn set_aside(&self, lane: usize, bytes: &[u8], ends: &[usize], new: usize) -> bool {
        let mut commits = self.commits.lock();
        let Commits { lanes, retired, .. } = &mut *commits;
        let Some(lane) = lanes.get_mut(lane) else { return true };
        let length = (bytes.len() + END * ends.len()).next_multiple_of(PAGE);
        let part = if bytes.is_empty() { None } else { self.part(length).ok() };
        if part.is_none() && !bytes.is_empty() {
            lane.aside_outside = new.min(ends.len()) as u64;
            commits.publish(self);
            return false;
        }
        let aside = part.map(|(area, memory)| {
            let mut aside = Spool { memory, area, number: u64::MAX, bytes: 0, events: 0 };
            aside.copy(self, bytes, ends, retired);
            aside
        });
        retired.extend(lane.aside.take().map(|before| before.area));
        lane.aside = aside;
        lane.aside_outside = 0;
        commits.publish(self);
        true
    }

    fn done(&self, lane: usize) {
        let mut commits = self.commits.lock();
        let Some(it) = commits.lanes.get_mut(lane) else { return };
        let Spool { number, bytes: written, .. } = it.spools[it.writing];
        // A spool without a write and without events is new, and may have a higher number than the
        // one that gathers events.
        if written > 0 || it.noted == number {
            it.write(lane, &self.fixed, [written; 2]);
            let number = it.take_number();
            let spool = &mut it.spools[it.writing];
            (spool.number, spool.bytes, spool.events) = (number, 0, 0);
        }
        (it.is_behind, it.waiting) = (false, 0);
    }
}

const _: () = assert!(ASIDE + 1 == SPOOLS && LANES > 0);
