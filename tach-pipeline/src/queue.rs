//! A thread's bounded queue of whole records.

pub(crate) mod all;
mod drops;
mod flag;
mod links;
mod long;
mod pool;
mod ring;

use core::mem;
use core::ptr;
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

use self::drops::Drops;
pub(crate) use self::drops::Loss;
use self::flag::Flag;
pub(crate) use self::flag::barrier;
use self::links::{Link, Links};
use self::long::{LONG, Long};
use self::pool::{Ends, Pool, Rings};
use self::ring::{Consumer, Producer};
use crate::frame::{self, Buffer};
use crate::sync::Lock;

const _: () = assert!(ring::WORD == frame::WORD, "records are whole words of the queue");

/// How a call proceeds if its thread's queue is full.
///
/// [`Stats::dropped`](crate::Stats::dropped) counts the records that are dropped. A span whose
/// start is dropped is lost, and `Stats::dropped_spans` counts it. A span that is sent says what it
/// lacks: a full queue counts the attributes, events and links that it drops of a span. It keeps
/// the end and the parent of a span. If these counts and records need more than 64 KiB, all spans
/// that are open then get the attribute `tach.incomplete`. A span whose end is lost ends at the
/// time of its last known record.
///
/// # Examples
///
/// ```
/// use tach_pipeline::{Pipeline, WhenFull};
///
/// let builder = Pipeline::builder().when_full(WhenFull::DropNewest);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(
    feature = "config",
    derive(serde::Deserialize),
    serde(rename_all = "snake_case", expecting = "the name of a policy")
)]
#[non_exhaustive]
pub enum WhenFull {
    /// Waits until there is room. A single sink that stalls therefore stalls the program, and one
    /// of several for as long as [`Sink::stall_timeout`](crate::Sink::stall_timeout) allows. Only a
    /// record too long for [any queue](crate::Builder::queue_bytes) is lost. A sink that logs never
    /// waits for its own pipeline, and at most a second for another one.
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
    /// Records of this length and longer are passed by reference instead of copied into a ring.
    long: usize,
    queue: Arc<Queue>,
}

/// A chain of rings. When the last ring is full, the thread adds another ring, up to a bound. After
/// the back end has read a ring, it returns the ring to the [`Pool`]. A thread that logs seldom
/// holds one small ring.
#[repr(C)]
pub(crate) struct Queue {
    /// The first field, so that no field that changes often shares its cache line.
    flag: Flag,
    /// Locked because not only the back end reads: the thread of a full queue reads to make room.
    /// The back end holds the lock only while it moves the records out.
    reader: Lock<Reader>,
    links: Links,
    long: Long,
    drops: Drops,
    pool: Arc<Pool>,
}

/// Identifies a queue, and with it the thread that logs. A new thread may get the number of a
/// thread that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueId(pub(crate) usize);

/// The events of queues that the back end has not taken.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Queued {
    pub(crate) waiting: u64,
    /// Records that were dropped, and that the back end does not know of yet.
    pub(crate) dropped: u64,
}

struct Reader {
    /// The reading end of the oldest ring. `None` if the thread has ended and all records were
    /// read.
    consumer: Option<Consumer>,
    /// Whether the back end reads the queue in each round.
    is_awake: bool,
    /// The memory for a record that is dropped after it was queued.
    record: Vec<u8>,
}

impl Sender {
    fn new(pool: &Arc<Pool>) -> Self {
        let Ends { producer, consumer } = pool.small.take();
        let queue = Queue {
            flag: Flag::asleep(),
            reader: Lock::new(Reader {
                consumer: Some(consumer),
                is_awake: false,
                record: Vec::new(),
            }),
            links: Links::default(),
            long: Long::default(),
            drops: Drops::default(),
            pool: Arc::clone(pool),
        };
        let long = LONG.min(pool.large.bytes());
        Self { producer, long, queue: Arc::new(queue) }
    }

    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Adds a record to the last ring. If there is no room or the record is long, returns `false`.
    #[inline]
    pub(crate) fn push(&mut self, record: &[u8]) -> bool {
        record.len() < self.long && self.producer.push(record)
    }

