//! The items of the flight recorder, in a part of the file that is used as a circle: the oldest
//! items make room for the next one. An item counts as soon as it is written.

use core::time::Duration;
use std::sync::Arc;

use super::super::layout::{PAGE, head};
use super::Store;

const WORD: usize = size_of::<u64>();
/// The longest part: the process that reads the items later may have little memory.
const MOST: usize = 3 * 1024 * 1024;

pub(crate) struct Recording {
    store: Arc<Store>,
    /// Where the part is in the file.
    start: usize,
    capacity: usize,
    /// Positions of the first item and of the end of the last one, counted in all bytes ever
    /// written.
    first: usize,
    end: usize,
}

impl Recording {
    /// Creates the part for a recorder with so much memory and this age. If the file has no room,
    /// the recorder keeps nothing.
    pub(crate) fn new(store: &Arc<Store>, bytes: usize, age: Duration) -> Self {
        let capacity = bytes.min(MOST).next_multiple_of(PAGE);
        let start = store.reserve(&mut store.room.lock(), capacity);
        let (start, capacity) = start.map_or((0, 0), |start| (start, capacity));
        let age = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
        store.memory.set(head::RECORDED_START, start as u64);
        store.memory.set(head::RECORDED_CAPACITY, capacity as u64);
        store.memory.publish(head::RECORDED_AGE, age);
        Self { store: Arc::clone(store), start, capacity, first: 0, end: 0 }
    }

    pub(crate) fn is_of(&self, store: &Arc<Store>) -> bool {
        Arc::ptr_eq(&self.store, store)
    }

    /// Adds an item, unless it is too long.
    pub(crate) fn add(&mut self, words: &[u64], records: &[u8]) {
        let length = WORD * (1 + words.len()) + records.len();
        if length > self.capacity / 2 {
            return;
        }
        let left = self.capacity - self.end % self.capacity;
        if length > left {
            // Skip the rest of the circle: an item lies in one piece.
            self.make_room(left);
            self.store.memory.set(self.at(self.end), entry(left, 0));
            self.end += left;
        }
        self.make_room(length);
        let (memory, mut at) = (&self.store.memory, self.at(self.end));
        for word in [entry(length, 1 + words.len())].iter().chain(words) {
            memory.set(at, *word);
            at += WORD;
        }
        memory.copy(at, records);
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
            // If somebody has cut the file, the length reads as zero. Then drop all items.
            self.first = if length > 0 { self.first + length } else { self.end };
        }
        if self.first > before {
            self.store.memory.publish(head::RECORDED_FIRST, self.first as u64);
        }
    }
}

/// Returns the first word of an entry: its length, and the number of its words with this one.
/// `words` is zero if the bytes are unused.
const fn entry(length: usize, words: usize) -> u64 {
    length as u64 | (words as u64) << u32::BITS
}

#[cfg(test)]
mod tests;
