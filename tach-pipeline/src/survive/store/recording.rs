//! The items of the flight recorder, in a part of the file that is written in a circle. They count
//! as soon as they are written, and the oldest make room for the next one.

use core::time::Duration;
use std::sync::Arc;

use super::super::layout::{PAGE, head, recording};
use super::Store;
use crate::spans::span::Span;
use crate::survive::recorded_span::{WORDS, words};

const WORD: usize = size_of::<u64>();
/// Blocks of the file are reserved by so many bytes. In tests some items fill it.
const STEP: usize = if cfg!(test) { 2 * PAGE } else { 1024 * 1024 };
/// The longest part.
const MOST: usize = 16 * 1024 * 1024;

/// An item that a file has.
pub(in crate::survive) enum Kept<'a> {
    /// The record of an event.
    Event(&'a [u8]),
    Span(&'a Span<'a>),
}

pub(in crate::survive) struct Recording {
    store: Arc<Store>,
    /// Where the part is in the file.
    start: usize,
    capacity: usize,
    /// How many bytes have blocks.
    reserved: usize,
    /// How many of all bytes ever written were written before the first item, and before the end of
    /// the last one.
    first: usize,
    end: usize,
}

impl Recording {
    /// Creates the state for a recorder of `bytes` and an age.
    pub(in crate::survive) fn new(store: &Arc<Store>, bytes: usize, age: Duration) -> Self {
        let capacity = bytes.clamp(STEP, MOST).next_multiple_of(STEP);
        // Without room, nothing is kept.
        let start = store.room.lock().place(capacity).ok();
        let capacity = start.map_or(0, |_| capacity);
        let start = start.unwrap_or_default();
        let age = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
        store.memory.set(head::RECORDED_START, start as u64);
        store.memory.set(head::RECORDED_CAPACITY, capacity as u64);
        store.memory.publish(head::RECORDED_AGE, age);
        Self { store: Arc::clone(store), start, capacity, reserved: 0, first: 0, end: 0 }
    }

    pub(in crate::survive) fn is_of(&self, store: &Arc<Store>) -> bool {
        Arc::ptr_eq(&self.store, store)
    }

    pub(in crate::survive) fn add(&mut self, item: &Kept<'_>) {
        let length = WORD
            + match item {
                Kept::Event(record) => record.len(),
                Kept::Span(span) => size_of::<[u64; WORDS]>() + span.records.len(),
            };
        if length > self.capacity / 2 || !self.has_blocks(length) {
            return;
        }
        let left = self.capacity - self.end % self.capacity;
        if length > left {
            // An item lies in one piece.
            self.make_room(left);
            self.store.memory.set(self.at(self.end), entry(left, recording::UNUSED));
            self.end += left;
        }
        self.make_room(length);
        let (memory, mut at) = (&self.store.memory, self.at(self.end));
        let mut set = |word| {
            memory.set(at, word);
            at += WORD;
        };
        match item {
            Kept::Event(record) => {
                set(entry(length, recording::EVENT));
                memory.copy(at, record);
            }
            Kept::Span(span) => {
                set(entry(length, recording::SPAN));
                words(span).into_iter().for_each(set);
                memory.copy(at, span.records);
            }
        }
        self.end += length;
        memory.publish(head::RECORDED_END, self.end as u64);
    }

    /// Returns where a byte is in the file.
    fn at(&self, position: usize) -> usize {
        self.start + position % self.capacity
    }

    /// Forgets the oldest items until there is room for `bytes` more.
    fn make_room(&mut self, bytes: usize) {
        let before = self.first;
        while self.end + bytes > self.first + self.capacity {
            let entry = self.store.memory.get(self.at(self.first));
            let length = usize::try_from(entry & u64::from(u32::MAX)).unwrap_or(0);
            // Somebody may have cut the file.
            self.first = if length > 0 { self.first + length } else { self.end };
        }
        if self.first > before {
            self.store.memory.publish(head::RECORDED_FIRST, self.first as u64);
        }
    }

    /// Reserves blocks for the next item. If there are none, the part ends here.
    fn has_blocks(&mut self, length: usize) -> bool {
        while self.reserved < self.capacity && self.end + length > self.reserved {
            let at = (self.start + self.reserved) as u64;
            if tach_files::reserve(self.store.owned.file(), at, STEP as u64).is_ok() {
                self.reserved += STEP;
                self.store.room.lock().reserved += STEP;
            } else {
                self.capacity = self.reserved;
                self.store.memory.publish(head::RECORDED_CAPACITY, self.capacity as u64);
            }
        }
        length <= self.capacity / 2
    }
}

/// Returns the first word of an entry.
const fn entry(length: usize, kind: u64) -> u64 {
    length as u64 | kind << u32::BITS
}
