//! The threads on which spans start, for spans that end on another thread.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tach_record::frame;
use tach_record::queue::Queue;

/// How many ended threads stay known. If a span ends after its thread and this many others have
/// ended, the span's record may lack the thread.
const MOST_ENDED: usize = 1024;

/// By the number of each thread, the part of a record that names the thread.
#[derive(Default)]
pub struct Threads(HashMap<u32, Box<[u8]>>);

impl Threads {
    /// Adds the threads of new queues. `all` are the queues of threads that have not ended.
    pub fn add(&mut self, new: &[Arc<Queue>], all: &[Arc<Queue>]) {
        let Self(known) = self;
        known.extend(new.iter().map(|queue| (queue.thread_number(), queue.thread().into())));
        if known.len() > all.len() + MOST_ENDED {
            let open: HashSet<_> = all.iter().map(|queue| queue.thread_number()).collect();
            known.retain(|number, _| open.contains(number));
        }
    }

    /// Returns the thread on which the span of a record started or, if the record names none, the
    /// thread of the queue. Empty if the thread is not known.
    #[inline]
    pub fn of<'a>(&'a self, record: &[u8], queue: &'a Queue) -> &'a [u8] {
        match frame::starter(record) {
            Some(number) if number != queue.thread_number() => self.of_number(number),
            _ => queue.thread(),
        }
    }

    /// Returns the part with the thread on which an open span started. Empty if it is not known.
    pub fn of_open(&self, record: &[u8]) -> &[u8] {
        frame::starter(record).map_or(&[], |number| self.of_number(number))
    }

    fn of_number(&self, number: u32) -> &[u8] {
        self.0.get(&number).map_or(&[], |thread| thread)
    }
}
