//! The items of the flight recorder, in a part of the file that is written in a circle.
//!
//! A table that counts names the first and the last of the items. The oldest are overwritten only
//! when the table that counts names them no more. A part that is too small is replaced by one of
//! four times its length, up to the recorder's own bound.

use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;

use super::super::layout::{PAGE, head, recording};
use super::super::mapping::Mapping;
use super::Store;
use super::commits::{Area, Recorded};
use crate::spans::span::Span;
use crate::survive::recorded_span::{WORDS, words};

/// The shortest part. In tests some items fill it.
const LEAST: usize = if cfg!(test) { 2 * PAGE } else { 1024 * 1024 };
/// The longest part.
const MOST: usize = 16 * 1024 * 1024;
/// Into how many pieces a part is divided. The oldest items are forgotten by whole pieces.
const PIECES: usize = 64;
/// How many pieces are free after a commit, so that the next round overwrites nothing that counts.
const FREE: usize = 8;

/// An item that a file has.
pub(in crate::survive) enum Kept<'a> {
    /// The record of an event.
    Event(&'a [u8]),
    Span(&'a Span<'a>),
}

pub(in crate::survive) struct Recording {
    store: Arc<Store>,
    part: Option<Part>,
    /// The longest part, in bytes.
    most: usize,
    recorded: Recorded,
    /// The first byte that the table which counts names, if it names this part.
    counted: Option<u64>,
    /// Where pieces begin, behind the first item.
    pieces: VecDeque<u64>,
    /// The parts that the table which counts may name.
    before: Vec<Area>,
}

struct Part {
    memory: Mapping,
    area: Area,
}

impl Recording {
    /// Creates the state for a recorder of `bytes` and an age.
    pub(in crate::survive) fn new(store: &Arc<Store>, bytes: usize, age: Duration) -> Self {
        let age = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
        store.fixed.set(head::RECORDED_AGE, age);
        Self {
            store: Arc::clone(store),
            part: None,
            most: bytes.clamp(LEAST, MOST).next_multiple_of(PAGE),
            recorded: Recorded::default(),
            counted: None,
            pieces: VecDeque::new(),
            before: Vec::new(),
        }
    }

