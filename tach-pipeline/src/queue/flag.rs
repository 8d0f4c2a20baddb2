//! Whether the back end has stopped looking at a queue.

use core::sync::atomic::{AtomicBool, Ordering, compiler_fence};

/// Set by the back end if the queue was empty for a while. The thread finds it set when it has
/// pushed a record, and wakes the back end.
///
/// Each call reads the flag, so it shares no cache line with the parts of a queue that the back end
/// changes: x86 prefetches lines in pairs, and Apple's have 128 bytes.
#[repr(align(128))]
pub(super) struct Flag(AtomicBool);

impl Flag {
    pub(super) const fn asleep() -> Self {
        Self(AtomicBool::new(true))
    }

    #[inline]
    pub(super) fn is_asleep(&self) -> bool {
        // The compiler must not read the flag before the record is pushed. The processor may, but
        // only while the push waits in its store buffer. The back end looks at the queue again long
        // after that, so no call needs a fence.
        compiler_fence(Ordering::SeqCst);
        // ORDERING: Relaxed: the queue publishes the record, and the lock of the queues publishes
        // the wake-up.
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the flag. The back end looks once more later.
    pub(super) fn fall_asleep(&self) {
        // ORDERING: Relaxed, as in `is_asleep`.
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn wake_up(&self) {
        // ORDERING: Relaxed, as in `is_asleep`.
        self.0.store(false, Ordering::Relaxed);
    }
}
