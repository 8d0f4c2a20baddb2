//! Bytes that stay in a file until their records were passed on.

use std::collections::VecDeque;

use super::Queue;
use super::pool::Ends;
use super::ring::Held;

/// Bytes that were moved out of a queue whose rings are in a file. They stay in the file until
/// their records were passed on.
pub struct Taken {
    /// How many bytes.
    pub(super) length: usize,
    pub(super) held: Option<Held>,
    /// The ring, if it was read to its end and the queue has left it.
    pub(super) left: Option<Ends>,
}

impl Queue {
    /// Returns whether the queue's rings are in a file. Then the bytes that were taken stay in the
    /// file until they are freed.
    pub fn is_in_file(&self) -> bool {
        self.pool.file().is_some()
    }

    /// Appends to `taken` the values that free the bytes that were taken since the last call.
    pub fn take_held(&self, taken: &mut VecDeque<Taken>) {
        taken.append(&mut self.reader.lock().taken);
    }

    /// Frees the first `bytes` bytes of `taken`.
    pub fn free_held(&self, taken: &mut VecDeque<Taken>, bytes: usize) {
        let mut bytes = bytes;
        while let Some(first) = taken.front_mut() {
            if first.length > bytes {
                first.length -= bytes;
                if let Some(held) = first.held.as_ref().filter(|_| bytes > 0) {
                    held.free(first.length);
                }
                return;
            }
            bytes -= first.length;
            if let Some(held) = &first.held {
                held.free(0);
            }
            if let Some(left) = taken.pop_front().and_then(|first| first.left) {
                self.pool.give_back(left);
            }
        }
    }
}
