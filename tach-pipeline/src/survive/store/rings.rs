//! The memory of rings.

use core::sync::atomic::Ordering;
use std::fs::File;
use std::io;
use std::sync::Arc;

use tach_log::adapter::beginning;

use super::super::layout::{MOST_BYTES, PAGE, RINGS, head, ring};
use super::super::mapping::Mapping;
use super::Store;
use super::commits::Area;
use crate::queue::file::{RingFile, RingMemory};
use crate::queue::ring::Part;

/// Rings that are longer are for single records.
const LONG: usize = 32 * 1024;

/// The parts of the file behind its fixed part.
pub(super) struct Room {
    end: u64,
    /// The number of entries of rings.
    rings: u32,
    /// Rings that no queue and no pool has.
    free: Vec<Free>,
    /// Parts for batches and for the flight recorder that none of them has now.
    pub(super) areas: Vec<Area>,
}

#[derive(Clone, Copy)]
struct Free {
    number: u32,
    start: u64,
    length: usize,
}

/// The part of the file that belongs to a ring. Returns it when the ring is dropped.
struct RingPart {
    store: Arc<Store>,
    free: Free,
}

impl Room {
    pub(super) const fn new(end: u64) -> Self {
        Self { end, rings: 0, free: Vec::new(), areas: Vec::new() }
    }

    /// Returns a part of at least `length` bytes.
    fn area(&mut self, file: &File, length: usize) -> Option<Area> {
        let fits = |area: &Area| (length..=4 * length).contains(&area.length);
        if let Some(at) = self.areas.iter().position(fits) {
            return Some(self.areas.swap_remove(at));
        }
        Some(Area { start: self.reserve(file, length)?, length })
    }

    /// Returns the place of an unused ring of that length, or up to twice as long if the ring is
    /// for a long record. Such records have any lengths, and each would need a new ring.
    fn unused(&self, length: usize) -> Option<usize> {
        let fits =
            |most: usize| self.free.iter().position(|free| (length..=most).contains(&free.length));
        fits(length).or_else(|| if length > LONG { fits(2 * length) } else { None })
    }

    fn reserve(&mut self, file: &File, length: usize) -> Option<u64> {
        let (start, end) = (self.end, self.end + length as u64);
        if end > MOST_BYTES {
            return None;
        }
        tach_files::reserve(file, start, length as u64).ok()?;
        self.end = end;
        Some(start)
    }
}

impl RingFile for Store {
    fn ring(self: Arc<Self>, length: usize) -> Option<RingMemory> {
        let length = length.next_multiple_of(PAGE);
        let made = self.take(length).and_then(|free| {
            let mapped = Mapping::new(&self.file, free.start, free.length);
            let Ok(mapped) = mapped else {
                self.room.lock().free.push(free);
                return None;
            };
            let part = RingPart { store: Arc::clone(&self), free };
            Some(RingMemory { memory: mapped.into_memory(), part: Box::new(part) })
        });
        if made.is_none() {
            self.fixed.add(head::OUTSIDE, 1);
        }
        made
    }

    fn has_ring(&self, length: usize) -> bool {
        let room = self.room.lock();
        let has_entry = usize::try_from(room.rings).is_ok_and(|rings| rings < RINGS);
        has_entry || room.unused(length.next_multiple_of(PAGE)).is_some()
    }

    fn new_queue(&self) -> u64 {
        // ORDERING: Relaxed: only the number counts.
        self.queues.fetch_add(1, Ordering::Relaxed)
    }

    fn dropped(&self, count: u64) {
        self.fixed.add(head::DROPPED, count);
    }

    fn refused(&self) {
        self.fixed.add(head::REFUSED, 1);
    }

    fn exits(&self) {
        self.fixed.publish(head::EXITS, 1);
    }
}

impl Store {
    /// Returns a part of the file for at least `length` bytes, in whole pages, and its memory.
    ///
    /// # Errors
    ///
    /// If the file has no room, or the system refuses to map the part.
    pub(super) fn part(&self, length: usize) -> io::Result<(Area, Mapping)> {
        let area = self.room.lock().area(&self.file, length);
        let area = area.ok_or_else(|| io::Error::from(io::ErrorKind::StorageFull))?;
        match Mapping::new(&self.file, area.start, area.length) {
            Ok(memory) => Ok((area, memory)),
            Err(error) => {
                // The process may have too many mappings at the moment. The part is for the next
                // call.
                self.give_back(area);
                Err(error)
            }
        }
    }

    /// Frees a part that no table names.
    pub(super) fn give_back(&self, area: Area) {
        self.room.lock().areas.push(area);
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
        let start = room.reserve(&self.file, length)?;
        room.rings += 1;
        let at = ring::AT + usize::try_from(number).ok()? * ring::BYTES;
        self.fixed.set(at + ring::START, start);
        self.fixed.set(at + ring::LENGTH, length as u64);
        self.fixed.publish(head::RINGS, room.rings.into());
        Some(Free { number, start, length })
    }
}

impl Part for RingPart {
    fn number(&self) -> u32 {
        self.free.number
    }

    fn file(&self) -> Arc<dyn Send + Sync> {
        Arc::<Store>::clone(&self.store)
    }

    fn belongs_to(&self, queue: u64, place: u64, (thread, name): (u64, &str)) {
        let at = ring::AT + usize::try_from(self.free.number).unwrap_or(0) * ring::BYTES;
        let fixed = &self.store.fixed;
        let name = beginning(name, ring::MOST_NAME);
        fixed.set(at + ring::QUEUE, queue);
        fixed.set(at + ring::THREAD, thread);
        fixed.set(at + ring::NAME_LENGTH, name.len() as u64);
        fixed.copy(at + ring::NAME, name.as_bytes());
        // The next record's count follows, so that a reader sees both.
        self.store.fixed.publish(at + ring::PLACE, place);
    }
}

impl Drop for RingPart {
    fn drop(&mut self) {
        self.store.room.lock().free.push(self.free);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::mapping::FAILS;
    use super::*;

    #[test]
    fn parts_whose_mapping_fails_are_for_the_next_call() {
        let (store, folder) = Store::of_test("unmapped");
        let before = store.room.lock().end;
        FAILS.set(true);
        for _ in 0..10 {
            assert!(store.part(PAGE).is_err());
            assert!(Arc::clone(&store).ring(PAGE).is_none());
        }
        FAILS.set(false);
        let (part, ring) = (store.part(PAGE).unwrap(), Arc::clone(&store).ring(PAGE).unwrap());
        assert_eq!(store.room.lock().end - before, 2 * PAGE as u64);
        drop((part, ring, store));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
