//! Reads what the sinks of a process may lack.

use tach_core::adapter::utf8;

use super::Image;
use crate::sink::file::Target;
use crate::survive::layout::{LANES, SPOOLS, lane, spool, table, write};

/// A sink of the process.
#[derive(Debug)]
pub(in crate::survive) struct Lane<'a> {
    pub(in crate::survive) number: usize,
    pub(in crate::survive) is_file: bool,
    pub(in crate::survive) hash: u64,
    /// The beginning of the name.
    pub(in crate::survive) name: &'a str,
    /// What the sink may lack, the oldest first.
    pub(in crate::survive) spools: Vec<Spool<'a>>,
}

/// What was about to be written to a sink, or is in part.
#[derive(Debug)]
pub(in crate::survive) struct Spool<'a> {
    pub(in crate::survive) number: u64,
    pub(in crate::survive) bytes: &'a [u8],
    /// Where each event ends.
    pub(in crate::survive) ends: Vec<usize>,
    /// The write that was begun last.
    pub(in crate::survive) write: Option<Write>,
}

impl<'a> Spool<'a> {
    /// Returns the events that were not written whole, with the ends of each.
    pub(in crate::survive) fn left(&self) -> (&'a [u8], Vec<usize>) {
        let from = self.write.map_or(0, |write| write.from);
        let done = self.ends.partition_point(|event| *event <= from);
        let start = done.checked_sub(1).map_or(0, |last| self.ends[last]);
        let ends = self.ends[done..].iter().map(|event| event - start).collect();
        (self.bytes.get(start..).unwrap_or_default(), ends)
    }

    /// Returns how many of the events that are [left](Self::left) may have been written
    /// nevertheless.
    pub(in crate::survive) fn doubtful(&self) -> usize {
        let (bytes, ends) = self.left();
        if self.number == u64::MAX {
            // A request with these events has failed.
            return ends.len();
        }
        let start = self.bytes.len() - bytes.len();
        let end = self.write.map_or(0, |write| write.end);
        // The event that holds the last byte, too.
        let before = ends.partition_point(|event| start + event < end);
        if end > start { (before + 1).min(ends.len()) } else { 0 }
    }
}

/// A write of a sink.
#[derive(Debug, Clone, Copy)]
pub(in crate::survive) struct Write {
    /// The first byte of the spool that is written, and the end of what is.
    pub(in crate::survive) from: usize,
    pub(in crate::survive) end: usize,
    pub(in crate::survive) to: Target,
}

impl<'a> Image<'a> {
    /// Returns which of the two writes of a sink does not count.
    pub(in crate::survive) fn next_write(&self, lane: usize) -> usize {
        usize::from(self.word(lane::of(lane) + lane::WRITE) != 1)
    }

    /// Returns the sinks, with what they may lack. Returns `None` if a spool is damaged.
    pub(in crate::survive) fn lanes(&self) -> Option<Vec<Lane<'a>>> {
        let lanes = self.size(self.table + table::LANES).min(LANES);
        (0..lanes).map(|number| self.lane(number)).collect()
    }

    fn lane(&self, number: usize) -> Option<Lane<'a>> {
        let at = lane::of(number);
        let length = self.size(at + lane::NAME_LENGTH).min(lane::MOST_NAME);
        let name = self.bytes.get(at + lane::NAME..at + lane::NAME + length);
        let mut spools = Vec::new();
        for spool in 0..SPOOLS {
            spools.push(self.spool(number, spool)?);
        }
        spools.retain(|spool| !spool.bytes.is_empty());
        spools.sort_by_key(|spool: &Spool<'_>| spool.number);
        Some(Lane {
            number,
            is_file: self.word(at + lane::IS_FILE) == 1,
            hash: self.word(at + lane::HASH),
            name: name.and_then(utf8::text).unwrap_or_default(),
            spools,
        })
    }

    /// Returns a spool, which is empty if the sink has written all of it. Returns `None` if it is
    /// damaged.
    fn spool(&self, lane: usize, spool: usize) -> Option<Spool<'a>> {
        let at = table::spool(lane, spool);
        let number = self.of_table(at + spool::NUMBER);
        let [start, capacity, length, events] =
            [spool::START, spool::CAPACITY, spool::LENGTH, spool::EVENTS]
                .map(|word| self.size(self.table + at + word));
        let lane = lane::of(lane);
        let counts = usize::from(self.word(lane + lane::WRITE) == 1);
        let current = lane + lane::WRITES + counts * write::BYTES;
        let begun = self.word(current + write::SPOOL);
        let write = (begun == number).then(|| Write {
            from: self.size(current + write::FROM).min(length),
            end: self.size(current + write::END).min(length),
            to: Target {
                device: self.word(current + write::DEVICE),
                file: self.word(current + write::FILE),
                length: self.word(current + write::LENGTH),
            },
        });
        // All was written, and the process may have begun to copy the next events.
        if begun > number || write.is_some_and(|write| write.from == length) || length == 0 {
            return Some(Spool { number, bytes: &[], ends: Vec::new(), write: None });
        }
        let part = self.bytes.get(start..start.checked_add(capacity)?)?;
        let (bytes, rest) = part.split_at_checked(length)?;
        let ends = rest.get(rest.len().checked_sub(events.checked_mul(4)?)?..)?;
        // The last event's end comes first.
        let ends: Vec<_> = ends
            .rchunks_exact(4)
            .filter_map(|end| end.first_chunk())
            .map(|end| usize::try_from(u32::from_le_bytes(*end)).unwrap_or(usize::MAX))
            .collect();
        let are_events = ends.first() != Some(&0) && ends.is_sorted_by(|one, next| one < next);
        let is_whole = are_events && ends.last().copied().unwrap_or(0) == length;
        is_whole.then_some(Spool { number, bytes, ends, write })
    }
}
