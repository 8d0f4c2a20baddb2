//! The file that has the rings of a pipeline's queues, if records are to outlive the process.

use core::panic::RefUnwindSafe;

use super::ring::RingMemory;

/// A file with the rings of one pipeline.
pub trait RingFile: Send + Sync + RefUnwindSafe {
    /// Returns memory for a ring of at least `length` bytes, in whole pages. Returns `None` if the
    /// file has no room: such a ring does not outlive the process.
    fn ring(&self, length: usize) -> Option<RingMemory>;

    /// Returns whether there is room for a ring of that length, or none can become free. Returns
    /// `false` while all entries are taken: one of their rings may be free soon.
    fn has_ring(&self, length: usize) -> bool;

    /// Counts a ring that is in memory alone, since the file had no room.
    fn has_no_room(&self);

    /// Returns a number for a queue.
    fn new_queue(&self) -> u64;

    /// Counts records that a queue has dropped, or that were over the rate limit.
    fn dropped(&self, count: u64);

    /// Notes that the process ends by itself, so that nobody looks for what its flight recorder
    /// had.
    fn exits(&self);
}

#[cfg(test)]
pub(crate) mod tests {
    #![expect(unsafe_code, reason = "maps memory of its own")]

    use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::Arc;

    use memmap2::{MmapMut, MmapRaw};

    use super::*;
    use crate::queue::ring::Part;

    /// Memory in the place of a file.
    #[derive(Default)]
    pub(crate) struct TestFile {
        pub(crate) dropped: AtomicU64,
        pub(crate) is_full: AtomicBool,
        /// How often another file has replaced this one.
        pub(crate) replaced: Arc<AtomicU64>,
    }

    /// A part of the file: the count of replacements, and its value when the part was created.
    struct TestPart(Arc<AtomicU64>, u64);

    impl TestFile {
        /// Returns a file as a queue sees it.
        pub(crate) fn shared() -> Arc<dyn RingFile> {
            Arc::new(Self::default())
        }
    }

    impl RingFile for TestFile {
        fn ring(&self, length: usize) -> Option<RingMemory> {
            // ORDERING: Relaxed: one thread.
            if self.is_full.load(Ordering::Relaxed) {
                return None;
            }
            let length = length.next_multiple_of(4096);
            let memory = Arc::new(MmapRaw::from(MmapMut::map_anon(length).unwrap()));
            // ORDERING: Relaxed: one thread.
            let before = self.replaced.load(Ordering::Relaxed);
            let part = Box::new(TestPart(Arc::clone(&self.replaced), before));
            let start = memory.as_mut_ptr();
            // SAFETY: the mapping has `length` bytes, and only the ring uses it.
            Some(unsafe { RingMemory::new(start, length, memory, part) })
        }

        fn has_ring(&self, _: usize) -> bool {
            // ORDERING: Relaxed: one thread.
            !self.is_full.load(Ordering::Relaxed)
        }

        fn has_no_room(&self) {}

        fn new_queue(&self) -> u64 {
            0
        }

        fn dropped(&self, count: u64) {
            // ORDERING: Relaxed: publishes nothing.
            self.dropped.fetch_add(count, Ordering::Relaxed);
        }

        fn exits(&self) {}
    }

    impl Part for TestPart {
        fn is_of_use(&self) -> bool {
            // ORDERING: Relaxed: one thread.
            self.0.load(Ordering::Relaxed) == self.1
        }

        fn belongs_to(&self, _: u64, _: u64, _: (u64, &str)) {}
    }
}
