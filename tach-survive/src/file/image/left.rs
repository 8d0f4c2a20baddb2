//! Reads the records that were not passed on, one by one: a file may have a million of them, and a
//! process that passes them on may have little memory.

use core::cmp::Reverse;
use core::ops::Range;
use std::borrow::Cow;
use std::collections::BinaryHeap;

use tach_core::UnixTime;
use tach_core::adapter::utf8;

use super::foreign;
use super::{Image, LONGEST, WORD};
use crate::file::layout::{FIXED, PAGE, RINGS, head, ring};
use tach_record::frame::{self, HEAD};
use tach_record::queue::ring::OVERHEAD;

/// The rings of a file, and how far each of them was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Left {
    /// The rings of each queue, in the order in which it wrote them.
    pub(crate) rings: Vec<Ring>,
    queues: Vec<Queue>,
    /// The time of each queue's next record, and the number of the queue.
    next: BinaryHeap<Reverse<(UnixTime, usize)>>,
    /// How many records were damaged.
    pub(crate) cut: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Ring {
    /// The number of the ring's entry, and where the ring is in the file.
    pub(crate) number: usize,
    pub(crate) place: Range<usize>,
    /// How many words were read, of all words that were ever written to the ring.
    pub(crate) read: u64,
    written: u64,
}

#[derive(Debug, Clone)]
struct Queue {
    /// The rings of the queue that are not read to their ends.
    rings: Range<usize>,
    /// The latest time of the queue's records so far. A record with an earlier time gets this one,
    /// so that the records of a queue stay in their order.
    latest: UnixTime,
}

impl Ring {
    pub(crate) fn is_empty(&self) -> bool {
        self.read == self.written
    }

    /// Returns the next `length` bytes of the ring, which may continue at its beginning.
    fn bytes<'a>(&self, image: &Image<'a>, length: usize) -> Option<Cow<'a, [u8]>> {
        let words = image.bytes.get(self.place.clone())?.get(OVERHEAD..)?;
        let waiting = usize::try_from(self.written - self.read).ok()? * WORD;
        let start = usize::try_from(self.read % (words.len() / WORD) as u64).ok()? * WORD;
        if length > waiting {
            return None;
        }
        let (before, behind) = words.split_at_checked(start)?;
        Some(match behind.get(..length) {
            Some(bytes) => bytes.into(),
            // The record continues at the beginning of the ring.
            None => [behind, before.get(..length - behind.len())?].concat().into(),
        })
    }

    /// Returns the next record.
    fn record<'a>(&self, image: &Image<'a>) -> Option<Cow<'a, [u8]>> {
        let head = self.bytes(image, HEAD)?;
        let length = frame::length(head.first_chunk()?).max(HEAD);
        (length % WORD == 0 && length <= LONGEST).then_some(())?;
        // Skip a record of zeros: what was cut off a file reads as zeros.
        self.bytes(image, length).filter(|record| record.iter().any(|byte| *byte != 0))
    }
}

impl Left {
    /// Returns the next record in the order of time, and the number of its ring. The records of one
    /// queue stay in their order.
    pub(crate) fn next<'a>(
        &mut self,
        image: &Image<'a>,
    ) -> Option<(UnixTime, Cow<'a, [u8]>, usize)> {
        let Reverse((time, queue)) = self.next.pop()?;
        let ring = self.queues.get(queue)?.rings.start;
        let ring = self.rings.get_mut(ring)?;
        let record = ring.record(image)?;
        ring.read += (record.len() / WORD) as u64;
        let number = ring.number;
        self.find_next(queue, image);
        Some((time, record, number))
    }

    fn find_next(&mut self, number: usize, image: &Image<'_>) {
        let Self { rings, queues, next, cut } = self;
        let Some(queue) = queues.get_mut(number) else { return };
        while let Some(ring) = rings.get_mut(queue.rings.clone()).and_then(<[_]>::first_mut) {
            if !ring.is_empty() {
                let record = ring.record(image);
                if let Some(time) = record.and_then(|it| foreign::foreign_time(&it, image)) {
                    queue.latest = queue.latest.max(time);
                    return next.push(Reverse((queue.latest, number)));
                }
                *cut += 1;
                ring.read = ring.written;
            }
            queue.rings.start += 1;
        }
    }
}

impl Image<'_> {
    /// Returns the rings.
    pub(crate) fn left(&self) -> Left {
        let mut left = Left::default();
        let mut rings = Vec::new();
        // Bound the sum of all rings: in a forged file, they may all lie in one place.
        let mut room = self.bytes.len();
        for number in 0..self.size(head::RINGS).min(RINGS) {
            let entry = ring::AT + number * ring::BYTES;
            let order = (self.word(entry + ring::QUEUE), self.word(entry + ring::PLACE));
            match self.ring(number, entry) {
                Some(ring) if ring.place.len() <= room => {
                    room -= ring.place.len();
                    rings.push((order, ring));
                }
                _ => left.cut += 1,
            }
        }
        rings.sort_by_key(|(order, _)| *order);
        let mut last = None;
        for ((of, _), ring) in rings {
            let at = left.rings.len();
            match left.queues.last_mut().filter(|_| last == Some(of)) {
                Some(queue) => queue.rings.end += 1,
                None => left.queues.push(Queue { rings: at..at + 1, latest: UnixTime::EPOCH }),
            }
            last = Some(of);
            left.rings.push(ring);
        }
        (0..left.queues.len()).for_each(|queue| left.find_next(queue, self));
        left
    }

    /// Returns a ring, or `None` if it is damaged.
    fn ring(&self, number: usize, entry: usize) -> Option<Ring> {
        let (start, length) = (self.size(entry + ring::START), self.size(entry + ring::LENGTH));
        let place = start..start.checked_add(length)?;
        if length == 0 {
            // A later process has passed all of it on.
            return Some(Ring { number, place, read: 0, written: 0 });
        }
        let bytes = self.bytes.get(place.clone())?;
        let is_right = start >= FIXED && start % PAGE == 0 && length % PAGE == 0;
        let (counts, words) = bytes.split_at_checked(OVERHEAD).filter(|_| is_right)?;
        let counts = Image::at(counts);
        // Begin after the freed words: their records were passed on, or dropped.
        let (written, read) = (counts.word(0), counts.word(OVERHEAD / 2));
        let count = (words.len() / WORD) as u64;
        written.checked_sub(read).filter(|waiting| *waiting <= count)?;
        Some(Ring { number, place, read, written })
    }

    /// Returns the number and the name of a ring's thread.
    pub(crate) fn thread(&self, ring: usize) -> (u64, &str) {
        let entry = ring::AT + ring * ring::BYTES;
        let length = self.size(entry + ring::NAME_LENGTH).min(ring::MOST_NAME);
        let name = self.bytes.get(entry + ring::NAME..entry + ring::NAME + length);
        (self.word(entry + ring::THREAD), name.and_then(utf8::text).unwrap_or_default())
    }
}
