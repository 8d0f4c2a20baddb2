//! The records of all threads, ordered by time.

use core::cmp::{Ordering, Reverse};
use core::mem;
use core::time::Duration;
use std::collections::BinaryHeap;

use tach_core::UnixTime;

/// How many bytes of records are held. Beyond, the oldest record is written early.
const MOST_HELD: usize = 16 * 1024 * 1024;

/// Holds each record until all earlier ones must have arrived.
pub(crate) struct ByTime {
    window_ns: u64,
    held: BinaryHeap<Reverse<Held>>,
    held_bytes: usize,
    arrived: u64,
    /// When `has_gone_back` was called last.
    now: UnixTime,
    /// Buffers for the next records.
    spare: Vec<Vec<u8>>,
}

pub(crate) struct Held {
    pub(crate) time: UnixTime,
    /// The time by which it is ordered.
    place: UnixTime,
    arrived: u64,
    pub(crate) frame: Vec<u8>,
}

impl ByTime {
    pub(crate) fn new(window: Duration) -> Self {
        Self {
            window_ns: u64::try_from(window.as_nanos()).unwrap_or(u64::MAX),
            held: BinaryHeap::new(),
            held_bytes: 0,
            arrived: 0,
            now: UnixTime::EPOCH,
            spare: Vec::new(),
        }
    }

    /// Adds a record, which arrived at `now` or before. A later time comes from another clock or an
    /// event time, and the record is not held until then.
    pub(crate) fn push(&mut self, frame: &[u8], time: UnixTime, now: UnixTime) {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.extend_from_slice(frame);
        let held = Held { time, place: time.min(now), arrived: self.arrived, frame: buffer };
        self.held_bytes += held.size();
        self.held.push(Reverse(held));
        self.arrived += 1;
    }

    /// Returns whether the clock was set back by more than the window since the last call: held
    /// records would wait for as long again.
    pub(crate) fn has_gone_back(&mut self, now: UnixTime) -> bool {
        let before = mem::replace(&mut self.now, now);
        before.as_nanos().saturating_sub(now.as_nanos()) > self.window_ns
    }

    /// Returns the oldest record if it was held long enough at `now`, or too many bytes are held.
    pub(crate) fn pop(&mut self, now: UnixTime) -> Option<Held> {
        let Reverse(oldest) = self.held.peek()?;
        let is_due = now.as_nanos().saturating_sub(self.window_ns) >= oldest.place.as_nanos();
        if is_due || self.held_bytes > MOST_HELD { self.pop_any() } else { None }
    }

    pub(crate) fn pop_any(&mut self) -> Option<Held> {
        let Reverse(oldest) = self.held.pop()?;
        self.held_bytes -= oldest.size();
        Some(oldest)
    }

    pub(crate) fn give_back(&mut self, held: Held) {
        let mut buffer = held.frame;
        if self.spare.len() < 4096 && buffer.capacity() <= 4096 {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}

impl Held {
    fn size(&self) -> usize {
        size_of::<Self>() + self.frame.capacity()
    }

    fn key(&self) -> (UnixTime, u64) {
        (self.place, self.arrived)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The records are shorter than the structures that hold them.
    #[test]
    fn the_memory_of_what_is_held_is_bounded() {
        let mut order = ByTime::new(Duration::MAX);
        let mut count = 0;
        while order.pop(UnixTime::EPOCH).is_none() {
            let later = UnixTime::from_nanos(1);
            order.push(&[0; 8], later, later);
            count += 1;
        }
        let each = size_of::<Held>() + 8;
        assert!((MOST_HELD / 2..=MOST_HELD + each).contains(&(count * each)), "{count}");
    }
}
