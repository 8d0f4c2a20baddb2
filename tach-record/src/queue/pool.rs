//! Rings for the queues of one pipeline. A thread that needs more room takes a ring, and the back
//! end returns the ring after it was read.

use core::iter;
use std::sync::Arc;

use super::file::RingFile;
use super::ring::{Consumer, OVERHEAD, Producer, WORD, ring, ring_in};
use crate::sync::Lock;

/// The size of the first ring of a queue, so that the ring takes two pages. A thread that logs
/// seldom holds only this ring.
const SMALL: usize = 8 * 1024 - OVERHEAD;
/// The size of the rings that follow. The larger the rings, the fewer calls must change the ring.
const LARGE: usize = 32 * 1024 - OVERHEAD;
/// The fewest rings of a full queue. A ring that is partly read takes no new records, and with
/// fewer rings it would be too large a part of the queue.
const FEWEST: usize = 4;
/// The unit of the rings of a file.
pub(super) const PAGE: usize = 4096;
/// The pool does not free unused rings of a size if fewer bytes than this would be left.
const KEPT: usize = 128 * 1024;

/// Both ends of an empty ring.
pub(super) struct Ends {
    pub(super) producer: Producer,
    pub(super) consumer: Consumer,
}

pub(super) struct Pool {
    pub(super) small: Rings,
    pub(super) large: Rings,
    /// How many rings a queue may have.
    most: usize,
    /// The file that has the rings, if they are to outlive the process.
    file: Option<Arc<dyn RingFile>>,
}

/// Rings of one size.
pub(super) struct Rings {
    /// The bytes of each ring.
    bytes: usize,
    unused: Lock<Unused>,
    file: Option<Arc<dyn RingFile>>,
}

#[derive(Default)]
struct Unused {
    rings: Vec<Ends>,
    /// The smallest number of unused rings since the last call of [`Rings::trim`].
    fewest: usize,
}

impl Pool {
    /// Creates a pool for queues of `capacity` bytes, whose rings are in `file` if there is one.
    pub(super) fn new(capacity: usize, file: Option<&Arc<dyn RingFile>>) -> Self {
        let most = capacity.div_ceil(LARGE).max(FEWEST);
        let large = capacity.div_ceil(most).next_multiple_of(WORD);
        let rings = |bytes| Rings::new(bytes, file);
        Self {
            small: rings(large.min(SMALL)),
            large: rings(large),
            most,
            file: file.map(Arc::clone),
        }
    }

    /// Returns the file that has the rings.
    pub(super) const fn file(&self) -> Option<&Arc<dyn RingFile>> {
        self.file.as_ref()
    }

    /// Returns a ring with room for a record of `bytes` bytes.
    pub(super) fn ring(&self, bytes: usize) -> Ends {
        let file = self.file.as_ref();
        if bytes <= self.large.bytes {
            return self.large.take();
        }
        in_file(bytes, file).unwrap_or_else(|| in_memory(bytes, file))
    }

    /// Returns how many bytes a queue may hold.
    pub(super) const fn bytes(&self) -> usize {
        self.most * self.large.bytes
    }

    /// Returns `false` if the ring of a new queue would be outside of the file now, but in it once
    /// another queue frees a ring. Otherwise returns `true`.
    pub(super) fn has_ring(&self) -> bool {
        let Some(file) = &self.file else { return true };
        // The unused rings of a file that was replaced are of no use.
        self.small.unused.lock().rings.iter().any(|ends| ends.producer.is_in_file())
            || file.has_ring(self.small.bytes + OVERHEAD)
    }

    pub(super) fn give_back(&self, ends: Ends) {
        if self.file.is_some() && !ends.producer.is_in_file() {
            // Free the ring instead of keeping it: the next ring may be in the file.
            return;
        }
        let capacity = ends.producer.capacity();
        // If a queue is short, both sizes are equal. Then all rings count as large.
        let rings = if is_for(self.large.bytes, capacity) {
            &self.large
        } else if is_for(self.small.bytes, capacity) {
            &self.small
        } else {
            // Free the ring, which was made for one long record: another ring can then use its part
            // of the file.
            return;
        };
        rings.unused.lock().rings.push(ends);
    }

    /// Frees the rings that nobody needed since the last call.
    pub(super) fn trim(&self) {
        self.small.trim();
        self.large.trim();
    }
}

/// Returns whether a ring of `capacity` bytes was made for `bytes` bytes: in a file, a ring takes
/// whole pages.
fn is_for(bytes: usize, capacity: usize) -> bool {
    (bytes..bytes + PAGE).contains(&capacity)
}

