//! The file that has the rings of a pipeline's queues, if records are to outlive the process.

use core::panic::RefUnwindSafe;
use std::sync::Arc;

use memmap2::MmapRaw;

use super::ring::Part;

/// A file with the rings of one pipeline.
pub trait RingFile: Send + Sync + RefUnwindSafe {
    /// Returns memory for a ring of at least `length` bytes, in whole pages. Returns `None` if the
    /// file has no room: such a ring does not outlive the process.
    fn ring(self: Arc<Self>, length: usize) -> Option<RingMemory>;

    /// Returns whether a ring of that length has room, or will never have: if rings that are in use
    /// take all entries, one of them may be free soon.
    fn has_ring(&self, length: usize) -> bool;

    /// Returns a number for a queue.
    fn new_queue(&self) -> u64;

    /// Counts records that a queue has dropped.
    fn dropped(&self, count: u64);

    /// Counts a record that was over the rate limit.
    fn refused(&self);

    /// Notes that the process ends by itself, so that nobody looks for what its flight recorder had.
    fn exits(&self);
}

/// The memory of a ring.
pub struct RingMemory {
    pub memory: MmapRaw,
    /// Dropped before the memory.
    pub part: Box<dyn Part>,
}

#[cfg(test)]
pub mod tests {
    use core::sync::atomic::{AtomicU64, Ordering};

    use memmap2::MmapMut;

    use super::*;

    /// Memory in the place of a file.
    #[derive(Default)]
    pub(crate) struct TestFile {
        pub(crate) dropped: AtomicU64,
    }

    struct TestPart(Arc<TestFile>);

    impl TestFile {
        /// Returns a file as a queue sees it.
        pub(crate) fn shared() -> Arc<dyn RingFile> {
            Arc::new(Self::default())
        }
    }

    impl RingFile for TestFile {
        fn ring(self: Arc<Self>, length: usize) -> Option<RingMemory> {
            let memory = MmapMut::map_anon(length.next_multiple_of(4096)).unwrap().into();
            Some(RingMemory { memory, part: Box::new(TestPart(self)) })
        }

        fn has_ring(&self, _: usize) -> bool {
            true
        }

        fn new_queue(&self) -> u64 {
            0
        }

        fn dropped(&self, count: u64) {
            // ORDERING: Relaxed: publishes nothing.
            self.dropped.fetch_add(count, Ordering::Relaxed);
        }

        fn refused(&self) {}

        fn exits(&self) {}
    }

    impl Part for TestPart {
        fn number(&self) -> u32 {
            0
        }

        fn file(&self) -> Arc<dyn Send + Sync> {
            Arc::<TestFile>::clone(&self.0)
        }

        fn belongs_to(&self, _: u64, _: u64, _: (u64, &str)) {}
    }
}
