//! A part of a file in memory, read and written by whole words and by copies.
#![expect(unsafe_code, reason = "stores to mapped memory")]

use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};
use std::fs::File;
use std::io;

use memmap2::{MmapOptions, MmapRaw};

const WORD: usize = size_of::<u64>();

/// A mapped part of a file, which a forked child shares: [`Process`](tach_record::host::process::Process) is
/// compared before each store of a call.
///
/// The blocks of the file must be reserved: a store to a page without a block would end the process
/// if the disk is full. Only one thread copies to a range of bytes, and words that publish the
/// range are stored afterwards.
pub(super) struct Mapping {
    memory: MmapRaw,
    #[cfg(test)]
    path: std::path::PathBuf,
}

#[cfg(test)]
thread_local! {
    /// Whether the thread's mappings fail, as in a process that has too many.
    pub(super) static FAILS: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
}

impl Mapping {
    /// Maps `length` bytes from `start` on.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub(super) fn new(file: &File, start: u64, length: usize) -> io::Result<Self> {
        #[cfg(test)]
        if FAILS.get() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let memory = MmapOptions::new().offset(start).len(length).map_raw(file)?;
        Ok(Self {
            memory,
            #[cfg(test)]
            path: super::deaths::path(file),
        })
    }

    pub(super) fn into_memory(self) -> MmapRaw {
        self.memory
    }

    pub(super) fn len(&self) -> usize {
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
        // SAFETY: the mapping begins with a page and `at` is a multiple of a word, so the word is
        // aligned. It lives as long as `self`. Threads access the words through atomics alone, and
        // the bytes that are copied are never read as words in this process.
        unsafe { AtomicU64::from_ptr(word.cast()) }
    }

    pub(super) fn get(&self, at: usize) -> u64 {
        // ORDERING: Acquire, with the Release of `publish`: what was stored before is visible.
        self.word(at).load(Ordering::Acquire)
    }

    /// Stores a word that another word publishes.
    pub(super) fn set(&self, at: usize, value: u64) {
        // ORDERING: Relaxed: `publish` stores the word that makes this one count.
        self.word(at).store(value, Ordering::Relaxed);
        self.stored();
    }

    /// Stores a word after everything that this thread has stored before. A process that reads the
    /// file after this one was killed sees the earlier stores if it sees this one.
    pub(super) fn publish(&self, at: usize, value: u64) {
        // ORDERING: Release, with the Acquire of `get`, and of the process that reads the file.
        self.word(at).store(value, Ordering::Release);
        self.stored();
    }

    pub(super) fn add(&self, at: usize, more: u64) {
        // ORDERING: Relaxed: publishes nothing.
        self.word(at).fetch_add(more, Ordering::Relaxed);
        self.stored();
    }

    /// Copies bytes that a later [`publish`](Self::publish) makes count.
    ///
    /// # Panics
    ///
    /// If they are not in the mapping.
    pub(super) fn copy(&self, at: usize, bytes: &[u8]) {
        // In a test, a process may die within a copy.
        let (first, second) = bytes.split_at(if cfg!(test) { bytes.len() / 2 } else { 0 });
        self.copy_part(at, first);
        self.copy_part(at + first.len(), second);
    }

    fn copy_part(&self, at: usize, bytes: &[u8]) {
        assert!(at.checked_add(bytes.len()).is_some_and(|end| end <= self.len()));
        // SAFETY: the range lies within the mapping, as was just checked.
        let to = unsafe { self.memory.as_mut_ptr().add(at) };
        // SAFETY: so many bytes are there, no reference to them exists, and the source is not
        // mapped from this file.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        self.stored();
    }

    /// In a test, notes that the process may die here.
    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "only tests watch the stores"))]
    fn stored(&self) {
        #[cfg(test)]
        super::deaths::stored(&self.path);
    }
}
