//! The signal handler's readings, in order. One handler writes at a time: the signal goes to one
//! thread and is blocked while the handler runs.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering, compiler_fence};

use crate::os::Os;
use crate::reading::{Reading, Witnessed};

const CAPACITY: usize = 1 << 15;
const WORDS: usize = 7;

static SLOTS: [[AtomicU64; WORDS]; CAPACITY] =
    [const { [const { AtomicU64::new(0) }; WORDS] }; CAPACITY];
static LENGTH: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn len() -> usize {
    // The counter's instruction accesses no memory, so the fences tie it to this load: the handler
    // interrupts between two instructions of this thread.
    compiler_fence(Ordering::SeqCst);
    // ORDERING: Acquire, with the Release in `push`.
    let length = LENGTH.load(Ordering::Acquire);
    compiler_fence(Ordering::SeqCst);
    length
}

/// Adds an entry, unless the log is full.
pub(crate) fn push(entry: &Witnessed) {
    let Witnessed { before, reading, after } = entry;
    let words = [
        reading.tick,
        reading.unix_ns,
        u64::from_ne_bytes(reading.since_ns.to_ne_bytes()),
        before.monotonic_ns,
        before.unix_ns,
        after.monotonic_ns,
        after.unix_ns,
    ];
    // ORDERING: Relaxed, since only this function writes the length.
    let length = LENGTH.load(Ordering::Relaxed);
    let Some(slot) = SLOTS.get(length) else { return };
    for (atomic, word) in slot.iter().zip(words) {
        // ORDERING: Relaxed: the length publishes it.
        atomic.store(word, Ordering::Relaxed);
    }
    // ORDERING: Release, with the Acquire in `len`: entries that are counted were written.
    LENGTH.store(length + 1, Ordering::Release);
}

/// Returns the entry at `index`, which must be less than [`len`].
pub(crate) fn entry(index: usize) -> Witnessed {
    // ORDERING: Relaxed: the caller has acquired the length, which covers the index.
    let word = |which: usize| SLOTS[index][which].load(Ordering::Relaxed);
    Witnessed {
        reading: Reading {
            tick: word(0),
            unix_ns: word(1),
            since_ns: i64::from_ne_bytes(word(2).to_ne_bytes()),
        },
        before: Os { monotonic_ns: word(3), unix_ns: word(4) },
        after: Os { monotonic_ns: word(5), unix_ns: word(6) },
    }
}
