//! Reads what processes that have ended left, and stores in their files how far it was passed on.

use core::mem;
use std::collections::VecDeque;
use std::io;

use tach_core::UnixTime;
use tach_record::keep::{Piece, Recording};

use super::contents::{self, Summary};
use super::dead::{Dead, Skipped};
use super::image::{self, Foreign, Left, Unreadable};
use super::items;
use super::reports;
use tach_sinks::adapter::Named;

/// The files whose records are to be passed on, the oldest first.
pub(super) struct DeadFiles {
    pub(super) waiting: VecDeque<Dead>,
    /// The sinks of the pipeline.
    lanes: Vec<Named>,
    current: Option<Reading>,
    /// The files that were passed on completely, and how many of them there were at the last mark.
    over: Vec<Reading>,
    marked: usize,
}

/// A file that is being passed on.
struct Reading {
    dead: Dead,
    left: Left,
    report: Option<Summary>,
    /// How many items before the records were passed on: the report, and each sink's batch.
    taken: usize,
    /// How far the file was passed on at the last mark, and how far according to the file itself.
    marked: Mark,
    noted: Mark,
}

/// How far a file was passed on: the items before the records, and the words of each ring.
#[derive(Clone, Default, PartialEq)]
struct Mark(usize, Vec<u64>);

impl DeadFiles {
    pub(super) fn new(dead: Vec<Dead>, lanes: Vec<Named>) -> Self {
        Self { waiting: dead.into(), lanes, current: None, over: Vec::new(), marked: 0 }
    }

    /// Returns whether everything was passed on.
    pub(super) fn are_over(&self) -> bool {
        self.waiting.is_empty() && self.current.is_none()
    }

    /// Returns whether everything was passed on, and the files say so.
    pub(super) fn are_noted(&self) -> bool {
        self.are_over() && self.over.is_empty()
    }

    /// Calls `write` with what each flight recorder had kept.
    pub(super) fn recordings(
        &mut self,
        write: &mut dyn FnMut(&Recording<'_>) -> bool,
    ) -> Vec<Skipped> {
        let written = self.waiting.iter_mut().map(|dead| (dead.recording(write), dead));
        written.filter_map(|(written, dead)| Some(dead.skipped(written.err()?))).collect()
    }

    /// Returns what is passed on next, or `None` if nothing is left.
    ///
    /// # Errors
    ///
    /// If a file can't be read. The file stays, and later calls continue with the next file.
    pub(super) fn next(&mut self, now: UnixTime) -> Result<Option<Piece>, Skipped> {
        loop {
            let mut reading = if let Some(current) = self.current.take() {
                current
            } else {
                let Some(dead) = self.waiting.pop_front() else { return Ok(None) };
                Reading::new(dead)?
            };
            match reading.next(now, &self.lanes).map_err(|why| reading.dead.skipped(why))? {
                None => {
                    reading.marked = reading.mark();
                    self.over.push(reading);
                }
                piece => {
                    self.current = Some(reading);
                    return Ok(piece);
                }
            }
        }
    }

    /// Marks how far the files were passed on. [`note`](Self::note) stores the mark once the sinks
    /// have written that much.
    pub(super) fn mark(&mut self) {
        self.marked = self.over.len();
        if let Some(reading) = &mut self.current {
            reading.marked = reading.mark();
        }
    }

    /// Stores in the files that everything up to the mark is written, and frees its blocks. Returns
    /// the files in which that can't be stored.
    pub(super) fn note(&mut self) -> Vec<Skipped> {
        let removed = self.over.drain(..mem::take(&mut self.marked));
        // Store in the file that its records are written, and only then remove it: `remove` leaves
        // a file whose recording is still to be written, and its records must not be passed on
        // again.
        let removed = removed.map(|mut it| {
            let removed = it.note().and_then(|()| it.dead.remove());
            removed.map_err(|why| it.dead.skipped(why))
        });
        let current = self.current.iter_mut();
        let noted = current.map(|it| it.note().map_err(|why| it.dead.skipped(why)));
        removed.chain(noted).filter_map(Result::err).collect()
    }
}

impl Reading {
    fn new(dead: Dead) -> Result<Self, Skipped> {
        let found = dead.image().map(|image| {
            let left = image.left();
            (contents::summary(&image, left.clone()), left, image.taken())
        });
        let (report, left, taken) = found.map_err(|why| dead.skipped(why))?;
        // Report once: if records were taken before, the earlier report stated how many there were
        // in all.
        let report = Some(report).filter(|report| taken == 0 && report.all() > 0);
        let taken = usize::try_from(taken).unwrap_or(usize::MAX);
        let (marked, noted) = <(Mark, Mark)>::default();
        let mut new = Self { dead, left, report, taken, marked, noted };
        (new.marked, new.noted) = (new.mark(), new.mark());
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

    fn next(&mut self, now: UnixTime, to: &[Named]) -> io::Result<Option<Piece>> {
        let piece = self.read(now, to)?;
        if self.dead.is_cut() {
            return Err(Unreadable::Damaged.into());
        }
        Ok(piece)
    }

    fn read(&mut self, now: UnixTime, to: &[Named]) -> io::Result<Option<Piece>> {
        let Self { dead, left, report, taken, .. } = self;
        let image = dead.image()?;
        *taken = (*taken).max(1);
        if let Some(report) = report.take() {
            return Ok(Some(Piece::Report(reports::recovered(&report, now))));
        }
        while *taken <= image.lane_count() {
            *taken += 1;
            if let Some(batch) = items::batch(&image, *taken - 2, to, now) {
                return Ok(Some(batch));
            }
        }
        while let Some((_, record, ring)) = left.next(&image) {
            let copy = image::foreign(&record, &image, Some(ring));
            // Recover only events: without the span's own record, its parts say little. They count
            // as lost.
            if let Foreign::Event(copy) = copy {
                let time = contents::time(&copy);
                return Ok(Some(Piece::Record(copy, time)));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
