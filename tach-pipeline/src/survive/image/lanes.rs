//! Reads what the sinks of a process were about to write.

use super::Image;
use crate::survive::layout::{LANES, head, lane, table, write};
use tach_sinks::adapter::Target;

/// A sink of the process.
#[derive(Debug)]
pub(in crate::survive) struct Lane<'a> {
    pub(in crate::survive) is_file: bool,
    pub(in crate::survive) hash: u64,
    /// The last write to a regular file that was begun.
    pub(in crate::survive) write: Write,
    /// What waited for a collector.
    pub(in crate::survive) batch: Batch<'a>,
}

/// Events that waited for a collector.
#[derive(Debug, Default)]
pub(in crate::survive) struct Batch<'a> {
    pub(in crate::survive) bytes: &'a [u8],
    /// Where each event ends.
    pub(in crate::survive) ends: Vec<usize>,
}

/// A write to a regular file.
#[derive(Debug, Clone, Copy)]
pub(in crate::survive) struct Write {
    /// Whether another table counts if the write has happened.
    pub(in crate::survive) has_table: bool,
    pub(in crate::survive) sum: u64,
    pub(in crate::survive) bytes: u64,
    pub(in crate::survive) to: Target,
}

impl<'a> Image<'a> {
    /// Returns the sinks. Returns `None` if a batch is damaged.
    pub(in crate::survive) fn lanes(&self) -> Option<Vec<Lane<'a>>> {
        (0..self.lane_count()).map(|number| self.lane(number)).collect()
    }

    pub(in crate::survive) fn lane_count(&self) -> usize {
        self.size(self.table + table::LANES).min(LANES)
    }

    /// Returns a sink, or `None` if its batch is damaged.
    pub(in crate::survive) fn lane(&self, number: usize) -> Option<Lane<'a>> {
        let at = lane::of(number);
        Some(Lane {
            is_file: self.word(at + lane::IS_FILE) == 1,
            hash: self.word(at + lane::HASH),
            write: self.write(at),
            batch: self.batch(number)?,
        })
    }

    fn write(&self, lane: usize) -> Write {
        let counts = usize::from(self.word(lane + lane::WRITE) == 1);
        let word = |at| self.word(lane + lane::WRITES + counts * write::SIZE + at);
        let next = self.word(head::CURRENT).wrapping_add(1);
        Write {
            has_table: word(write::TABLE) == next
                && Self::at(self.bytes, table::of(next)).has_table(next),
            sum: word(write::SUM),
            bytes: word(write::BYTES),
            to: Target {
                device: word(write::DEVICE),
                file: word(write::FILE),
                length: word(write::LENGTH),
            },
        }
    }

    /// Returns the batch of a collector, which is empty if it has all of it. Returns `None` if the
    /// batch is damaged.
    fn batch(&self, number: usize) -> Option<Batch<'a>> {
        let (at, words) = (lane::of(number), self.table + table::batch(number));
        let (number, length, events) =
            (self.word(words), self.size(words + 8), self.size(words + 16));
        if length == 0 || self.word(at + lane::SENT) >= number {
            return Some(Batch::default());
        }
        let (start, capacity) = (self.size(at + lane::START), self.size(at + lane::CAPACITY));
        let part = self.bytes.get(start..start.checked_add(capacity)?)?;
        let (bytes, rest) = part.split_at_checked(length)?;
        let ends = rest.get(rest.len().checked_sub(events.checked_mul(4)?)?..)?;
        // The last event's end comes first.
        let ends: Vec<_> = ends
            .rchunks_exact(4)
            .filter_map(|end| end.first_chunk())
            .map(|end| usize::try_from(u32::from_ne_bytes(*end)).unwrap_or(usize::MAX))
            .collect();
        let are_events = ends.first() != Some(&0) && ends.is_sorted_by(|one, next| one < next);
        let is_whole = are_events && ends.last().copied().unwrap_or(0) == length;
        is_whole.then_some(Batch { bytes, ends })
    }
}
