//! Passes on the records of processes that have ended.

use core::mem;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use tach_core::UnixTime;

use super::contents::{RecordingLeft, Room, left};
use super::dead::Dead;
use super::foreign::{self, Foreign};
use super::image::{OwnImage, Part, Thread};
use super::items::{Item, LeftBatch, Named, batches};
use super::recorder::{self, RecordingFile};
use super::reports;
use crate::back_end::assembly::Spans;
use crate::back_end::survival::{Piece, Recovery, Skipped};
use crate::frame::{self, Time};

/// The files whose records are to be passed on, the oldest first.
#[derive(Default)]
pub(super) struct DeadFiles {
    waiting: VecDeque<Dead>,
    /// The sinks of the pipeline.
    lanes: Vec<Named>,
    current: Option<Reading>,
    /// The files of which all but the recordings was passed on.
    pub(super) recordings: Vec<RecordingFile>,
}

/// A file that is being passed on.
///
/// A record takes several times its room in the file as a copy, with the texts that it names. So a
/// record is copied when its turn comes.
struct Reading {
    dead: Dead,
    /// The file's contents.
    image: OwnImage,
    /// What precedes the records.
    items: Vec<Item>,
    records: Vec<RecordLeft>,
    /// The process whose flight recorder had kept something.
    recorded: Option<u64>,
    /// How many items were passed on.
    taken: usize,
}

/// A record of an event as the process wrote it.
struct RecordLeft {
    part: Part,
    thread: Thread,
}

impl DeadFiles {
    pub(super) fn new(dead: Vec<Dead>, lanes: Vec<Named>) -> Self {
        Self { waiting: dead.into(), lanes, current: None, recordings: Vec::new() }
    }
}

impl Recovery for DeadFiles {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.current.is_none() && self.recordings.is_empty()
    }

    fn next(&mut self, now: UnixTime) -> Result<Option<Piece>, Skipped> {
        if self.current.is_none() {
            let Some(dead) = self.waiting.pop_front() else { return Ok(None) };
            let name = dead.name().clone();
            let reading = Reading::new(dead, &self.lanes).map_err(|why| Skipped { name, why })?;
            self.current = Some(reading);
        }
        Ok(self.current.as_mut().map(|reading| reading.next(now)))
    }

    /// Removes a file, or keeps it for its records or its recording.
    fn end(&mut self) -> Result<(), Skipped> {
        let Some(current) = self.current.take() else { return Ok(()) };
        let Reading { dead, taken, recorded, .. } = current;
        let taken = taken as u64;
        let name = dead.name().clone();
        let ended = dead.note_taken(taken);
        let ended = match recorded {
            Some(process) => {
                ended.map(|()| self.recordings.push(RecordingFile { dead, process, taken }))
            }
            // If the name stays, the file says that it has nothing left.
            None => ended.and_then(|()| dead.remove()),
        };
        ended.map_err(|why| Skipped { name, why })
    }

    fn write_recordings(&mut self, to: &Spans) -> Vec<Skipped> {
        let files = mem::take(&mut self.recordings);
        let unwanted = match &to.recorder {
            Some(recorder) => recorder::write_all(recorder, files),
            None => files,
        };
        unwanted.iter().filter_map(|file| file.remove().err()).collect()
    }

    fn taken(&self) -> u64 {
        self.current.as_ref().map_or(0, |reading| reading.taken as u64)
    }

    fn note(&self, taken: u64) -> Result<(), Skipped> {
        let Some(Reading { dead, .. }) = &self.current else { return Ok(()) };
        dead.note_taken(taken).map_err(|why| Skipped { name: dead.name().clone(), why })
    }
}

impl Reading {
    fn new(dead: Dead, to: &[Named]) -> io::Result<Self> {
        let own = dead.read()?;
        let image = own.image();
        let batches = batches(&image, to);
        let count = |has: bool| {
            let batches = batches.iter().filter(|batch| batch.to.is_some() == has);
            batches.map(|batch| batch.ends.len() as u64).sum::<u64>()
        };
        let (unwritten, homeless) = (count(true), count(false));
        let mut items: Vec<_> = batches.into_iter().map(Item::Batch).collect();
        let mut room = Room::default();
        let recorded = RecordingLeft::new(&image, &mut room.left, &mut room.cut).len();
        let mut records = Vec::new();
        let mut report = left(&image, room, recorded, |record, thread, _| {
            let (part, thread) = (image.part(record), Arc::clone(thread));
            records.push(RecordLeft { part, thread });
        });
        let is_empty = recorded == 0 && records.is_empty();
        let has_recorder = image.has_recorder() && !image.exits();
        report.unwritten = unwritten;
        report.dropped = report.dropped.saturating_add(homeless);
        let there = report.records + report.cut + report.spans_lost + report.recorded;
        if there + unwritten + homeless > 0 || image.all_lost() > 0 {
            items.insert(0, Item::Report(report));
        }
        let taken = usize::try_from(image.taken()).unwrap_or(usize::MAX);
        // The recording counts as one more item.
        let all = items.len() + records.len();
        let recorded = (has_recorder && !is_empty && taken <= all).then(|| image.process());
        Ok(Self { dead, image: own, items, records, recorded, taken })
    }

    fn next(&mut self, now: UnixTime) -> Piece {
        let Self { image, items, records, .. } = self;
        let at = self.taken;
        let next = if let Some(item) = items.get_mut(at) {
            let (mut report, mut events) = (None, None);
            match item {
                Item::Report(it) => report = Some(reports::recovered(it, now)),
                Item::Batch(LeftBatch { to: None, .. }) => {}
                Item::Batch(LeftBatch { to: Some((lane, name)), bytes, ends }) => {
                    let (process, count) = (image.image().process(), ends.len() as u64);
                    report = Some(reports::doubtful(process, count, name, now));
                    events = Some((*lane, mem::take(bytes), mem::take(ends)));
                }
            }
            Piece { report, events, must_count: true, ..Piece::default() }
        } else if let Some(record) = records.get(at - items.len()) {
            let record = record.copy(image);
            let time = frame::time(&record).map_or(UnixTime::EPOCH, Time::unix_time);
            Piece { record: Some((record, time)), ..Piece::default() }
        } else {
            return Piece { must_count: true, is_end: true, ..Piece::default() };
        };
        self.taken += 1;
        next
    }
}

impl RecordLeft {
    fn copy(&self, of: &OwnImage) -> Vec<u8> {
        let (image, record) = (of.image(), of.part(&self.part));
        match foreign::foreign(record, &image, image.process(), &self.thread) {
            Foreign::Event(copy) => copy,
            // The first copy was an event.
            Foreign::Part(_) | Foreign::Invalid => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
