//! Formatted events that wait to be written.

mod parts;

use core::panic::AssertUnwindSafe;
use std::io;
use std::panic;

use tach_core::UnixTime;

/// How many bytes are gathered for one write.
pub const BATCH: usize = 64 * 1024;

/// The capacity that an empty batch keeps for events, if one write contains no more.
pub const KEPT: usize = 4 * BATCH;

/// The capacity that an empty batch keeps for the ends of events: more events than a usual write
/// contains.
const MOST_ENDS: usize = 4096;

/// When an event happened, and what else its owner knows of it.
pub type Mark<L> = (UnixTime, L);

/// Whole events. A first part of them may have been written already.
#[derive(Debug)]
pub struct Batch<L> {
    bytes: Vec<u8>,
    /// Where each event ends in `bytes`.
    ends: Vec<usize>,
    /// How many of `bytes` were written.
    written: usize,
    /// How many events were written whole.
    done: usize,
    marks: Vec<Mark<L>>,
}

#[expect(clippy::must_use_candidate, clippy::new_without_default, reason = "hidden")]
impl<L: Copy> Batch<L> {
    /// Creates an empty batch.
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), ends: Vec::new(), written: 0, done: 0, marks: Vec::new() }
    }

    /// Returns a batch of events with one mark.
    pub fn of(bytes: Vec<u8>, ends: Vec<usize>, mark: Mark<L>) -> Self {
        let marks = vec![mark; ends.len()];
        Self { bytes, ends, marks, ..Self::new() }
    }

    /// Returns whether the batch contains no events, not even written ones.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the number of bytes, including those that were written.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns all bytes, including those that were written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns where each event ends.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Returns how many bytes were written.
    pub const fn written(&self) -> usize {
        self.written
    }

    /// Returns how many bytes were written of an event that was not written whole.
    pub fn part(&self) -> usize {
        self.written - self.done.checked_sub(1).map_or(0, |last| self.ends[last])
    }

    /// Returns the number of bytes left to write.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.written
    }

    /// Returns the number of events that were not written whole.
    pub fn events_left(&self) -> usize {
        self.ends.len() - self.done
    }

    /// Adds the event that `write` appends.
    ///
    /// # Errors
    ///
    /// If `write` fails or panics. Nothing is added.
    #[inline]
    pub fn add(
        &mut self,
        mark: Mark<L>,
        write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<()> {
        let start = self.bytes.len();
        match panic::catch_unwind(AssertUnwindSafe(|| write(&mut self.bytes))) {
            Ok(Ok(())) => {
                self.end(mark);
                Ok(())
            }
            failed => {
                self.bytes.truncate(start);
                failed.unwrap_or_else(|_| Err(io::Error::other("the format panicked")))
            }
        }
    }

    /// Returns the number of bytes of the last event.
    #[inline]
    pub fn last_len(&self) -> usize {
        self.bytes.len() - self.ends.iter().rev().nth(1).copied().unwrap_or(0)
    }

    /// Removes the last event. No part of it may have been written.
    pub fn remove_last(&mut self) {
        self.bytes.truncate(self.bytes.len() - self.last_len());
        self.ends.pop();
        self.marks.pop();
    }

    #[inline]
    fn end(&mut self, mark: Mark<L>) {
        self.ends.push(self.bytes.len());
        self.marks.push(mark);
    }

    /// Adds copies of the events of `other`. None of them may have been written.
    pub fn append(&mut self, other: &Self) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| start + end));
        self.marks.extend_from_slice(&other.marks);
    }

    /// Returns the bytes for the next write: as many whole events as fit into `most` bytes, or a
    /// single event that is longer.
    pub fn next(&self, most: usize) -> &[u8] {
        self.next_until(most, |_| false)
    }

    /// Like [`next`](Self::next), but ends before the first event, except the next one, at whose
    /// time `ends` is `true`. Checks the last event that fits first, and if `ends` is `false` for
    /// it, no others: events are in the order of their times, except for those of threads that were
    /// late.
    pub(crate) fn next_until(&self, most: usize, ends: impl Fn(UnixTime) -> bool) -> &[u8] {
        let most = self.written.saturating_add(most);
        let fitting = self.ends[self.done..].partition_point(|&end| end <= most);
        let marks = &self.marks[self.done..][..fitting];
        let is_whole = !marks.last().is_some_and(|mark| ends(mark.0));
        let split = || marks.iter().position(|mark| ends(mark.0)).unwrap_or(fitting);
        let count = if is_whole { fitting } else { split() };
        let last = self.ends[self.done..].get(count.saturating_sub(1)).copied();
        &self.bytes[self.written..last.unwrap_or(self.written)]
    }

    /// Returns when the next event happened, or `None` if all are written.
    pub fn time(&self) -> Option<UnixTime> {
        self.marks.get(self.done).map(|mark| mark.0)
    }

    /// Counts the first `count` bytes of [`next`](Self::next) as written. Returns the number of
    /// events that are now written whole and were not before.
    pub fn wrote(&mut self, count: usize) -> usize {
        self.written += count;
        let done = self.done;
        self.done += self.ends[done..].partition_point(|&end| end <= self.written);
        self.done - done
    }

    /// If an event was written in part, the next write starts again at its first byte.
    pub(crate) fn repeat_part(&mut self) {
        self.written -= self.part();
    }

    /// Removes all events. Keeps a capacity of `most` bytes, if the batch has as much.
    pub fn clear(&mut self, most: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(most);
        self.ends.clear();
        self.ends.shrink_to(MOST_ENDS);
        self.marks.clear();
        self.marks.shrink_to(MOST_ENDS);
        (self.written, self.done) = (0, 0);
    }

    /// Returns the marks of the events that were not written whole.
    pub(crate) fn marks_left(&self) -> &[Mark<L>] {
        &self.marks[self.done..]
    }

    /// Returns the events whose label `passes` accepts, and the marks of the others. None may have
    /// been written.
    pub fn sifted(&self, passes: impl Fn(&L) -> bool) -> (Self, Vec<Mark<L>>) {
        let (mut kept, mut others, mut start) = (Self::new(), Vec::new(), 0);
        for (&end, mark) in self.ends.iter().zip(&self.marks) {
            if passes(&mark.1) {
                kept.bytes.extend_from_slice(&self.bytes[start..end]);
                kept.end(*mark);
            } else {
                others.push(*mark);
            }
            start = end;
        }
        (kept, others)
    }
}
