//! The number of the process, in a word that the kernel clears in a forked process.
#![expect(unsafe_code, reason = "asks the kernel to clear a page in forked processes")]

use core::sync::atomic::{AtomicU32, Ordering};
use std::process;
use std::sync::OnceLock;

use memmap2::{MmapMut, MmapRaw};

/// `None` if the kernel clears no pages.
static PAGE: OnceLock<Option<Page>> = OnceLock::new();

/// A page that begins with the number of the process that wrote it, or with zero.
struct Page(MmapRaw);

/// Returns the number of this process. Only the first call in a process makes a system call, unless
/// the kernel clears no pages in forked processes.
///
/// The child of a `vfork`, which has no memory of its own before it calls `exec`, gets the number
/// of its parent.
pub(super) fn id() -> u32 {
    // Maps before the lock is taken, for a process that is forked meanwhile.
    let page = PAGE.get().unwrap_or_else(|| {
        let new = Page::new();
        PAGE.get_or_init(|| new)
    });
    page.as_ref().map_or_else(process::id, Page::id)
}

impl Page {
    #[cold]
    fn new() -> Option<Self> {
        // The system rounds this up to a page.
        let page = MmapRaw::from(MmapMut::map_anon(size_of::<AtomicU32>()).ok()?);
        // Emulators that know no advice accept all of it.
        let is_obeyed = is_accepted(&page, libc::MADV_WIPEONFORK) && !is_accepted(&page, -1);
        is_obeyed.then_some(Self(page))
    }

    fn id(&self) -> u32 {
        // SAFETY: the mapping begins with a page, which is zero at first, lives as long as `self`,
        // and is accessed through this word alone.
        let word = unsafe { AtomicU32::from_ptr(self.0.as_mut_ptr().cast()) };
        // ORDERING: Relaxed: threads of one process store the same number.
        match word.load(Ordering::Relaxed) {
            0 => {
                let id = process::id();
                // ORDERING: as above.
                word.store(id, Ordering::Relaxed);
                id
            }
            id => id,
        }
    }
}

fn is_accepted(page: &MmapRaw, advice: i32) -> bool {
    // SAFETY: nothing was written to the mapping yet, so it holds nothing that advice could change.
    unsafe { libc::madvise(page.as_mut_ptr().cast(), page.len(), advice) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_process_has_its_own_number() {
        assert_eq!(id(), process::id());
        // SAFETY: the child calls functions that need no lock, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_right = id() == process::id() && id() == process::id();
            // SAFETY: ends the process without its handlers.
            unsafe { libc::_exit(if is_right { 7 } else { 8 }) };
        }
        let mut status = 0;
        // SAFETY: the status is this function's own.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(libc::WEXITSTATUS(status), 7);
        assert_eq!(id(), process::id());
    }

    /// Without this, the test above would pass on a kernel that is asked at each call.
    #[test]
    fn the_kernel_clears_the_page_here() {
        id();
        assert!(PAGE.get().is_some_and(Option::is_some));
    }
}
