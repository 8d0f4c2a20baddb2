//! A word that the kernel clears in a child.
#![expect(unsafe_code, reason = "asks the kernel to clear a page in forked processes")]

use core::sync::atomic::AtomicU32;
use std::sync::OnceLock;

use memmap2::{MmapMut, MmapRaw};

/// `None` if the kernel clears no pages.
static PAGE: OnceLock<Option<MmapRaw>> = OnceLock::new();

/// Returns the word, which is zero at first, or `None` if the kernel clears no pages. The first
/// call makes system calls.
pub(super) fn word() -> Option<&'static AtomicU32> {
    // Map the page before taking the lock of `PAGE`: a child that is forked while the lock is held
    // would wait for it forever.
    let page = PAGE.get().unwrap_or_else(|| {
        let new = new();
        PAGE.get_or_init(|| new)
    });
    // SAFETY: the mapping begins with a page, lives as long as the process, and is accessed through
    // this word alone.
    page.as_ref().map(|page| unsafe { AtomicU32::from_ptr(page.as_mut_ptr().cast()) })
}

#[cold]
fn new() -> Option<MmapRaw> {
    // The system rounds this up to a page.
    let page = MmapRaw::from(MmapMut::map_anon(size_of::<AtomicU32>()).ok()?);
    // Some emulators accept any advice and follow none. If even -1 is accepted, a fork would not
    // clear the page, and a child would pass for its parent.
    let is_obeyed = is_accepted(&page, libc::MADV_WIPEONFORK) && !is_accepted(&page, -1);
    is_obeyed.then_some(page)
}

fn is_accepted(page: &MmapRaw, advice: i32) -> bool {
    // SAFETY: the page is a private mapping without contents yet.
    unsafe { libc::madvise(page.as_mut_ptr().cast(), page.len(), advice) == 0 }
}
