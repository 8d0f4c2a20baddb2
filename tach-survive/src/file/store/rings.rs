//! The memory of rings.

use core::sync::atomic::Ordering;
use core::time::Duration;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use tach_log::adapter::beginning;

use super::super::layout::{MOST_BYTES, PAGE, RINGS, head, ring};
use super::Store;
use tach_record::queue::ring::{Part, RingMemory};

/// Rings that are longer are for single records.
const LONG: usize = 32 * 1024;
/// After the file could not grow, how long the calls don't try again: each attempt costs them
/// system calls.
const BETWEEN_TRIES: Duration = Duration::from_secs(1);

/// The parts of the file behind its fixed part.
pub(super) struct Room {
    /// Where the last part ends. All blocks before are reserved.
    pub(super) end: usize,
    /// Whether the file was shorter than `end` at some time when it grew.
    pub(super) is_cut: bool,
    /// The number of entries of rings.
    rings: u32,
    /// When the file could not grow for a ring.
    full_since: Option<Instant>,
    /// The places of rings that neither a queue nor a pool holds.
    free: Vec<Free>,
}

#[derive(Clone, Copy)]
struct Free {
    number: u32,
    start: usize,
    length: usize,
}

/// The part of the file that belongs to a ring. Returns it when the ring is dropped.
struct RingPart {
    store: Arc<Store>,
    free: Free,
}

impl Room {
    pub(super) const fn new(end: usize) -> Self {
        Self { end, is_cut: false, rings: 0, full_since: None, free: Vec::new() }
    }

    /// Returns the place of an unused ring of this length. For a long record, the ring may be up to
    /// twice as long: such records have many lengths, and each would need a ring of its own.
    fn unused(&self, length: usize) -> Option<usize> {
        let fits =
            |most: usize| self.free.iter().position(|free| (length..=most).contains(&free.length));
        fits(length).or_else(|| if length > LONG { fits(2 * length) } else { None })
    }

    /// Reserves a part of the file, and returns its place.
    ///
    /// # Errors
    ///
    /// If there is no room.
    pub(super) fn reserve(&mut self, file: &File, length: usize) -> io::Result<usize> {
        let (start, end) = (self.end, self.end + length);
        if end > MOST_BYTES {
            return Err(io::ErrorKind::StorageFull.into());
        }
        // Remember now that the file was cut. Later stores fill the holes of a file that is long
        // enough again, and then nobody can tell that records in them are torn.
        self.is_cut |= file.metadata()?.len() < start as u64;
        tach_files::reserve(file, start as u64, length as u64)?;
        self.end = end;
        Ok(start)
    }
}

impl Store {
    /// Returns memory for a ring of at least `length` bytes.
    pub(crate) fn ring(self: &Arc<Self>, length: usize) -> Option<RingMemory> {
        let length = length.next_multiple_of(PAGE);
        let free = self.take(length)?;
        let part = RingPart { store: Arc::clone(self), free };
        Some(self.memory.ring(free.start, free.length, Box::new(part)))
    }

    /// Returns whether a caller need not wait for a ring of that length: a ring is unused, or an
    /// entry is left, so that a new ring either fits or never will.
    pub(crate) fn has_ring(&self, length: usize) -> bool {
        let room = self.room.lock();
        let has_entry = usize::try_from(room.rings).is_ok_and(|rings| rings < RINGS);
        has_entry || room.unused(length.next_multiple_of(PAGE)).is_some()
    }

    /// Counts a ring that found no room.
    pub(crate) fn has_no_room(&self) {
        let _one_thread = self.room.lock();
        self.memory.set(head::OUTSIDE, self.memory.get(head::OUTSIDE) + 1);
    }

    /// Stores how many records calls have dropped in all. If calls store in another order, the
    /// greatest number stays.
    pub(crate) fn raise_lost(&self, count: u64) {
        self.memory.raise(head::LOST, count);
    }

    /// Stores that nobody needs the items of the flight recorder: the process ends as it should.
    pub(crate) fn exits(&self) {
        self.memory.publish(head::RECORDED_AGE, 0);
    }

    fn take(&self, length: usize) -> Option<Free> {
        let mut room = self.room.lock();
        if let Some(at) = room.unused(length) {
            return Some(room.free.swap_remove(at));
        }
        let number = room.rings;
        if usize::try_from(number).ok()? >= RINGS {
            return None;
        }
        if room.full_since.is_some_and(|since| since.elapsed() < BETWEEN_TRIES) {
            return None;
        }
        let reserved = self.reserve(&mut room, length);
        room.full_since = reserved.is_err().then(Instant::now);
        let start = reserved.ok()?;
        room.rings += 1;
        let at = ring::AT + usize::try_from(number).ok()? * ring::BYTES;
        self.memory.set(at + ring::START, start as u64);
        self.memory.set(at + ring::LENGTH, length as u64);
        self.memory.publish(head::RINGS, room.rings.into());
        Some(Free { number, start, length })
    }
}

impl Part for RingPart {
    fn is_of_use(&self) -> bool {
        // ORDERING: Relaxed: a thread that sees the flag late merely goes on in the new file later.
        !self.store.is_over.load(Ordering::Relaxed)
    }

    fn belongs_to(&self, queue: u64, place: u64, (thread, name): (u64, &str)) {
        let at = ring::AT + usize::try_from(self.free.number).unwrap_or(0) * ring::BYTES;
        let memory = &self.store.memory;
        let name = beginning(name, ring::MOST_NAME);
        memory.set(at + ring::QUEUE, queue);
        memory.set(at + ring::THREAD, thread);
        memory.set(at + ring::NAME_LENGTH, name.len() as u64);
        memory.copy(at + ring::NAME, name.as_bytes());
        // Publish the place last. The next record's count follows, so a reader that sees the record
        // sees the place and the name.
        memory.publish(at + ring::PLACE, place);
    }
}

impl Drop for RingPart {
    fn drop(&mut self) {
        self.store.room.lock().free.push(self.free);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_without_room_grows_again_after_a_while() {
        let (store, path) = Store::of_test("tries");
        let end = core::mem::replace(&mut store.room.lock().end, MOST_BYTES);
        assert!(store.ring(PAGE).is_none());
        store.room.lock().end = end;
        assert!(store.ring(PAGE).is_none());
        store.room.lock().full_since = Instant::now().checked_sub(BETWEEN_TRIES);
        assert!(store.ring(PAGE).is_some());
        drop(store);
        fs::remove_dir_all(path).unwrap();
    }

    /// Stores fill the file's holes with blocks, and its length is right again: only the flag shows
    /// the cut.
    #[test]
    fn a_file_that_was_cut_is_lost_although_it_has_grown() {
        let (store, path) = Store::of_test("grows");
        let first = store.ring(PAGE).unwrap();
        let length = store.owned.file().metadata().unwrap().len();
        store.owned.file().set_len(length - 1).unwrap();
        let second = store.ring(PAGE).unwrap();
        assert_eq!(store.owned.file().metadata().unwrap().len(), length + PAGE as u64);
        assert!(store.is_lost());
        // A later process sees the loss too.
        assert_eq!(store.memory.get(head::RESERVED), u64::MAX);
        drop((first, second, store));
        fs::remove_dir_all(path).unwrap();
    }
}
