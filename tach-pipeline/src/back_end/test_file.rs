//! Memory in the place of a file, for tests.
#![expect(unsafe_code, reason = "maps memory of its own")]

use core::sync::atomic::{AtomicU64, Ordering};

use std::sync::Arc;

use memmap2::{MmapMut, MmapRaw};

use tach_record::queue::file::RingFile;
use tach_record::queue::ring::{Part, RingMemory};

/// Memory in the place of a file.
#[derive(Default)]
pub(crate) struct TestFile {
    pub(crate) dropped: AtomicU64,
}

struct TestPart;

impl TestFile {
    /// Returns a file as a queue sees it.
    pub(crate) fn shared() -> Arc<dyn RingFile> {
        Arc::new(Self::default())
    }
}

impl RingFile for TestFile {
    fn ring(&self, length: usize) -> Option<RingMemory> {
        let length = length.next_multiple_of(4096);
        let memory = Arc::new(MmapRaw::from(MmapMut::map_anon(length).unwrap()));
        let (start, part) = (memory.as_mut_ptr(), Box::new(TestPart));
        // SAFETY: the mapping has `length` bytes, and only the ring uses it.
        Some(unsafe { RingMemory::new(start, length, memory, part) })
    }

    fn has_ring(&self, _: usize) -> bool {
        true
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
        true
    }

    fn belongs_to(&self, _: u64, _: u64, _: (u64, &str)) {}
}
