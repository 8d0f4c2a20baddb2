//! A thread's bounded queue of whole records.

pub(crate) mod all;
mod drops;
pub(crate) mod of_thread;
mod ring;

use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

pub(crate) use self::drops::Dropped;
use self::drops::Drops;
use self::ring::{Consumer, Producer, ring};
use crate::frame;

const _: () = assert!(ring::WORD == frame::WORD, "records are whole words of the queue");

/// How a call proceeds if its thread's queue is full.
///
/// # Examples
///
/// ```
/// use tach_pipeline::{Pipeline, WhenFull};
///
/// let builder = Pipeline::builder().when_full(WhenFull::DropNewest);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenFull {
    /// Waits until there is room. A single sink that stalls therefore stalls the program, and one
    /// of several for as long as [`Sink::max_wait`](crate::Sink::max_wait) allows. Only a record
    /// too long for [any queue](crate::Builder::queue_bytes) is lost. A sink that logs never waits
    /// for its own pipeline, and at most a second for another one.
    #[default]
    Block,
    /// Drops the call's record.
    DropNewest,
    /// Drops the oldest records of the thread.
    DropOldest,
}

/// The writing end of a queue.
pub(crate) struct Sender {
    producer: Producer,
    queue: Arc<Queue>,
}

/// The reading end of a queue.
///
/// The lock lets the thread of a full queue make room. The back end holds it only while it moves
/// the records out.
pub(crate) struct Queue {
    consumer: Mutex<Consumer>,
    drops: Drops,
}

/// Creates a queue of `capacity` bytes, or of the longest record's.
pub(crate) fn queue(capacity: usize) -> Sender {
    let (mut producer, mut consumer) = ring(capacity.min(frame::LONGEST));
    // Touches all pages now, since an allocator may map a zeroed page only at its first write.
    while producer.push(&[0; 4096]) {}
    consumer.skip(consumer.waiting());
    let queue = Queue { consumer: Mutex::new(consumer), drops: Drops::default() };
    Sender { producer, queue: Arc::new(queue) }
}

impl Sender {
    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Returns whether there was room for the record.
    #[inline]
    pub(crate) fn push(&mut self, record: &[u8]) -> bool {
        self.producer.push(record)
    }

    /// Returns whether the record is longer than the queue.
    pub(crate) fn is_long(&self, record: &[u8]) -> bool {
        record.len() > self.producer.capacity()
    }

    /// Puts a record into a full queue. `Block` waits while `may_wait` is true, which for a long
    /// record is until the back end ends: a part alone would be misread.
    #[cold]
    pub(crate) fn push_when_full(
        &mut self,
        record: &[u8],
        policy: WhenFull,
        may_wait: impl Fn() -> bool,
    ) {
        match policy {
            _ if record.len() > frame::LONGEST => {}
            WhenFull::Block => {
                let mut wait = Wait::default();
                // A long record passes through the queue in parts.
                let is_long = self.is_long(record);
                let mut rest = record;
                while may_wait() {
                    if is_long {
                        rest = self.producer.push_part(rest);
                        if rest.is_empty() {
                            return;
                        }
                    } else if self.push(record) {
                        return;
                    }
                    wait.next();
                }
            }
            WhenFull::DropNewest => {}
            WhenFull::DropOldest => {
                if !self.is_long(record) {
                    let mut oldest = self.queue.lock();
                    while !self.producer.push(record) {
                        if !self.queue.drop_one(&mut oldest) {
                            break;
                        }
                    }
                    return;
                }
            }
        }
        self.queue.drops.add(record);
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Consumer> {
        // No code panics while it is held.
        self.consumer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves everything in the queue to the end of `bytes`.
    pub(crate) fn take(&self, bytes: &mut Vec<u8>) {
        let mut consumer = self.lock();
        let before = bytes.len();
        bytes.resize(before + consumer.waiting(), 0);
        consumer.read(&mut bytes[before..]);
    }

    pub(crate) fn capacity(&self) -> usize {
        self.lock().capacity()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().waiting() == 0
    }

    /// Returns the records that were dropped since the last call.
    pub(crate) fn take_dropped(&self) -> Option<Dropped> {
        self.drops.take()
    }

    /// Drops the oldest record, and returns whether there was one.
    fn drop_one(&self, consumer: &mut Consumer) -> bool {
        let mut head = [0; frame::HEAD];
        if !consumer.read(&mut head) {
            return false;
        }
        self.drops.add(&head);
        consumer.skip(frame::length(&head).saturating_sub(head.len()))
    }
}

#[derive(Default)]
struct Wait {
    times: u32,
}

impl Wait {
    const SHORTEST: Duration = Duration::from_micros(20);
    const LONGEST: Duration = Duration::from_millis(1);

    fn next(&mut self) {
        if self.times < 2 {
            thread::yield_now();
        } else {
            let longer = Self::SHORTEST * 2_u32.pow((self.times - 2).min(8));
            thread::sleep(longer.min(Self::LONGEST));
        }
        self.times += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The memory is never touched.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn what_may_not_be_read_back_is_dropped_at_once_and_counted() {
        let mut sender = queue(4096);
        let longer = vec![0; (frame::LONGEST + 1).next_multiple_of(frame::WORD)];
        assert!(!sender.push(&longer));
        for policy in [WhenFull::Block, WhenFull::DropNewest, WhenFull::DropOldest] {
            sender.push_when_full(&longer, policy, || panic!("it waits"));
            let dropped = sender.queue.take_dropped().map(|dropped| dropped.count);
            assert_eq!((dropped, sender.queue.is_empty()), (Some(1), true), "{policy:?}");
        }
    }
}
