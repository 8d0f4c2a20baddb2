//! Passes on the records of processes that have ended.

use core::mem;
use std::collections::VecDeque;
use std::io;

use tach_core::UnixTime;

use super::contents::{self, Report};
use super::dead::Dead;
use super::foreign::{self, Foreign};
use super::image::Left;
use super::items::{self, LeftBatch, Named};
use super::recorder::{self, RecordingFile};
use super::reports;
use crate::back_end::assembly::Spans;
use crate::back_end::survival::{Piece, Recovery, Skipped};

/// The files whose records are to be passed on, the oldest first.
pub(super) struct DeadFiles {
    waiting: VecDeque<Dead>,
    /// The sinks of the pipeline.
    lanes: Vec<Named>,
    current: Option<Reading>,
    /// The files of which all but the recordings was passed on.
    pub(super) recordings: Vec<RecordingFile>,
}

/// How many bytes of the last events are kept for the file of the flight recorder, which lacks those
/// that it had not got.
const LATER: usize = 256 * 1024;

/// A file that is being passed on.
struct Reading {
    dead: Dead,
    left: Left,
    report: Option<Report>,
    /// How many of the records are events that were not passed on yet.
    events: u64,
    /// How many items before the records were passed on: the report, and each sink's batch.
    taken: usize,
    /// Whether a flight recorder had kept something.
    has_recording: bool,
    /// The last events, and their bytes.
    later: (VecDeque<Vec<u8>>, usize),
    /// What the sinks have got, and what of it is noted.
    marked: Mark,
    noted: Mark,
}

/// How far a file was passed on: the items before the records, and the words of each ring.
#[derive(Clone, Default, PartialEq)]
struct Mark(usize, Vec<u64>);

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
        let mut reading = if let Some(current) = self.current.take() {
            current
        } else {
            let Some(dead) = self.waiting.pop_front() else { return Ok(None) };
            let name = dead.name().clone();
            Reading::new(dead, &self.lanes).map_err(|why| Skipped { name, why })?
        };
        let next = reading.next(now, &self.lanes).map_err(|why| reading.dead.skipped(why))?;
        self.current = Some(reading);
        Ok(Some(next))
    }

    /// Removes a file, or keeps it for its recording.
    fn end(&mut self) -> Result<(), Skipped> {
        let Some(Reading { dead, has_recording, later, .. }) = self.current.take() else {
            return Ok(());
        };
        if has_recording {
            self.recordings.push(RecordingFile { dead, later: later.0 });
            return Ok(());
        }
        dead.remove().map_err(|why| dead.skipped(why))
    }

    fn write_recordings(&mut self, to: &Spans) -> Vec<Skipped> {
        let files = mem::take(&mut self.recordings);
        let unwanted = match &to.recorder {
            Some(recorder) => recorder::write_all(recorder, files),
            None => files,
        };
        let removed = unwanted.iter().map(|RecordingFile { dead, .. }| (dead, dead.remove()));
        removed.filter_map(|(dead, removed)| Some(dead.skipped(removed.err()?))).collect()
    }

    fn mark(&mut self) -> bool {
        let Some(reading) = &mut self.current else { return false };
        reading.marked = reading.mark();
        reading.marked != reading.noted
    }

    fn note(&mut self) -> Result<(), Skipped> {
        let Some(reading) = &mut self.current else { return Ok(()) };
        reading.note().map_err(|why| reading.dead.skipped(why))
    }
}

impl Reading {
    fn new(dead: Dead, to: &[Named]) -> io::Result<Self> {
        let image = dead.image()?;
        let left = image.left();
        let report = contents::report(&image, left.clone(), to);
        let events = report.records;
        let has_recording = image.has_recorder() && report.recorded + events > 0;
        // One that was written says how many records there were in all.
        let is_new = image.taken() == 0 && (report.all() > 0 || report.recorded > 0);
        let report = Some(report).filter(|_| is_new);
        let taken = usize::try_from(image.taken()).unwrap_or(usize::MAX);
        let (marked, noted, later) = <(Mark, Mark, _)>::default();
        let mut new =
            Self { dead, left, report, events, taken, has_recording, later, marked, noted };
        new.noted = new.mark();
        Ok(new)
    }

    fn mark(&self) -> Mark {
        Mark(self.taken, self.left.rings.iter().map(|ring| ring.read).collect())
    }

    fn note(&mut self) -> io::Result<()> {
        let Self { dead, left, marked, noted, .. } = self;
        if marked.0 != noted.0 {
            dead.note_taken(marked.0 as u64)?;
        }
        for (ring, (read, before)) in left.rings.iter().zip(marked.1.iter().zip(&noted.1)) {
            if read != before {
                dead.note_ring(ring, *read, ring.is_empty() && *read == ring.read)?;
            }
        }
        noted.clone_from(marked);
        Ok(())
    }

    fn next(&mut self, now: UnixTime, to: &[Named]) -> io::Result<Piece> {
        let Self { dead, left, report, events, taken, has_recording, later, .. } = self;
        let image = dead.image()?;
        if *taken == 0 {
            *taken = 1;
            let report = report.take().map(|report| reports::recovered(&report, now));
            return Ok(Piece { report, must_count: true, ..Piece::default() });
        }
        while *taken <= image.lane_count() {
            *taken += 1;
            if let Some(LeftBatch { to: Some((lane, name)), bytes, ends }) =
                items::batch(&image, *taken - 2, to)
            {
                let report =
                    Some(reports::doubtful(image.process(), ends.len() as u64, &name, now));
                let events = Some((lane, bytes, ends));
                return Ok(Piece { report, events, must_count: true, ..Piece::default() });
            }
        }
        while *events > 0 {
            let Some((_, record, ring)) = left.next(&image) else { break };
            let copy = foreign::foreign(&record, &image, image.process(), &image.thread(ring));
            // A part of a span is lost, and counted.
            let Foreign::Event(copy) = copy else { continue };
            *events -= 1;
            if *has_recording {
                let (last, bytes) = later;
                *bytes += copy.len();
                last.push_back(copy.clone());
                while *bytes > LATER {
                    *bytes -= last.pop_front().map_or(*bytes, |first| first.len());
                }
            }
            let time = contents::time(&copy);
            return Ok(Piece { record: Some((copy, time)), ..Piece::default() });
        }
        Ok(Piece { must_count: true, is_end: true, ..Piece::default() })
    }
}

#[cfg(test)]
mod tests;
