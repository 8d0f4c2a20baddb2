//! A file in memory, read and written by whole words and by copies.
#![expect(unsafe_code, reason = "loads and stores of mapped memory")]

use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use core::{ptr, slice};
use std::fs::File;
use std::io;
use std::sync::Arc;

use memmap2::{MmapOptions, MmapRaw};

use super::sigbus::Guarded;
use tach_record::queue::ring::{Part, RingMemory};

const WORD: usize = size_of::<u64>();

/// A mapped file. A forked child shares it, so a call compares its
/// [`Process`](tach_record::host::process::Process) before each store.
///
/// The mapping may be longer than the file. Reserve the blocks before an access: a store to a page
/// without a block ends the process if the disk is full. Only one thread copies to a range of
/// bytes, and stores the words that publish the range afterwards.
pub(super) struct Mapping {
    /// Before the memory in this struct, so that the guard is dropped before the memory is
    /// unmapped.
    guarded: Guarded,
    memory: MmapRaw,
}

impl Mapping {
    /// Maps the first `length` bytes for reading and writing.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub(super) fn new(file: &File, length: usize) -> io::Result<Self> {
        Self::of(MmapOptions::new().len(length).map_raw(file)?)
    }

    /// Maps a file whose process has ended.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub(super) fn of_dead(file: &File, length: usize) -> io::Result<Self> {
        Self::of(MmapOptions::new().len(length).map_raw_read_only(file)?)
    }

    fn of(memory: MmapRaw) -> io::Result<Self> {
        let guarded = Guarded::new(memory.as_ptr().addr(), memory.len())?;
        Ok(Self { guarded, memory })
    }

    /// Returns whether a page of the file was missing at an access, so that another page stands for
    /// it.
    pub(super) fn is_broken(&self) -> bool {
        self.guarded.is_broken()
    }

    /// Returns the memory of a ring.
    ///
    /// # Panics
    ///
    /// If it is not in the mapping.
    pub(super) fn ring(
        self: &Arc<Self>,
        at: usize,
        length: usize,
        part: Box<dyn Part>,
    ) -> RingMemory {
        assert!(at % WORD == 0 && at.checked_add(length).is_some_and(|end| end <= self.len()));
        // SAFETY: the ring lies within the mapping, as was just checked.
        let start = unsafe { self.memory.as_mut_ptr().add(at) };
        let owner = Arc::<Self>::clone(self);
        // SAFETY: the mapping is aligned to a page and `at` to a word, so `start` is aligned.
        // `owner` keeps the mapping. Only the ring accesses the range until `part` is dropped.
        unsafe { RingMemory::new(start, length, owner, part) }
    }

    /// Returns the bytes of a file whose process has ended. Nothing may write to it meanwhile.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: this many bytes are mapped, and live as long as `self`. No other process of tach
        // writes the file: this one has its name and its lock, and writes it only between two
        // calls. We trust the other programs of the user, who alone may open the file, not to write
        // it meanwhile: they may write the memory of this process too.
        unsafe { slice::from_raw_parts(self.memory.as_ptr(), self.memory.len()) }
    }

    fn len(&self) -> usize {
        self.memory.len()
    }

    /// Returns the word at a byte.
    ///
    /// # Panics
    ///
    /// If the word is not in the mapping.
    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at % WORD == 0 && at.checked_add(WORD).is_some_and(|end| end <= self.len()));
        // SAFETY: the word lies within the mapping, as was just checked.
        let word = unsafe { self.memory.as_mut_ptr().add(at) };
        // SAFETY: the mapping is aligned to a page and `at` to a word, so the word is aligned. It
        // lives as long as `self`. Threads access the words through atomics alone, and the ranges
        // that `copy` writes are never read as words in this process.
        unsafe { AtomicU64::from_ptr(word.cast()) }
    }

    pub(super) fn get(&self, at: usize) -> u64 {
        // ORDERING: Acquire, with the Release of `publish`: what was stored before is visible.
        self.word(at).load(Ordering::Acquire)
    }

    /// Stores a word that a later [`publish`](Self::publish) makes valid.
    pub(super) fn set(&self, at: usize, value: u64) {
        // ORDERING: Relaxed: `publish` stores the word that makes this one count.
        self.word(at).store(value, Ordering::Relaxed);
        self.stored();
    }

    /// Stores a word after everything that this thread has stored before. A process that reads the
    /// file after this one was killed sees the earlier stores if it sees this one.
    pub(super) fn publish(&self, at: usize, value: u64) {
        // ORDERING: Release, with the Acquire of `get`, here or in the process that recovers the
        // file.
        self.word(at).store(value, Ordering::Release);
        // ORDERING: keeps the compiler from moving later stores before this one. If the process is
        // killed in between, the file would otherwise contain them without it.
        compiler_fence(Ordering::SeqCst);
        self.stored();
    }

    pub(super) fn raise(&self, at: usize, value: u64) {
        // ORDERING: Relaxed: publishes nothing.
        self.word(at).fetch_max(value, Ordering::Relaxed);
        self.stored();
    }

    /// Copies bytes that a later [`publish`](Self::publish) makes valid.
    ///
    /// # Panics
    ///
    /// If they are not in the mapping.
    pub(super) fn copy(&self, at: usize, bytes: &[u8]) {
        assert!(at.checked_add(bytes.len()).is_some_and(|end| end <= self.len()));
        // SAFETY: the range lies within the mapping, as was just checked.
        let to = unsafe { self.memory.as_mut_ptr().add(at) };
        // SAFETY: this many bytes are mapped, no reference to them exists, and the source is not
        // mapped from this file.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        self.stored();
    }

    /// Tells a test that the process may die here.
    #[expect(clippy::unused_self, reason = "the store was to this file")]
    pub(super) fn stored(&self) {
        #[cfg(any(test, feature = "watched"))]
        super::watched::stored();
    }
}
