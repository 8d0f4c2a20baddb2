//! Records of all threads in the order of their times.

use core::cmp::{Ordering, Reverse};
use core::mem;
use core::time::Duration;
use std::collections::BinaryHeap;

use tach_core::UnixTime;

/// So many bytes of records are held at most. Beyond, the oldest goes before its time.
const MOST_HELD: usize = 16 * 1024 * 1024;

/// Holds each record until those that happened before it must have arrived.
pub(crate) struct ByTime {
    window_ns: u64,
    held: BinaryHeap<Reverse<Held>>,
    held_bytes: usize,
    arrived: u64,
    /// When it was asked last what is due.
    now: UnixTime,
    /// Buffers to be used again.
    spare: Vec<Vec<u8>>,
}

pub(crate) struct Held {
    pub(crate) time: UnixTime,
    /// The time by which it is sorted.
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

    /// Takes a record in, which arrived at `now` or before. One of a later time has a clock or a stamp of its
    /// own, and is not held until then.
    pub(crate) fn push(&mut self, frame: &[u8], time: UnixTime, now: UnixTime) {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.extend_from_slice(frame);
        let held = Held { time, place: time.min(now), arrived: self.arrived, frame: buffer };
        self.held_bytes += held.size();
        self.held.push(Reverse(held));
        self.arrived += 1;
    }

    /// Whether the clock was set back, by more than the window, since this was last asked. What is held would
    /// then be held for as long as that.
    pub(crate) fn has_gone_back(&mut self, now: UnixTime) -> bool {
        let before = mem::replace(&mut self.now, now);
        before.as_nanos().saturating_sub(now.as_nanos()) > self.window_ns
    }

    /// The oldest record, if it has been held long enough at `now`, or there are too many.
    pub(crate) fn pop(&mut self, now: UnixTime) -> Option<Held> {
        let Reverse(oldest) = self.held.peek()?;
        let is_due = now.as_nanos().saturating_sub(self.window_ns) >= oldest.place.as_nanos();
        if is_due || self.held_bytes > MOST_HELD { self.pop_any() } else { None }
    }

    /// The oldest record.
    pub(crate) fn pop_any(&mut self) -> Option<Held> {
        let Reverse(oldest) = self.held.pop()?;
        self.held_bytes -= oldest.size();
        Some(oldest)
    }

    /// Takes a record's buffer back.
    pub(crate) fn give_back(&mut self, held: Held) {
        let mut buffer = held.frame;
        if self.spare.len() < 4096 && buffer.capacity() <= 4096 {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}

impl Held {
    /// The memory it takes.
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

    /// Short records, which are less than what it takes to hold them.
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
