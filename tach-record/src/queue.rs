//! A thread's bounded queue of whole records.

pub mod all;
mod drops;
pub mod file;
mod flag;
mod held;
mod links;
mod long;
mod pool;
pub mod ring;
mod wait;
mod when_full;

use core::mem;
use core::ptr;
use std::collections::VecDeque;
use std::sync::Arc;

use self::all::Queues;
use self::drops::Drops;
pub use self::drops::Loss;
use self::flag::Flag;
pub use self::flag::barrier;
pub use self::held::Taken;
use self::links::{Link, Links};
use self::long::{LONG, LONG_IN_FILE, Long};
use self::pool::{Ends, Pool};
use self::ring::{Consumer, Held, Producer};
pub(crate) use self::wait::Wait;
pub use self::when_full::WhenFull;
use crate::frame::{self, Buffer, ThisThread};
use crate::level::Level;
use crate::sync::Lock;

const _: () = assert!(ring::WORD == frame::WORD, "records are whole words of the queue");

/// The writing end of a queue.
pub struct Sender {
    producer: Producer,
    /// Records of this length and longer are passed by reference instead of copied into a ring.
    long: usize,
    /// The next ring's place among the queue's rings.
    next_ring: u64,
    queue: Arc<Queue>,
    /// The queue for warnings and errors that this one drops. Created at the first such drop.
    reserve: Option<Box<Sender>>,
}

/// A chain of rings. When the last ring is full, the thread adds another ring, up to a bound. After
/// the back end has read a ring, it returns the ring to the pool. A thread that logs seldom
/// holds one small ring.
#[repr(C)]
pub struct Queue {
    /// The first field, so that no field that changes often shares its cache line.
    flag: Flag,
    thread: ThisThread,
    thread_number: u32,
    /// Locked because not only the back end reads: the thread of a full queue reads to make room.
    /// The back end holds the lock only while it moves the records out.
    reader: Lock<Reader>,
    links: Links,
    long: Long,
    drops: Drops,
    pool: Arc<Pool>,
    /// The queue's number in the file that has its rings.
    number: u64,
    /// Whether this is the reserve of another queue of the thread.
    is_reserve: bool,
}

/// Identifies a queue, and with it the thread that logs. A new thread may get the number of a
/// thread that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueId(pub usize);

/// The events of queues that the back end has not taken.
#[derive(Debug, Clone, Copy, Default)]
pub struct Queued {
    /// How many events are in the queues.
    pub waiting: u64,
    /// Records that were dropped, and that the back end has not counted yet.
    pub dropped: u64,
}

struct Reader {
    /// The reading end of the oldest ring. `None` if the thread has ended and all records were
    /// read.
    consumer: Option<Consumer>,
    /// Whether the back end reads the queue in each round.
    is_awake: bool,
    /// The memory into which an old record is read before it is dropped.
    record: Vec<u8>,
    /// What was moved out of rings in a file.
    taken: VecDeque<Taken>,
}

impl Sender {
    fn new(pool: &Arc<Pool>, thread: ThisThread, is_reserve: bool) -> Self {
        let Ends { producer, consumer } = pool.small.take();
        let number = pool.file().map_or(0, |file| file.new_queue());
        producer.belongs_to(number, 0, thread.parts());
        let queue = Queue {
            flag: Flag::asleep(),
            thread_number: thread.number(),
            thread,
            reader: Lock::new(Reader {
                consumer: Some(consumer),
                is_awake: false,
                record: Vec::new(),
                taken: VecDeque::new(),
            }),
            links: Links::default(),
            long: Long::default(),
            drops: Drops::default(),
            pool: Arc::clone(pool),
            number,
            is_reserve,
        };
        // In a file, pass only very long records by reference: such a record is not in the file,
        // and is lost if the process crashes.
        let long = pool.file().map_or(LONG.min(pool.large.bytes()), |_| LONG_IN_FILE);
        Self { producer, long, next_ring: 1, queue: Arc::new(queue), reserve: None }
    }

