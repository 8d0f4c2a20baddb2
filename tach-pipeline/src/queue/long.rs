//! Long records, which a queue holds by reference, since copying them takes long.

use core::mem;
use std::collections::VecDeque;

use crate::frame::Buffer;
use crate::sync::{Length, Mirrored};

/// A record from this length on is handed over by reference. Below, a copy takes less time than the
/// locks and a look whether the process was forked.
pub(super) const LONG: usize = 10 * 1024;

/// The long records of a queue. Its rings hold a [reference](crate::frame::reference) for each of
/// them, in the same order.
#[derive(Default)]
pub(super) struct Long(Mirrored<Records>);

#[derive(Default)]
struct Records {
    waiting: VecDeque<Buffer>,
    /// How many bytes wait.
    bytes: usize,
    /// Memory for the thread's next long record.
    spare: Buffer,
}

impl Long {
    /// Returns how many bytes wait.
    pub(super) fn bytes(&self) -> usize {
        self.0.length()
    }

    /// Takes a record before its reference is pushed, and leaves memory for another one.
    pub(super) fn push(&self, record: &mut Buffer) {
        self.0.change(|records| {
            let spare = mem::take(&mut records.spare);
            let record = mem::replace(record, spare);
            records.bytes += record.written().len();
            records.waiting.push_back(record);
        });
    }

    /// Removes the oldest record, whose reference was read before.
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
        // The allocator may take its time.
        drop(unused);
    }

    /// Frees the memory of records that were read.
    pub(super) fn free(&self) {
        self.give_back(Buffer::default());
    }
}

impl Length for Records {
    /// Returns the number of bytes, so that a round looks for references only if there are some.
    fn length(&self) -> usize {
        self.bytes
    }
}
