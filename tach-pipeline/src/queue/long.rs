//! Long records, which a queue holds by reference, since copying them takes long.

use core::mem;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::frame::Buffer;

/// A record from this length on is handed over by reference. Below, a copy takes less time than the
/// locks and a look whether the process was forked.
pub(super) const LONG: usize = 10 * 1024;

/// The long records of a queue. Its rings hold a [reference](crate::frame::reference) for each of
/// them, in the same order.
#[derive(Default)]
pub(super) struct Long {
    records: Mutex<Records>,
    bytes: Bytes,
}

#[derive(Default)]
struct Records {
    waiting: VecDeque<Buffer>,
    /// Memory for the thread's next long record.
    spare: Buffer,
}

impl Long {
    /// Returns how many bytes wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.get()
    }

    /// Takes a record before its reference is pushed, and leaves memory for another one.
    pub(super) fn push(&self, record: &mut Buffer) {
        let mut records = self.lock();
        let spare = mem::take(&mut records.spare);
        let record = mem::replace(record, spare);
        self.bytes.set(self.bytes.get() + record.written().len());
        records.waiting.push_back(record);
    }

    /// Removes the oldest record, whose reference was read before.
    pub(super) fn pop(&self) -> Option<Buffer> {
        let mut records = self.lock();
        let oldest = records.waiting.pop_front()?;
        self.bytes.set(self.bytes.get() - oldest.written().len());
        Some(oldest)
    }

    /// Keeps the memory of a record that was read.
    pub(super) fn give_back(&self, spare: Buffer) {
        let unused = mem::replace(&mut self.lock().spare, spare);
        // The allocator may take its time.
        drop(unused);
    }

    /// Frees the memory of records that were read.
    pub(super) fn free(&self) {
        self.give_back(Buffer::default());
    }

    fn lock(&self) -> MutexGuard<'_, Records> {
        // No code panics while it is held.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A copy of the number of bytes, so that a round looks for references only if there are some.
#[derive(Default)]
struct Bytes(AtomicUsize);

impl Bytes {
    fn set(&self, bytes: usize) {
        // ORDERING: Relaxed: the lock publishes the records.
        self.0.store(bytes, Ordering::Relaxed);
    }

    fn get(&self) -> usize {
        // ORDERING: Relaxed, as in `set`. A reference in a ring publishes the store before it.
        self.0.load(Ordering::Relaxed)
    }
}
