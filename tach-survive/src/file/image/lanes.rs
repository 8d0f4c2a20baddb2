//! Reads what the sinks of a process were about to write.

use super::Image;
use crate::file::layout::{LANES, head, lane};
use tach_sinks::adapter::Target;

/// A sink of the process.
#[derive(Debug)]
pub(crate) struct Lane<'a> {
    pub(crate) hash: u64,
    /// The last write to a regular file that was begun.
    pub(crate) write: Write,
    /// What waited for a collector.
    pub(crate) batch: Batch<'a>,
}

/// Events that waited for a collector.
#[derive(Debug, Default)]
pub(crate) struct Batch<'a> {
    pub(crate) bytes: &'a [u8],
    /// Where each event ends.
    pub(crate) ends: Vec<usize>,
}

/// A write to a regular file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Write {
    pub(crate) bytes: u64,
    pub(crate) to: Target,
}

impl<'a> Image<'a> {
    /// Returns the sinks. Returns `None` if a batch is damaged.
    pub(crate) fn lanes(&self) -> Option<Vec<Lane<'a>>> {
        (0..self.lane_count()).map(|number| self.lane(number)).collect()
    }

    pub(crate) fn lane_count(&self) -> usize {
        self.size(head::LANES).min(LANES)
    }

    /// Returns a sink, or `None` if its batch is damaged.
    pub(crate) fn lane(&self, number: usize) -> Option<Lane<'a>> {
        let word = |at| self.word(lane::of(number) + at);
        let (device, file, length) = (word(lane::DEVICE), word(lane::FILE), word(lane::LENGTH));
        Some(Lane {
            hash: word(lane::HASH),
            write: Write { bytes: word(lane::BYTES), to: Target { device, file, length } },
            batch: self.batch(lane::of(number))?,
        })
    }

    /// Returns the batch of a collector. The batch is empty if the collector has received
    /// everything. Returns `None` if the batch is damaged.
    fn batch(&self, at: usize) -> Option<Batch<'a>> {
        let both = self.word(at + lane::BATCH);
        if both == 0 {
            return Some(Batch::default());
        }
        let half = |word: u64| usize::try_from(word & u64::from(u32::MAX)).ok();
        let (length, events) = (half(both)?, half(both >> u32::BITS)?);
        let (start, capacity) = (self.size(at + lane::START), self.size(at + lane::CAPACITY));
        let part = self.bytes.get(start..start.checked_add(capacity)?)?;
        let (bytes, rest) = part.split_at_checked(length)?;
        let ends = rest.get(rest.len().checked_sub(events.checked_mul(4)?)?..)?;
        // Read from the end: the ends are stored backwards.
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