    /// Returns whether the back end reads the queue only after a [wake-up](all::Queues::wake). Call
    /// after a record was pushed.
    #[inline]
    pub(crate) fn is_asleep(&self) -> bool {
        self.queue.flag.is_asleep()
    }

    /// Adds a record for which the last ring has no room, in a new ring. Adds a long record by
    /// reference. If the queue has no room, returns `false`. With `is_any_length`, an empty queue
    /// takes a record that is longer than the queue.
    pub(crate) fn push_beyond(&mut self, record: &mut Buffer, is_any_length: bool) -> bool {
        let Self { producer, long, queue } = self;
        let Queue { pool, links, long: records, .. } = &**queue;
        let length = record.written().len();
        links.change(|links| {
            let rings = links.len() + usize::from(!producer.is_empty());
            let used = rings * pool.large.bytes() + records.bytes();
            let more = if length < *long { pool.large.bytes() } else { length };
            let has_room = used + more <= pool.bytes() || is_any_length && used == 0;
            if !has_room || length > frame::LONGEST {
                return false;
            }
            if length < *long {
                change_ring(producer, links, &pool.large);
                return producer.push(record.written());
            }
            let reference = frame::reference(record.written());
            records.push(record);
            if !producer.push(&reference) {
                change_ring(producer, links, &pool.large);
                producer.push(&reference);
            }
            true
        })
    }

    /// Continues in a small ring. Call if the thread has logged nothing for a while.
    pub(crate) fn shrink(&mut self) {
        let Self { producer, queue, .. } = self;
        let small = &queue.pool.small;
        if producer.capacity() > small.bytes() && queue.links.count() == 0 {
            queue.links.change(|links| change_ring(producer, links, small));
        }
    }

    /// Returns whether the queue is half full. Then the back end should be woken from its nap.
    pub(crate) fn is_half_full(&self) -> bool {
        let Queue { links, long, pool, .. } = &*self.queue;
        2 * (links.count() * pool.large.bytes() + long.bytes()) >= pool.bytes()
    }

    /// Adds a record to a full queue as `policy` says. `Block` waits for room while `may_wait`
    /// returns `true`. Returns whether the record was added. If not, counts it as dropped. The end
    /// of a span, its new parent and the decision that it is not sampled are added to what remains
    /// of dropped records, if there is room.
    #[cold]
    pub(crate) fn push_when_full(
        &mut self,
        record: &mut Buffer,
        policy: WhenFull,
        may_wait: impl Fn() -> bool,
    ) -> bool {
        let length = record.written().len();
        match policy {
            _ if length > frame::LONGEST => {}
            WhenFull::Block => {
                let mut wait = Wait::default();
                while may_wait() {
                    if self.push(record.written()) || self.push_beyond(record, true) {
                        return true;
                    }
                    wait.next();
                }
            }
            WhenFull::DropNewest => {}
            WhenFull::DropOldest => {
                if length <= self.queue.pool.bytes() {
                    let queue = Arc::clone(&self.queue);
                    let mut oldest = queue.reader.lock();
                    while !(self.push(record.written()) || self.push_beyond(record, false)) {
                        if !queue.drop_one(&mut oldest) {
                            return false;
                        }
                    }
                    return true;
                }
            }
        }
        self.queue.drops.add(record.written())
    }

    /// Marks the end of the queue. Call when the thread ends.
    fn end(self) {
        let Self { producer: done, queue, .. } = self;
        queue.links.change(|links| {
            links.reserve_exact(1);
            links.push_back(Link { done, next: None });
        });
    }
}

impl Queue {
    /// Returns how many bytes the queue may hold.
    pub(crate) fn capacity(&self) -> usize {
        self.pool.bytes()
    }

    /// Moves all records to the ends of `bytes` and `long`. If the thread has ended, returns
    /// `false`: no more records will follow.
    pub(crate) fn take(&self, bytes: &mut Vec<u8>, long: &mut VecDeque<Buffer>) -> bool {
        let before = bytes.len();
        let mut reader = self.reader.lock();
        let may_follow = self.take_rings(&mut reader, bytes);
        if self.long.bytes() > 0 {
            // Take only as many long records as there are references: the thread adds a long record
            // before its reference.
            let references = frame::references(&bytes[before..]);
            long.extend((0..references).filter_map(|_| self.long.pop()));
        }
        self.drops.take_remains(bytes);
        may_follow
    }

