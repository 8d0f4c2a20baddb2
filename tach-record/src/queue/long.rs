//! Long records. A queue holds them by reference, since a copy would take too long.

use core::mem;
use std::collections::VecDeque;

use crate::frame::Buffer;
use crate::sync::{Length, Mirrored};

/// Records of this length and longer are passed by reference. For a shorter record a copy takes
/// less time than the locks and the check whether the process was forked.
pub(super) const LONG: usize = 10 * 1024;
/// The same for rings in a file: a process that reads the file may have little memory.
pub(super) const LONG_IN_FILE: usize = 256 * 1024;

/// The long records of a queue. Its rings hold a [reference](crate::frame::reference) for each of
/// them, in the same order.
#[derive(Default)]
pub(super) struct Long(Mirrored<Records>);

#[derive(Default)]
struct Records {
    waiting: VecDeque<Buffer>,
    /// How many bytes of long records are in the queue.
    bytes: usize,
    /// The memory for the thread's next long record.
    spare: Buffer,
}

impl Long {
    /// Returns how many bytes of long records are in the queue.
    pub(super) fn bytes(&self) -> usize {
        self.0.length()
    }

    /// Takes a record, and leaves spare memory in its place. Call before the record's reference is
    /// pushed.
    pub(super) fn push(&self, record: &mut Buffer) {
        self.0.change(|records| {
            let spare = mem::take(&mut records.spare);
            let record = mem::replace(record, spare);
            records.bytes += record.written().len();
            records.waiting.push_back(record);
        });
    }

    /// Removes the oldest record. Call after its reference was read.
    pub(super) fn pop(&self) -> Option<Buffer> {
        self.0.change(|records| {
            let oldest = records.waiting.pop_front()?;
            records.bytes -= oldest.written().len();
            Some(oldest)
        })
    }

    /// Keeps the memory of a record that was read.
    pub(super) fn give_back(&self, spare: Buffer) {
        let unused = mem::replace(&mut self.0.lock().spare, spare);
        // Free the memory after the lock was released, since the allocator may take long.
        drop(unused);
    }

    /// Frees the memory of records that were read.
    pub(super) fn free(&self) {
        self.give_back(Buffer::default());
    }
}

impl Length for Records {
    /// Returns the number of bytes without a lock. Rounds search for references only if it is not
    /// zero.
    fn length(&self) -> usize {
        self.bytes
    }
}