/// Creates a ring in a file, if there is one and it has room.
fn in_file(bytes: usize, file: Option<&Arc<dyn RingFile>>) -> Option<Ends> {
    let (producer, consumer) = ring_in(file?.ring(bytes + OVERHEAD)?);
    Some(Ends { producer, consumer })
}

/// Creates a ring in memory alone.
fn in_memory(bytes: usize, file: Option<&Arc<dyn RingFile>>) -> Ends {
    if let Some(file) = file {
        file.has_no_room();
    }
    let (producer, consumer) = ring(bytes);
    Ends { producer, consumer }
}

impl Rings {
    fn new(bytes: usize, file: Option<&Arc<dyn RingFile>>) -> Self {
        Self { bytes, unused: Lock::default(), file: file.map(Arc::clone) }
    }

    /// Returns the bytes of each ring.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn take(&self) -> Ends {
        self.take_kept().unwrap_or_else(|| in_memory(self.bytes, self.file.as_ref()))
    }

    /// Returns an unused ring or one of the file, or `None` if there is neither.
    pub(super) fn take_kept(&self) -> Option<Ends> {
        let file = self.file.as_ref();
        let mut unused = self.unused.lock();
        // Skip an unused ring in a file that another file has replaced.
        let is_of_use = |ends: &Ends| file.is_none() || ends.producer.is_in_file();
        let ends = iter::from_fn(|| unused.rings.pop()).find(is_of_use);
        unused.fewest = unused.fewest.min(unused.rings.len());
        drop(unused);
        ends.or_else(|| in_file(self.bytes, file))
    }

    fn trim(&self) {
        let kept = KEPT / self.bytes;
        let mut unused = self.unused.lock();
        let surplus = unused.fewest.min(unused.rings.len().saturating_sub(kept));
        let rest = unused.rings.len() - surplus;
        let freed = unused.rings.split_off(rest);
        unused.rings.shrink_to(2 * rest);
        unused.fewest = rest;
        drop(unused);
        drop(freed);
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering;

    use super::*;
    use crate::queue::file::tests::TestFile;

    impl Pool {
        /// Returns how many rings a queue may have.
        pub(in crate::queue) const fn most(&self) -> usize {
            self.most
        }

        /// Returns how many rings nobody uses.
        pub(in crate::queue) fn unused(&self) -> usize {
            self.small.unused.lock().rings.len() + self.large.unused.lock().rings.len()
        }
    }

    #[test]
    fn rings_have_the_capacity_between_them() {
        for capacity in [4096, 4104, 20_000, 256 * 1024, 100_000_000] {
            let pool = Pool::new(capacity, None);
            pool.give_back(pool.large.take());
            assert_eq!(pool.large.unused.lock().rings.len(), 1, "it is found again");
            let in_all = pool.large.bytes() * pool.most();
            assert!((capacity..capacity + WORD * pool.most()).contains(&in_all), "{in_all}");
            assert!(pool.large.bytes() <= LARGE && pool.most() >= FEWEST);
            assert_eq!(pool.small.bytes(), pool.large.bytes().min(SMALL));
        }
    }

    #[test]
    fn unused_rings_of_a_replaced_file_are_no_room() {
        let file = Arc::new(TestFile::default());
        let rings: Arc<dyn RingFile> = Arc::<TestFile>::clone(&file);
        let pool = Pool::new(256 * 1024, Some(&rings));
        pool.give_back(pool.small.take());
        // ORDERING: Relaxed: one thread.
        file.is_full.store(true, Ordering::Relaxed);
        assert!(pool.has_ring());
        // ORDERING: Relaxed: one thread.
        file.replaced.store(1, Ordering::Relaxed);
        assert!(!pool.has_ring());
    }

    #[test]
    fn rings_that_nobody_needed_are_freed() {
        let pool = Pool::new(256 * 1024, None);
        for rings in [&pool.small, &pool.large] {
            let kept = KEPT / rings.bytes();
            let unused = || rings.unused.lock().rings.len();
            let use_some = |count| {
                let taken: Vec<_> = (0..count).map(|_| rings.take()).collect();
                for ends in taken {
                    pool.give_back(ends);
                }
            };
            use_some(1_000);
            pool.trim();
            use_some(400);
            assert_eq!(unused(), 1_000, "all were needed since the first call");
            pool.trim();
            assert_eq!(unused(), 400);
            pool.trim();
            pool.trim();
            assert_eq!(unused(), kept);
        }
    }
}
