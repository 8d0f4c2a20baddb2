//! A thread's queue: bounded, of whole records.

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

/// What a call does when its thread's queue is full.
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
    /// It waits until there is room. No record is lost (but one that is too long for
    /// [any queue](crate::Builder::queue_bytes)), and a sink that stalls stalls the program. What a sink logs
    /// itself never waits for that sink's own pipeline, and for another one a second at most.
    #[default]
    Block,
    /// Its record is dropped.
    DropNewest,
    /// The oldest records of the thread are dropped for it.
    DropOldest,
}

/// The end that threads write to.
pub(crate) struct Sender {
    producer: Producer,
    queue: Arc<Queue>,
}

/// The end that is read.
///
/// Behind a lock, so that a full queue's own thread can make room. The back end holds it no longer than it
/// takes to move the records into memory of its own.
pub(crate) struct Queue {
    consumer: Mutex<Consumer>,
    drops: Drops,
}

/// A queue for `capacity` bytes of records, but not for more than one may have: a longer one never fits.
pub(crate) fn queue(capacity: usize) -> Sender {
    let (mut producer, mut consumer) = ring(capacity.min(frame::LONGEST));
    // Has the system provide the pages now, rather than in the calls that reach them first: a compiler may have had
    // the zeros from an allocator that gets pages of zeros for nothing until they are written.
    while producer.push(&[0; 4096]) {}
    consumer.skip(consumer.waiting());
    let queue = Queue { consumer: Mutex::new(consumer), drops: Drops::default() };
    Sender { producer, queue: Arc::new(queue) }
}

impl Sender {
    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Whether there was room for the record.
    #[inline]
    pub(crate) fn push(&mut self, record: &[u8]) -> bool {
        self.producer.push(record)
    }

    /// Whether the queue has no room for the record as a whole even when it is empty.
    pub(crate) fn is_long(&self, record: &[u8]) -> bool {
        record.len() > self.producer.capacity()
    }

    /// Puts a record in for which there was no room. As long as `may_wait` says so, `Block` waits: for a record
    /// that is long it must say so until there is no back end any more, since a part would be taken for another.
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
                // A record that is longer than the queue goes through it in parts.
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
        // Nothing panics while it is held.
        self.consumer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves all that is in the queue to the end of `bytes`.
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

    /// What was dropped since this was last asked.
    pub(crate) fn take_dropped(&self) -> Option<Dropped> {
        self.drops.take()
    }

    /// Drops the oldest record; whether there was one.
    fn drop_one(&self, consumer: &mut Consumer) -> bool {
        let mut head = [0; frame::HEAD];
        if !consumer.read(&mut head) {
            return false;
        }
        self.drops.add(&head);
        consumer.skip(frame::length(&head).saturating_sub(head.len()))
    }
}

/// Waits longer each time, politely.
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

    /// Of memory that is never touched.
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
