//! The process that has the back end: a fork copies the queues, but not the thread.
//!
//! A word contains the generation of the process. The kernel clears the word in each child, however
//! the child was made, and the C library's `fork` calls a handler that begins the next generation.
//! So a generation that the handler did not begin belongs to a child of `clone`, `clone3` or a raw
//! system call, where locks of the C library may be held for ever.
//!
//! A child that shares its parent's memory (`CLONE_VM`, `vfork`) counts as the parent.

#[cfg(target_os = "linux")]
mod page;

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::Once;

use super::call_in_children;

/// Returns the operating system's number of the calling thread, or zero if it is not known.
pub(crate) fn os_thread_id() -> u32 {
    #[cfg(target_os = "linux")]
    let id = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
    #[cfg(not(target_os = "linux"))]
    let id = 0;
    id
}

/// The last generation of this process or an ancestor.
static LAST: AtomicU32 = AtomicU32::new(0);
/// The generation that the C library's last `fork` has begun, in this process or an ancestor.
static FORKED: AtomicU32 = AtomicU32::new(0);
/// Replaces the word if the kernel clears no pages. Then only children of the C library's `fork`
/// are noticed.
static UNCLEARED: AtomicU32 = AtomicU32::new(0);
static HANDLER: Once = Once::new();

/// A process: the one in which a pipeline was built.
#[derive(Debug, Clone, Copy)]
pub struct Process {
    /// The generation of the process that reads the word, or zero in a child that has none yet.
    word: &'static AtomicU32,
    generation: u32,
}

impl Process {
    /// Returns the process of the caller. The first call makes system calls.
    pub fn current() -> Self {
        let word = word();
        HANDLER.call_once(|| call_in_children(begin_child));
        // ORDERING: Relaxed: the threads of a process agree on the generation by the exchange, and
        // nothing else depends on it.
        let generation = match word.load(Ordering::Relaxed) {
            0 => {
                let next = LAST.load(Ordering::Relaxed) + 1;
                let first = word.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed);
                LAST.fetch_max(next, Ordering::Relaxed);
                first.err().unwrap_or(next)
            }
            generation => generation,
        };
        Self { word, generation }
    }

    /// Returns whether the caller is this process, and no child of it.
    #[inline]
    pub fn is_current(&self) -> bool {
        // ORDERING: Relaxed: a child has only the thread that forked, which sees its own memory.
        self.word.load(Ordering::Relaxed) == self.generation
    }

    /// Returns whether this process, the current one, was made by the C library's `fork`.
    pub fn is_forked(&self) -> bool {
        // ORDERING: Relaxed: a child has only the thread that forked, which sees its own memory.
        FORKED.load(Ordering::Relaxed) == self.generation
    }

    /// Returns whether each child is another process, also one that was made without the C library.
    pub fn are_all_noticed() -> bool {
        !ptr::eq(word(), &raw const UNCLEARED)
    }

    /// Returns the generation. No ancestor has the same one.
    pub const fn generation(&self) -> u32 {
        self.generation
    }
}

fn word() -> &'static AtomicU32 {
    #[cfg(target_os = "linux")]
    if let Some(word) = page::word() {
        return word;
    }
    &UNCLEARED
}

/// Begins a generation in a child of the C library's `fork`, which has one thread.
extern "C" fn begin_child() {
    // ORDERING: Relaxed: there is no other thread.
    let generation = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    FORKED.store(generation, Ordering::Relaxed);
    word().store(generation, Ordering::Relaxed);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![expect(unsafe_code, reason = "makes children in two ways")]

    use super::*;

    /// Makes a child that ends with the result of `f`. Returns whether that was `true`.
    fn is_true_in_child(is_raw: bool, f: impl FnOnce() -> bool) -> bool {
        let child = if is_raw {
            // SAFETY: the child has a copy of the memory, calls functions that need no lock, and
            // ends.
            unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) }
        } else {
            // SAFETY: the child calls functions that need no lock, and ends.
            unsafe { libc::fork() }.into()
        };
        let child = libc::pid_t::try_from(child).unwrap();
        if child == 0 {
            let is_true = f();
            // SAFETY: ends the process without its handlers.
            unsafe { libc::_exit(if is_true { 7 } else { 8 }) };
        }
        let mut status = 0;
        // SAFETY: the status is this function's own.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        libc::WEXITSTATUS(status) == 7
    }

    #[test]
    fn a_child_is_another_process_however_it_was_made() {
        let parent = Process::current();
        assert!(parent.is_current() && !parent.is_forked());
        for is_raw in [false, true] {
            let is_told = is_true_in_child(is_raw, || {
                let is_other = !parent.is_current();
                let child = Process::current();
                let is_same = child.is_current() && Process::current().is_current();
                // `fork` would wait here for locks of the C library that another thread held when
                // `clone` was called.
                let is_other_again = is_true_in_child(true, || {
                    let grandchild = Process::current();
                    !parent.is_current() && !child.is_current() && !grandchild.is_forked()
                });
                is_other && is_same && child.is_forked() != is_raw && is_other_again
            });
            assert!(is_told, "raw: {is_raw}");
        }
        assert!(parent.is_current() && Process::current().is_current());
    }

    /// Without this, the test above would pass where no child of `clone` can be noticed.
    #[test]
    fn the_kernel_clears_the_page_here() {
        assert!(page::word().is_some());
    }
}