    fn take_rings(&self, reader: &mut Reader, bytes: &mut Vec<u8>) -> bool {
        while let Some(consumer) = &mut reader.consumer {
            consumer.take(bytes);
            let Some(link) = self.links.pop() else { return true };
            // The thread added the link after its last write to this ring, so all records are
            // visible now.
            consumer.take(bytes);
            self.follow(link, reader);
        }
        false
    }

    /// Returns how many events the queue holds, and how many records it dropped that were not
    /// reported yet.
    fn count(&self) -> Queued {
        let mut bytes = Vec::new();
        let reader = self.reader.lock();
        if let Some(consumer) = &reader.consumer {
            consumer.copy(&mut bytes);
            self.links.change(|links| {
                let rings = links.iter().filter_map(|link| link.next.as_ref());
                rings.for_each(|ring| ring.copy(&mut bytes));
            });
        }
        Queued { waiting: frame::events(&bytes) as u64, dropped: self.drops.count() }
    }

    /// Keeps the memory of a long record for the thread's next long record.
    pub(crate) fn give_back(&self, record: Buffer) {
        if record.capacity() <= self.capacity() {
            self.long.give_back(record);
        }
    }

    pub(crate) fn id(&self) -> QueueId {
        QueueId(ptr::from_ref(self).addr())
    }

    /// Returns whether there are no records, and no dropped records to report.
    pub(crate) fn is_empty(&self) -> bool {
        let is_read = self.reader.lock().consumer.as_ref().is_none_or(|ring| ring.waiting() == 0);
        is_read && self.links.count() == 0 && self.drops.is_empty()
    }

    /// Returns whether the thread has ended and all records were taken.
    pub(crate) fn is_over(&self) -> bool {
        self.reader.lock().consumer.is_none()
    }

    /// Takes the numbers of records that were dropped since the last call.
    pub(crate) fn take_dropped(&self) -> Option<Loss> {
        self.drops.take()
    }

    /// Sets the flag that makes the next record wake the back end. Returns `true` if the flag was
    /// clear: a concurrent call may have missed it, and its record is visible after
    /// [`barrier::pass`].
    pub(crate) fn fall_asleep(&self) -> bool {
        self.flag.fall_asleep()
    }

    /// Frees memory that a quiet thread does not need.
    pub(crate) fn free(&self) {
        self.long.free();
    }

    /// Sets whether the back end reads the queue in each round. Returns whether the value has
    /// changed.
    pub(crate) fn set_awake(&self, is_awake: bool) -> bool {
        mem::replace(&mut self.reader.lock().is_awake, is_awake) != is_awake
    }

    /// Makes room: drops the oldest record, or returns a ring that was read to the pool. If the
    /// queue is empty, returns `false`.
    fn drop_one(&self, reader: &mut Reader) -> bool {
        let Reader { consumer, record, .. } = reader;
        let Some(consumer) = consumer else { return false };
        let mut head = [0; frame::HEAD];
        if consumer.read(&mut head) {
            if frame::is_reference(&head) {
                let record = self.long.pop();
                self.drops.add(record.as_ref().map_or(&head[..], Buffer::written));
            } else {
                record.clear();
                record.extend_from_slice(&head);
                record.resize(frame::length(&head).max(head.len()), 0);
                consumer.read(&mut record[head.len()..]);
                self.drops.add(record);
            }
            return true;
        }
        // Only the calling thread adds records to this queue, so the ring is still empty.
        let Some(link) = self.links.pop() else { return false };
        self.follow(link, reader);
        true
    }

    /// Continues with the next ring after all records of a ring were read.
    fn follow(&self, Link { done: producer, next }: Link, reader: &mut Reader) {
        if let Some(consumer) = mem::replace(&mut reader.consumer, next) {
            self.pool.give_back(Ends { producer, consumer });
        }
    }
}

fn change_ring(producer: &mut Producer, links: &mut VecDeque<Link>, rings: &Rings) {
    let next = rings.take();
    let done = mem::replace(producer, next.producer);
    links.push_back(Link { done, next: Some(next.consumer) });
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
mod tests;