    /// Returns the reader's side of the queue.
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Adds a record to the last ring. If there is no room or the record is long, returns `false`.
    #[inline]
    pub fn push(&mut self, record: &[u8]) -> bool {
        if record.len() < ring::LONG { self.producer.push(record) } else { self.push_long(record) }
    }

    #[inline(never)]
    fn push_long(&mut self, record: &[u8]) -> bool {
        record.len() < self.long && self.producer.push(record)
    }

    /// Adds a record of these words to the last ring. If there is no room, returns `false`.
    #[expect(clippy::inline_always, reason = "the words are in registers")]
    #[inline(always)]
    pub(crate) fn push_words<const N: usize>(&mut self, record: &[u64; N]) -> bool {
        self.producer.push_words(record)
    }

    /// Returns whether the back end reads the queue only after a [wake-up](all::Queues::wake). Call
    /// after a record was pushed.
    #[inline]
    pub fn is_asleep(&self) -> bool {
        self.queue.flag.is_asleep()
    }

    /// Adds a record for which the last ring has no room, in a new ring. Adds a long record by
    /// reference. If the queue has no room, returns `false`. With `is_any_length`, an empty queue
    /// takes a record that is longer than the queue.
    pub fn push_beyond(&mut self, record: &mut Buffer, is_any_length: bool) -> bool {
        let Self { producer, long, next_ring, queue, .. } = self;
        let Queue { pool, links, long: records, number, thread, .. } = &**queue;
        let length = record.written().len();
        let mut change_ring = |producer: &mut Producer, links: &mut _, ends: Ends| {
            ends.producer.belongs_to(*number, *next_ring, thread.parts());
            *next_ring += 1;
            change_ring(producer, links, ends);
        };
        links.change(|links| {
            let is_in_use = !producer.is_empty();
            let rings = if pool.file().is_some() {
                // Sum up the capacities, since the rings of a file differ in size: a record that is
                // longer than a ring, but too short to be added by reference, gets a ring of its
                // own length.
                let links = links.iter().map(|link: &Link| &link.done);
                let rings = links.chain(is_in_use.then_some(&*producer));
                rings.filter(|ring| !ring.is_lost()).map(Producer::capacity).sum::<usize>()
            } else {
                (links.len() + usize::from(is_in_use)) * pool.large.bytes()
            };
            let used = rings + records.bytes();
            let more = if length < *long { pool.large.bytes().max(length) } else { length };
            let has_room = used + more <= pool.bytes() || is_any_length && used == 0;
            if !has_room || length > frame::LONGEST {
                return false;
            }
            if length < *long {
                change_ring(producer, links, pool.ring(length));
                return producer.push(record.written());
            }
            let reference = frame::reference(record.written());
            records.push(record);
            if !producer.push(&reference) {
                change_ring(producer, links, pool.large.take());
                producer.push(&reference);
            }
            true
        })
    }

    /// Continues in a small ring, or in a ring of the file if the last ring is outside of the file.
    /// Call if the thread has logged nothing for a while.
    pub(crate) fn shrink(&mut self) {
        let Self { producer, next_ring, queue, .. } = self;
        let small = &queue.pool.small;
        // In a file, a ring is rounded up to whole pages, so a small one may be larger than
        // `small`.
        let room = if queue.is_in_file() { pool::PAGE - 1 } else { 0 };
        let is_large = producer.capacity() > small.bytes() + room && queue.links.count() == 0;
        let is_outside = queue.is_in_file() && !producer.is_in_file();
        if is_large || is_outside {
            queue.links.change(|links| {
                let ends = if is_outside { small.take_kept() } else { Some(small.take()) };
                let Some(ends) = ends else { return };
                ends.producer.belongs_to(queue.number, *next_ring, queue.thread.parts());
                *next_ring += 1;
                change_ring(producer, links, ends);
            });
        }
    }

    /// Returns whether the queue is half full. Then the back end should be woken from its nap.
    pub(crate) fn is_half_full(&self) -> bool {
        let Queue { links, long, pool, .. } = &*self.queue;
        2 * (links.count() * pool.large.bytes() + long.bytes()) >= pool.bytes()
    }

