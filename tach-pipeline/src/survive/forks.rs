//! Keeps a forked child from writing its parent's file: in the child, private memory takes the
//! place of what is mapped.
//!
//! A child that logs stores into the rings before it learns that it was forked. The rings of a
//! mapped file are shared, so its records would overwrite those of the parent. `MADV_DONTFORK`
//! would leave no memory at all there, and the child would end with SIGSEGV.
#![expect(unsafe_code, reason = "puts private memory in the place of mapped files after a fork")]

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::Once;

use memmap2::MmapRaw;

/// All nodes that were ever made. They are never freed, so that the child can follow them without a
/// lock.
static NODES: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());
static HANDLER: Once = Once::new();

/// A range of mapped pages. Its length is zero if nothing is mapped.
struct Node {
    start: AtomicUsize,
    length: AtomicUsize,
    next: *const Node,
}

/// Makes mapped memory private in forked children. Drop before the memory is unmapped.
pub(crate) struct Private(&'static Node);

// SAFETY: the pointer to the next node is written before the node is shared, and the nodes live as
// long as the process.
unsafe impl Sync for Node {}

impl Private {
    pub(super) fn new(memory: &MmapRaw) -> Self {
        HANDLER.call_once(|| {
            // SAFETY: the handler only makes system calls and reads atomics, as a child of a
            // program with threads may. If there is no memory for the handler, children write the
            // file of their parent, as they would any file that they inherit.
            unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        });
        // rustix reads the size where valgrind maps nothing.
        // SAFETY: takes no memory.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).unwrap_or(64 * 1024);
        let first = memory.as_ptr().addr();
        let start = first / page * page;
        let length = (first + memory.len() - start).next_multiple_of(page);
        let node = vacant().unwrap_or_else(new);
        // ORDERING: Relaxed: the length publishes the start.
        node.start.store(start, Ordering::Relaxed);
        // ORDERING: Release: a child has the stores of the thread that forked, in their order.
        node.length.store(length, Ordering::Release);
        Self(node)
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // ORDERING: Release: precedes the end of the mapping.
        self.0.length.store(0, Ordering::Release);
        // ORDERING: Release: the node is free from here on.
        self.0.start.store(0, Ordering::Release);
    }
}

/// Takes a node whose mapping has ended.
fn vacant() -> Option<&'static Node> {
    const TAKEN: usize = 1;
    nodes().find(|node| {
        // ORDERING: Acquire, with the Release of `drop`.
        node.start.compare_exchange(0, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    })
}

fn new() -> &'static Node {
    let node = Box::leak(Box::new(Node {
        start: AtomicUsize::new(1),
        length: AtomicUsize::new(0),
        next: ptr::null(),
    }));
    let made = ptr::from_mut(node);
    // ORDERING: Relaxed: the exchange below publishes.
    let mut first = NODES.load(Ordering::Relaxed);
    loop {
        // SAFETY: no other thread has the node before the exchange succeeds.
        unsafe { (*made).next = first };
        // ORDERING: Release, with the Acquire of `nodes`.
        match NODES.compare_exchange(first, made, Ordering::Release, Ordering::Relaxed) {
            // SAFETY: the node is leaked, and from here on only shared.
            Ok(_) => return unsafe { &*made },
            Err(other) => first = other,
        }
    }
}

fn nodes() -> impl Iterator<Item = &'static Node> {
    // ORDERING: Acquire, with the Release of `new`.
    let mut next: *const Node = NODES.load(Ordering::Acquire);
    core::iter::from_fn(move || {
        // SAFETY: a node is leaked before it is linked.
        let node: &'static Node = unsafe { next.as_ref() }?;
        next = node.next;
        Some(node)
    })
}

/// Maps empty memory over all ranges, in the child of a fork.
extern "C" fn in_child() {
    for node in nodes() {
        // ORDERING: Acquire, with the Release of `Private::new`.
        let length = node.length.load(Ordering::Acquire);
        if length == 0 {
            continue;
        }
        // ORDERING: Relaxed: the length has published it.
        let start = node.start.load(Ordering::Relaxed);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let address = ptr::without_provenance_mut(start);
        // SAFETY: the range is a mapping of this process that `Private` keeps mapped. It is only
        // accessed through atomics and copies, for which any contents are valid.
        let mapped = unsafe { libc::mmap(address, length, access, flags, -1, 0) };
        if mapped == libc::MAP_FAILED {
            // The child must not write the file of its parent.
            // SAFETY: ends the process.
            unsafe { libc::abort() };
        }
    }
}
