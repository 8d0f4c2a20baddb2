//! Formatted events that wait to be written.

mod parts;

use core::panic::AssertUnwindSafe;
use std::io;
use std::panic;

use log::LevelFilter;
use tach_core::UnixTime;

use crate::stats::{Dropped, Happened};

/// How many bytes are gathered for one write.
pub(super) const BATCH: usize = 64 * 1024;

/// The capacity that an empty batch keeps for events, if one write contains no more.
pub(super) const KEPT: usize = 4 * BATCH;

/// The capacity that an empty batch keeps for the ends of events: more events than a usual write
/// contains.
const MOST_ENDS: usize = 4096;

/// Whole events, of which a first part may have been written already.
#[derive(Debug)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// Where each event ends in `bytes`.
    ends: Vec<usize>,
    /// How many of `bytes` were written.
    written: usize,
    /// How many events were written whole.
    done: usize,
    happened: Vec<Happened>,
}

impl Batch {
    pub(super) const fn new() -> Self {
        Self { bytes: Vec::new(), ends: Vec::new(), written: 0, done: 0, happened: Vec::new() }
    }

    /// Returns a batch of events that happened about `time`.
    pub(super) fn of(bytes: Vec<u8>, ends: Vec<usize>, time: UnixTime) -> Self {
        let happened = vec![Happened { time, level: None }; ends.len()];
        Self { bytes, ends, happened, ..Self::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the number of bytes, including those that were written.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns all bytes, including those that were written.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns where each event ends.
    pub(crate) fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Returns how many bytes were written.
    pub(super) const fn written(&self) -> usize {
        self.written
    }

    /// Returns how many bytes were written of an event that was not written whole.
    pub(super) fn part(&self) -> usize {
        self.written - self.done.checked_sub(1).map_or(0, |last| self.ends[last])
    }

    /// Returns the number of bytes left to write.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.written
    }

    /// Returns the number of events that were not written whole.
    pub(super) fn events_left(&self) -> usize {
        self.ends.len() - self.done
    }

    /// Adds the event that `write` appends.
    ///
    /// # Errors
    ///
    /// If `write` fails or panics. Nothing is added.
    #[inline]
    pub(super) fn add(
        &mut self,
        happened: Happened,
        write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<()> {
        let start = self.bytes.len();
        match panic::catch_unwind(AssertUnwindSafe(|| write(&mut self.bytes))) {
            Ok(Ok(())) => {
                self.end(happened);
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
    pub(super) fn last_len(&self) -> usize {
        self.bytes.len() - self.ends.iter().rev().nth(1).copied().unwrap_or(0)
    }

    /// Removes the last event, of which nothing may have been written.
    pub(super) fn remove_last(&mut self) {
        self.bytes.truncate(self.bytes.len() - self.last_len());
        self.ends.pop();
        self.happened.pop();
    }

    /// Adds a copy of the last event of `other`, which has one.
    #[inline]
    pub(super) fn add_last_of(&mut self, other: &Self) {
        self.bytes.extend_from_slice(&other.bytes[other.bytes.len() - other.last_len()..]);
        if let Some(last) = other.happened.last() {
            self.end(*last);
        }
    }

    #[inline]
    fn end(&mut self, happened: Happened) {
        self.ends.push(self.bytes.len());
        self.happened.push(happened);
    }

    /// Adds copies of the events of `other`, of which none may have been written.
    pub(super) fn append(&mut self, other: &Self) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| start + end));
        self.happened.extend_from_slice(&other.happened);
    }

    /// Returns the bytes for the next write: as many whole events as fit into `most` bytes, or a
    /// single event that is longer.
    pub(super) fn next(&self, most: usize) -> &[u8] {
        self.next_until(most, |_| false)
    }

    /// Like [`next`](Self::next), but ends before the first event, except the next one, at whose
    /// time `ends` is `true`. If `ends` is `false` for the last event that fits, asks no further:
    /// events are in the order of their times, but for those of threads that were late.
    pub(super) fn next_until(&self, most: usize, ends: impl Fn(UnixTime) -> bool) -> &[u8] {
        let most = self.written.saturating_add(most);
        let fitting = self.ends[self.done..].partition_point(|&end| end <= most);
        let happened = &self.happened[self.done..][..fitting];
        let is_whole = !happened.last().is_some_and(|one| ends(one.time));
        let split = || happened.iter().position(|one| ends(one.time)).unwrap_or(fitting);
        let count = if is_whole { fitting } else { split() };
        let last = self.ends[self.done..].get(count.saturating_sub(1)).copied();
        &self.bytes[self.written..last.unwrap_or(self.written)]
    }

    /// Returns when the next event happened, or `None` if all are written.
    pub(super) fn time(&self) -> Option<UnixTime> {
        self.happened.get(self.done).map(|one| one.time)
    }

    /// Counts the first `count` bytes of [`next`](Self::next) as written. Returns the number of
    /// events that are now written whole and were not before.
    pub(super) fn wrote(&mut self, count: usize) -> usize {
        self.written += count;
        let done = self.done;
        self.done += self.ends[done..].partition_point(|&end| end <= self.written);
        self.done - done
    }

    /// If an event was written in part, the next write starts again at its first byte.
    pub(super) fn repeat_part(&mut self) {
        self.written -= self.part();
    }

    /// Removes all events. Keeps a capacity of `most` bytes, if the batch has as much.
    pub(super) fn clear(&mut self, most: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(most);
        self.ends.clear();
        self.ends.shrink_to(MOST_ENDS);
        self.happened.clear();
        self.happened.shrink_to(MOST_ENDS);
        (self.written, self.done) = (0, 0);
    }

    /// Returns the events as dropped that were not written.
    pub(super) fn dropped_left(&self) -> Option<Dropped> {
        let mut dropped = None;
        for one in &self.happened[self.done..] {
            Dropped::add(&mut dropped, *one);
        }
        dropped
    }

    /// Returns the events that pass `least`, and the others as dropped. None may have been written.
    pub(super) fn sifted(&self, least: LevelFilter) -> (Self, Option<Dropped>) {
        let (mut passed, mut dropped, mut start) = (Self::new(), None, 0);
        for (&end, one) in self.ends.iter().zip(&self.happened) {
            if one.level.is_some_and(|level| level.passes(least)) {
                passed.bytes.extend_from_slice(&self.bytes[start..end]);
                passed.end(*one);
            } else {
                Dropped::add(&mut dropped, *one);
            }
            start = end;
        }
        (passed, dropped)
    }
}