    /// Adds a record to a full queue as `policy` says. `Block` waits for room while `may_wait`
    /// returns `true`. Returns whether the record was added. If not, counts it as dropped. Warnings
    /// and errors that the queue drops are added to its reserve among `queues`. A short record of a
    /// whole span, a span's new parent and the decision that a span is not sampled are added to
    /// what remains of dropped records, if there is room.
    #[cold]
    pub(crate) fn push_when_full(
        &mut self,
        queues: &Queues,
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
                    let mut has_room = true;
                    while has_room {
                        if self.push(record.written()) || self.push_beyond(record, false) {
                            return true;
                        }
                        // Fails if the ring's first records must stay in the file until they are
                        // passed on.
                        has_room = queue.drop_one(&mut oldest, |oldest| self.drop(queues, oldest));
                    }
                }
            }
        }
        self.drop(queues, record.written())
    }

    /// Drops a record. Returns `true` if it is kept after all: in the reserve, or in what remains
    /// of dropped records, as a short span is.
    fn drop(&mut self, queues: &Queues, record: &[u8]) -> bool {
        self.keep(queues, record) || self.queue.drop_record(record)
    }

    /// Adds a warning or an error to the reserve. Warnings leave half of it to errors.
    fn keep(&mut self, queues: &Queues, record: &[u8]) -> bool {
        let Some(level) = frame::event_level(record).map(Level::of_log) else { return false };
        if level > log::Level::Warn || self.queue.is_reserve {
            return false;
        }
        let new = || Box::new(queues.new_reserve(self.queue.thread.clone()));
        let reserve = self.reserve.get_or_insert_with(new);
        if level == log::Level::Warn && reserve.is_half_full() {
            return false;
        }
        let is_kept =
            reserve.push(record) || reserve.push_beyond(&mut Buffer::of(record.to_vec()), false);
        if reserve.is_asleep() {
            queues.wake(&reserve.queue);
        }
        is_kept
    }

    /// Marks the end of the queue, which the back end finds after the last record. Call when the
    /// thread ends.
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
    pub fn capacity(&self) -> usize {
        self.pool.bytes()
    }

    /// Returns whether this is the reserve of another queue.
    pub fn is_reserve(&self) -> bool {
        self.is_reserve
    }

    /// Moves all records to the ends of `bytes` and `long`. If the thread has ended, returns
    /// `false`: no more records will follow.
    pub fn take(&self, bytes: &mut Vec<u8>, long: &mut VecDeque<Buffer>) -> bool {
        let before = bytes.len();
        let mut reader = self.reader.lock();
        let may_follow = self.take_rings(&mut reader, bytes);
        if self.long.bytes() > 0 {
            // Take only as many long records as there are references: the thread adds a long record
            // before its reference.
            let references = frame::references(&bytes[before..]);
            long.extend((0..references).filter_map(|_| self.long.pop()));
        }
        let before = bytes.len();
        self.drops.take_remains(bytes);
        let length = bytes.len() - before;
        if length > 0 && self.is_in_file() {
            reader.taken.push_back(Taken { length, held: None, left: None });
        }
        may_follow
    }

    fn take_rings(&self, reader: &mut Reader, bytes: &mut Vec<u8>) -> bool {
        let Reader { consumer, taken, .. } = &mut *reader;
        while let Some(ring) = consumer {
            self.take_ring(ring, taken, bytes);
            let Some(link) = self.links.pop() else { return true };
            // The thread added the link after its last write to this ring, so all records are
            // visible now.
            self.take_ring(ring, taken, bytes);
            self.follow(link, consumer, taken);
        }
        false
    }

    fn take_ring(&self, ring: &mut Consumer, taken: &mut VecDeque<Taken>, bytes: &mut Vec<u8>) {
        let before = bytes.len();
        ring.take(bytes);
        if self.is_in_file() && bytes.len() > before {
            let length = bytes.len() - before;
            taken.push_back(Taken { length, held: ring.held(), left: None });
        }
    }

    /// Drops a record. Returns `true` if it is kept after all, as a short span is.
    fn drop_record(&self, record: &[u8]) -> bool {
        let is_kept = self.drops.add(record);
        if let Some(file) = self.pool.file().filter(|_| !is_kept) {
            file.dropped(1);
        }
        is_kept
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
    pub fn give_back(&self, record: Buffer) {
        if record.capacity() <= self.capacity() {
            self.long.give_back(record);
        }
    }

    /// Returns the part of a record with the queue's thread. Empty for a queue of several threads.
    pub fn thread(&self) -> &[u8] {
        &self.thread.field
    }

    /// Returns the number of the queue's thread in the records of spans. Zero for a queue of several
    /// threads.
    #[inline]
    pub const fn thread_number(&self) -> u32 {
        self.thread_number
    }

    /// Returns a value that identifies the queue.
    pub fn id(&self) -> QueueId {
        QueueId(ptr::from_ref(self).addr())
    }

    /// Returns whether there are no records, and no dropped records to report.
    pub fn is_empty(&self) -> bool {
        let is_read = self.reader.lock().consumer.as_ref().is_none_or(|ring| ring.waiting() == 0);
        is_read && self.links.count() == 0 && self.drops.is_empty()
    }

    /// Returns whether the thread has ended and all records were taken.
    pub fn is_over(&self) -> bool {
        self.reader.lock().consumer.is_none()
    }

    /// Takes the numbers of records that were dropped since the last call.
    pub fn take_dropped(&self) -> Option<Loss> {
        self.drops.take()
    }

    /// Sets the flag that makes the next record wake the back end. Returns `true` if the flag was
    /// clear: a concurrent call may have missed it, and its record is visible after
    /// [`barrier::pass`].
    pub fn fall_asleep(&self) -> bool {
        self.flag.fall_asleep()
    }

    /// Frees memory that a quiet thread does not need.
    pub fn free(&self) {
        self.long.free();
    }

    /// Sets whether the back end reads the queue in each round. Returns whether the value has
    /// changed.
    pub fn set_awake(&self, is_awake: bool) -> bool {
        mem::replace(&mut self.reader.lock().is_awake, is_awake) != is_awake
    }

    /// Makes room: passes the oldest record to `drop`, or returns a ring that was read to the pool.
    /// If the queue is empty or no drop makes room, returns `false`.
    fn drop_one(&self, reader: &mut Reader, drop: impl FnOnce(&[u8]) -> bool) -> bool {
        let Reader { consumer, record, taken, .. } = reader;
        let Some(ring) = consumer else { return false };
        // In a held ring, dropping a record frees no memory, since older ones stay before it. Drop
        // records only if another ring follows, to which the queue can move on.
        if ring.is_held() && self.links.count() == 0 {
            return false;
        }
        let mut head = [0; frame::HEAD];
        if ring.read(&mut head) {
            if frame::is_reference(&head) {
                let record = self.long.pop();
                drop(record.as_ref().map_or(&head[..], Buffer::written));
            } else {
                record.clear();
                record.extend_from_slice(&head);
                record.resize(frame::length(&head).max(head.len()), 0);
                ring.read(&mut record[head.len()..]);
                drop(record);
            }
            return true;
        }
        // The ring is still empty: only the calling thread adds records to this queue.
        let Some(link) = self.links.pop() else { return false };
        self.follow(link, consumer, taken);
        true
    }

    /// Continues with the next ring after all records of a ring were read.
    fn follow(
        &self,
        Link { done: producer, next }: Link,
        current: &mut Option<Consumer>,
        taken: &mut VecDeque<Taken>,
    ) {
        let Some(consumer) = mem::replace(current, next) else { return };
        if consumer.is_held() {
            let (held, left) = (consumer.held(), Some(Ends { producer, consumer }));
            taken.push_back(Taken { length: 0, held, left });
        } else {
            self.pool.give_back(Ends { producer, consumer });
        }
    }
}

impl Taken {
    /// Returns whether the rings are in a file that is neither deleted nor cut.
    pub fn is_in_file(&self) -> bool {
        self.held.as_ref().is_some_and(Held::is_in_file)
    }
}

fn change_ring(producer: &mut Producer, links: &mut VecDeque<Link>, next: Ends) {
    let done = mem::replace(producer, next.producer);
    links.push_back(Link { done, next: Some(next.consumer) });
}

#[cfg(test)]
mod tests;
