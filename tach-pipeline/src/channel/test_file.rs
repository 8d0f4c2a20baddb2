//! Memory in the place of a file, for tests.

use core::sync::atomic::{AtomicU64, Ordering};

use std::sync::Arc;

use memmap2::MmapMut;

use tach_record::queue::file::{RingFile, RingMemory};
use tach_record::queue::ring::Part;

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