    /// Adds an item. It counts after a commit with [`recorded`](Self::recorded). `all` passes all
    /// items of the recorder, which has the item already.
    pub(in crate::survive) fn add(
        &mut self,
        item: &Kept<'_>,
        all: impl FnOnce(&mut dyn FnMut(&Kept<'_>)),
    ) {
        let bytes = length(item);
        let Recorded { first, end, capacity, .. } = self.recorded;
        if bytes > self.most / 2 {
            return;
        }
        let is_full = end + bytes as u64 > first + capacity as u64;
        if (is_full && capacity < self.most || bytes > capacity / 2) && self.grow(bytes) {
            all(&mut |item| self.append(item));
        } else if bytes <= self.most / 2 {
            self.append(item);
        }
    }

    /// Returns what the next commit names.
    pub(in crate::survive) fn recorded(&mut self) -> Recorded {
        let capacity = self.recorded.capacity;
        // A shorter part is replaced instead.
        if capacity > 0 && capacity == self.most {
            self.make_room(capacity / PIECES * FREE);
        }
        self.recorded
    }

    /// Notes that the last [`recorded`](Self::recorded) counts.
    pub(in crate::survive) fn committed(&mut self) {
        self.counted = self.part.is_some().then_some(self.recorded.first);
        for area in self.before.drain(..) {
            self.store.give_back(area);
        }
    }

    /// Begins a longer part, for at least one item of that length. Returns `false` if the file has
    /// no room.
    fn grow(&mut self, bytes: usize) -> bool {
        let Recorded { capacity, number, .. } = self.recorded;
        let length = (4 * capacity).max(2 * bytes).clamp(LEAST, self.most).next_multiple_of(PAGE);
        let Ok((area, memory)) = self.store.part(length) else {
            // Another try would cost a system call for each item.
            self.most = capacity;
            return false;
        };
        let Area { start, length: capacity } = area;
        let part = Part { memory, area };
        self.before.extend(self.part.replace(part).map(|part| part.area));
        self.recorded = Recorded { number: number + 1, start, capacity, first: 0, end: 0 };
        self.counted = None;
        self.pieces.clear();
        true
    }

    /// Forgets the oldest items until there is room for `bytes`.
    fn make_room(&mut self, bytes: usize) {
        let Recorded { capacity, end, .. } = self.recorded;
        let least = (end + bytes as u64).saturating_sub(capacity as u64).min(end);
        while self.recorded.first < least {
            self.recorded.first = self.pieces.pop_front().unwrap_or(end);
        }
    }

    fn append(&mut self, item: &Kept<'_>) {
        let bytes = length(item);
        if bytes > self.recorded.capacity {
            return;
        }
        self.make_room(bytes);
        let Recorded { capacity, end, .. } = self.recorded;
        let counted_until = self.counted.map(|first| first + capacity as u64);
        if counted_until.is_some_and(|until| end + bytes as u64 > until) {
            self.make_room(bytes + capacity / PIECES * FREE);
            self.store.forget_recorded(self.recorded.first);
            self.counted = Some(self.recorded.first);
        }
        let piece = (capacity / PIECES) as u64;
        let last = self.pieces.back().copied().unwrap_or(self.recorded.first);
        if end >= last + piece {
            self.pieces.push_back(end);
        }
        match item {
            Kept::Event(record) => self.write(recording::EVENT, &[], record),
            Kept::Span(span) => self.write(recording::SPAN, &words(span), span.records),
        }
    }

    fn write(&mut self, kind: u64, words: &[u64], bytes: &[u8]) {
        let Some(Part { memory, .. }) = &self.part else { return };
        let Recorded { end, capacity, .. } = &mut self.recorded;
        let length = size_of::<u64>() * (1 + words.len()) + bytes.len();
        let at = |position: u64| usize::try_from(position % *capacity as u64).unwrap_or(0);
        for word in [length as u64 | kind << u32::BITS].iter().chain(words) {
            memory.set(at(*end), *word);
            *end += size_of::<u64>() as u64;
        }
        let start = at(*end);
        let (first, second) = bytes.split_at(bytes.len().min(*capacity - start));
        for (start, part) in [(start, first), (0, second)] {
            if !part.is_empty() {
                memory.copy(start, part);
            }
        }
        *end += bytes.len() as u64;
    }
}

/// Returns the length of the entry of an item.
fn length(item: &Kept<'_>) -> usize {
    size_of::<u64>()
        + match item {
            Kept::Event(record) => record.len(),
            Kept::Span(span) => size_of::<[u64; WORDS]>() + span.records.len(),
        }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use tach_files::PrivateFolder;

    use super::super::super::layout::PAGE;
    use super::*;

    /// A failure hangs.
    #[test]
    fn a_long_item_finds_its_end_where_the_file_is_full() {
        let path = env::temp_dir().join(format!("tach-recording-full-{}", process::id()));
        let folder = Arc::new(PrivateFolder::make(&path).unwrap());
        let store = Store::new(&folder, &[]).unwrap();
        let mut recording = Recording::new(&store, 4 << 20, Duration::from_secs(1));
        let add = |recording: &mut Recording, bytes: usize| {
            recording.add(&Kept::Event(&vec![0; bytes / 8 * 8]), |_| {});
        };
        add(&mut recording, 64);
        let capacity = recording.recorded().capacity;
        add(&mut recording, capacity / 4);
        recording.committed();
        for length in [1 << 20, PAGE] {
            while store.part(length).is_ok() {}
        }
        add(&mut recording, capacity * 19 / 20);
        let Recorded { first, end, capacity: unchanged, .. } = recording.recorded();
        assert!(unchanged == capacity && first <= end && end - first <= capacity as u64);
        drop((recording, store, folder));
        fs::remove_dir_all(path).unwrap();
    }
}
