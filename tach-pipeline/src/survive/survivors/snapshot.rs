//! Copies a file that its process may be writing.

use std::fs::File;
use std::io;

use crate::queue::OVERHEAD;
use crate::survive::at::read_at;
use crate::survive::dead;
use crate::survive::image::Image;
use crate::survive::layout::{FIXED, MOST_BYTES, RINGS, head, lane, ring, table};

const WORD: usize = size_of::<u64>();
/// How often the beginning is read while its process commits.
const TRIES: usize = 1000;

/// A copy of a file.
pub(super) struct Copied {
    pub(super) bytes: Vec<u8>,
    /// Whether the events in the formats of sinks are what the process was writing.
    pub(super) has_events: bool,
    /// Whether the spans that wait are those of the process.
    pub(super) has_spans: bool,
    /// Up to which byte of all the items of the flight recorder may be overwritten.
    pub(super) recorded_from: u64,
}

/// The open file.
pub(super) struct Snapshot<'a>(pub(super) &'a File);

impl Snapshot<'_> {
    /// Reads a file that no process writes.
    pub(super) fn all(&self) -> io::Result<Copied> {
        Ok(Copied {
            bytes: dead::read(self.0)?,
            has_events: true,
            has_spans: true,
            recorded_from: 0,
        })
    }

    /// Reads the part before the rings, with tables that belong together.
    pub(super) fn beginning(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; FIXED];
        let length = read_at(self.0, &mut bytes, 0)?;
        bytes.truncate(length);
        self.right_tables(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads the tables until they belong together. The process may make each of them count in turn
    /// while they are read.
    fn right_tables(&self, bytes: &mut [u8]) -> io::Result<()> {
        for _ in 0..TRIES {
            if Image::read(bytes).is_ok() {
                return Ok(());
            }
            let Some(tables) = bytes.get_mut(..ring::AT) else { return Ok(()) };
            read_at(self.0, tables, 0)?;
        }
        Ok(())
    }

    /// Reads a file while its process writes it.
    ///
    /// What changes meanwhile is left out: records that were passed on, whose room in the rings has
    /// new records, and records that are new. The tables are read after the rings. The process
    /// frees the room of records when a table says that they were passed on, so those that wait by
    /// the tables are what was read.
    pub(super) fn living(&self) -> io::Result<Copied> {
        let before = self.beginning()?;
        let mut copy =
            Copied { has_events: false, has_spans: false, recorded_from: u64::MAX, ..self.all()? };
        let Copied { bytes, .. } = &mut copy;
        let freed = self.freed(&before)?;
        let tables = self.beginning()?;
        let Ok(earlier) = Image::read(&before) else {
            return Ok(Copied { bytes: before, ..copy });
        };
        let Ok(tables) = Image::read(&tables) else { return Ok(copy) };
        let Some(fixed) = bytes.get_mut(..FIXED) else { return Ok(copy) };
        fixed.copy_from_slice(tables.bytes());
        for (start, length) in
            tables.spool_places().chain([tables.waiting_place(), tables.recorded_place()])
        {
            let end = start.saturating_add(length);
            // The file may have grown.
            if start >= FIXED && end as u64 <= MOST_BYTES {
                bytes.resize(bytes.len().max(end), 0);
                read_at(self.0, &mut bytes[start..end], start as u64)?;
            }
        }
        // Rings that were added since lie beyond the bytes, or were read before they had records.
        set(bytes, head::RINGS, freed.len() as u64);
        let after = self.beginning()?;
        // The words of the writes too: a sink's thread ends one without a table.
        let writes = |image: &Image<'_>| image.bytes().get(lane::AT..table::AT).map(<[u8]>::to_vec);
        let numbers = |image: &Image<'_>| {
            let spools = (image.spool_numbers(), writes(image));
            (spools, image.waiting_number(), image.recorded_number())
        };
        let after = Image::read(&after).map(|image| numbers(&image));
        let (spools, waiting, recording) = numbers(&tables);
        // If they differ, the process has written the events, and copies the next ones to their
        // place.
        let has_events = after.as_ref().is_ok_and(|(after, ..)| *after == spools);
        // Another part may have taken the place.
        let has_spans = after.as_ref().is_ok_and(|(_, after, _)| *after == waiting);
        let recorded = after.map_or((0, 0), |(.., after)| after);
        let recorded_from = if recorded.0 == recording.0 { recorded.1 } else { u64::MAX };
        for (at, freed) in freed.into_iter().enumerate() {
            let entry = ring::AT + at * ring::BYTES;
            let start = size(bytes, entry + ring::START);
            let owner = |image: &Image<'_>| {
                [ring::QUEUE, ring::PLACE].map(|it| word(image.bytes(), entry + it))
            };
            // A ring that went to another queue is left out.
            let is_same = owner(&earlier) == owner(&tables);
            let read = if is_same { freed.max(tables.position(at)) } else { u64::MAX };
            if start >= FIXED && start.checked_add(OVERHEAD).is_some_and(|end| end <= bytes.len()) {
                let written = word(bytes, start).max(read);
                set(bytes, start, written);
                set(bytes, start + OVERHEAD / 2, read);
            }
        }
        Ok(Copied { has_events, has_spans, recorded_from, ..copy })
    }

    /// Returns how many words were freed, passed on or dropped, of each ring that a beginning
    /// names.
    fn freed(&self, beginning: &[u8]) -> io::Result<Vec<u64>> {
        let rings = size(beginning, head::RINGS).min(RINGS);
        let of_ring = |at| {
            let start = word(beginning, ring::AT + at * ring::BYTES + ring::START);
            let mut count = [0; WORD];
            read_at(self.0, &mut count, start.saturating_add(OVERHEAD as u64 / 2))?;
            Ok(u64::from_ne_bytes(count))
        };
        (0..rings).map(of_ring).collect()
    }
}

/// Returns the word at a byte, or zero beyond the end.
fn word(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |word| u64::from_ne_bytes(*word))
}

fn size(bytes: &[u8], at: usize) -> usize {
    usize::try_from(word(bytes, at)).unwrap_or(usize::MAX)
}

/// Changes the word at a byte. Changes nothing beyond the end.
fn set(bytes: &mut [u8], at: usize, value: u64) {
    if let Some(word) = bytes.get_mut(at..at.saturating_add(WORD)) {
        word.copy_from_slice(&value.to_ne_bytes());
    }
}
