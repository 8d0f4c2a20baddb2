//! Reads the records that were not passed on.

use std::borrow::Cow;
use std::sync::Arc;

use tach_core::UnixTime;
use tach_core::adapter::utf8;

use super::{Image, WORD};
use crate::frame;
use crate::queue::ring::OVERHEAD;
use crate::survive::foreign;
use crate::survive::layout::{FIXED, PAGE, RINGS, head, ring, table};

/// The number and the name of a thread.
pub(in crate::survive) type Thread = Arc<(u64, String)>;

/// The records of a file that no sink has.
#[derive(Debug, Default)]
pub(in crate::survive) struct Left<'a> {
    /// In order, each with the time by which it was merged, and its thread.
    pub(in crate::survive) records: Vec<(UnixTime, Cow<'a, [u8]>, Thread)>,
    /// How many records were damaged.
    pub(in crate::survive) cut: u64,
}

impl<'a> Image<'a> {
    /// Returns the records that were not passed on, merged by time. Those of one queue stay in
    /// their order.
    pub(in crate::survive) fn left(&self) -> Left<'a> {
        let mut rings = Vec::new();
        let mut left = Left::default();
        // The rings of a file that somebody has made up may lie in one place.
        let mut room = self.bytes.len();
        for at in 0..self.size(head::RINGS).min(RINGS) {
            let entry = ring::AT + at * ring::BYTES;
            let order = (self.word(entry + ring::QUEUE), self.word(entry + ring::PLACE));
            match self.words_left(at, entry).map(joined) {
                Some(words) if words.is_empty() => {}
                Some(words) if words.len() <= room => {
                    room -= words.len();
                    rings.push((order, words, Arc::new(self.thread(entry))));
                }
                _ => left.cut += 1,
            }
        }
        rings.sort_by_key(|(order, ..)| *order);
        // A record has the latest time of its queue so far, so that the queue's order stays.
        let (mut queue, mut latest) = (None, UnixTime::EPOCH);
        for ((of, _), words, thread) in rings {
            if queue.replace(of) != Some(of) {
                latest = UnixTime::EPOCH;
            }
            let mut add = |record: Cow<'a, [u8]>| match foreign::foreign_time(&record, self) {
                Some(time) if !frame::is_reference(&record) => {
                    latest = latest.max(time);
                    left.records.push((latest, record, Arc::clone(&thread)));
                }
                _ => left.cut += 1,
            };
            let is_whole = match words {
                Cow::Borrowed(words) => split(words, |record| add(record.into())),
                Cow::Owned(words) => split(&words, |record| add(record.to_owned().into())),
            };
            left.cut += u64::from(!is_whole);
        }
        // The sort is stable.
        left.records.sort_by_key(|(time, ..)| *time);
        left
    }

    /// Returns whether any ring is damaged or has bytes that were not passed on, so that something
    /// is [left](Self::left).
    pub(in crate::survive) fn has_left(&self) -> bool {
        (0..self.size(head::RINGS).min(RINGS)).any(|at| {
            let words = self.words_left(at, ring::AT + at * ring::BYTES);
            words.is_none_or(|words| words.iter().any(|part| !part.is_empty()))
        })
    }

    /// Returns the two parts of the bytes of a ring that were not passed on, or `None` if the ring
    /// is damaged.
    fn words_left(&self, at: usize, entry: usize) -> Option<[&'a [u8]; 2]> {
        let (start, length) = (self.size(entry + ring::START), self.size(entry + ring::LENGTH));
        let bytes = self.bytes.get(start..start.checked_add(length)?)?;
        let is_right = start >= FIXED && start % PAGE == 0 && length % PAGE == 0;
        let (counts, words) = bytes.split_at_checked(OVERHEAD).filter(|_| is_right)?;
        let counts = Image::at(counts, 0);
        let (written, read) = (counts.word(0), counts.word(OVERHEAD / 2));
        // A word that was freed was passed on, or dropped.
        let first = self.position(at).max(read);
        let count = (words.len() / WORD) as u64;
        let waiting = written.checked_sub(first).filter(|waiting| *waiting <= count)?;
        let first = usize::try_from(first.checked_rem(count)?).ok()? * WORD;
        let waiting = usize::try_from(waiting).ok()? * WORD;
        let (begin, end) = words.split_at(first);
        let at_end = waiting.min(end.len());
        Some([&end[..at_end], &begin[..waiting - at_end]])
    }

    /// Returns how many words of a ring were passed on.
    fn position(&self, at: usize) -> u64 {
        let rings = self.size(self.table + table::RINGS);
        if at < rings { self.of_table(table::POSITIONS + at * WORD) } else { 0 }
    }

    /// Returns the number and the name of a ring's thread.
    fn thread(&self, entry: usize) -> (u64, String) {
        let length = self.size(entry + ring::NAME_LENGTH).min(ring::MOST_NAME);
        let name = self.bytes.get(entry + ring::NAME..entry + ring::NAME + length);
        (self.word(entry + ring::THREAD), name.and_then(utf8::text).unwrap_or_default().to_owned())
    }
}

/// Returns the bytes of a ring, which lie in one piece unless the ring goes on at its beginning.
fn joined([first, second]: [&[u8]; 2]) -> Cow<'_, [u8]> {
    if second.is_empty() { first.into() } else { [first, second].concat().into() }
}

/// Calls `each` with each record. Returns whether nothing is left behind them.
fn split<'a>(bytes: &'a [u8], mut each: impl FnMut(&'a [u8])) -> bool {
    let mut rest = bytes;
    while let Some((record, after)) = frame::split(rest) {
        rest = after;
        each(record);
    }
    rest.is_empty()
}
