//! Records of all threads in the order of their times.

use core::cmp::{Ordering, Reverse};
use core::time::Duration;
use std::collections::BinaryHeap;

use tach_core::UnixTime;

/// So many bytes of records are held at most. Beyond, the oldest goes before its time.
const MOST_HELD: usize = 16 * 1024 * 1024;

/// Holds each record until those that happened before it must have arrived.
pub(super) struct ByTime {
    window_ns: u64,
    held: BinaryHeap<Reverse<Held>>,
    held_bytes: usize,
    arrived: u64,
    /// Buffers to be used again.
    spare: Vec<Vec<u8>>,
}

pub(super) struct Held {
    pub(super) time: UnixTime,
    arrived: u64,
    pub(super) frame: Vec<u8>,
}

impl ByTime {
    pub(super) fn new(window: Duration) -> Self {
        Self {
            window_ns: u64::try_from(window.as_nanos()).unwrap_or(u64::MAX),
            held: BinaryHeap::new(),
            held_bytes: 0,
            arrived: 0,
            spare: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, frame: &[u8], time: UnixTime) {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.extend_from_slice(frame);
        self.held_bytes += frame.len();
        self.held.push(Reverse(Held { time, arrived: self.arrived, frame: buffer }));
        self.arrived += 1;
    }

    /// The oldest record, if it has been held long enough at `now`, or there are too many.
    pub(super) fn pop(&mut self, now: UnixTime) -> Option<Held> {
        let Reverse(oldest) = self.held.peek()?;
        let is_due = now.as_nanos().saturating_sub(self.window_ns) >= oldest.time.as_nanos();
        if is_due || self.held_bytes > MOST_HELD { self.pop_any() } else { None }
    }

    /// The oldest record.
    pub(super) fn pop_any(&mut self) -> Option<Held> {
        let Reverse(oldest) = self.held.pop()?;
        self.held_bytes -= oldest.frame.len();
        Some(oldest)
    }

    /// Takes a record's buffer back.
    pub(super) fn give_back(&mut self, held: Held) {
        let mut buffer = held.frame;
        if self.spare.len() < 4096 && buffer.capacity() <= 4096 {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}

impl Held {
    fn key(&self) -> (UnixTime, u64) {
        (self.time, self.arrived)
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Held {}
