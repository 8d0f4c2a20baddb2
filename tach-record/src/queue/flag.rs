//! The flag that tells a call that the back end has stopped reading a queue.

pub mod barrier;

use crossbeam_utils::CachePadded;

// `cargo xtask loom` compiles this file and its folder alone, with a fence of loom's in place of
// `compiler_fence`.
use crate::sync::atomic::{AtomicBool, Ordering, compiler_fence};

const ROOM: usize = size_of::<CachePadded<AtomicBool>>() - size_of::<AtomicBool>();

/// The back end sets the flag if the queue was empty for a while. A call reads the flag after it
/// has pushed a record. If the flag is set, the call wakes the back end.
///
/// A processor may read the flag while the record still waits in its store buffer. Then the call
/// misses a flag that is set at that moment, and the back end misses the record. A fence on each
/// side prevents this. The fence of the calls is [`barrier::pass`]: the back end makes the kernel
/// run a fence on every thread. The call itself needs a fence for the compiler alone.
///
/// Each call reads the flag, so the flag shares no cache line with the fields of a queue after it,
/// which the back end changes. (`CachePadded` would align the whole queue, and an allocator wastes
/// memory for such an alignment. The room takes its size alone.)
#[repr(C)]
pub(super) struct Flag {
    is_asleep: AtomicBool,
    _room: [u8; ROOM],
}

impl Flag {
    pub(super) fn asleep() -> Self {
        Self { is_asleep: AtomicBool::new(true), _room: [0; ROOM] }
    }

    /// Returns whether the flag is set. Call after a record was pushed.
    #[inline]
    pub(super) fn is_asleep(&self) -> bool {
        // ORDERING: SeqCst, with the fence of `barrier::pass`: either this read sees the flag that
        // was set before that fence, or the back end sees the record after that fence.
        compiler_fence(Ordering::SeqCst);
        // ORDERING: Relaxed: the queue publishes the record, and the lock of the queues publishes
        // the wake-up.
        self.is_asleep.load(Ordering::Relaxed)
    }

    /// Sets the flag. Returns `true` if it was clear: a concurrent call may have missed it, and the
    /// record of that call is visible after [`barrier::pass`].
    pub(super) fn fall_asleep(&self) -> bool {
        // ORDERING: Relaxed: the fences order the store before the look at the queue.
        let is_new = !self.is_asleep.load(Ordering::Relaxed);
        self.is_asleep.store(true, Ordering::Relaxed);
        is_new
    }

    pub(super) fn wake_up(&self) {
        // ORDERING: Relaxed: publishes nothing.
        self.is_asleep.store(false, Ordering::Relaxed);
    }
}

/// The model fails without the fence: `cargo xtask loom` removes the fence to check that.
#[cfg(all(test, loom))]
mod loom_models {
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicUsize;
    use loom::thread;

    use super::*;

    struct Queue {
        flag: Flag,
        records: AtomicUsize,
    }

    impl Queue {
        fn new() -> Self {
            Self { flag: Flag::asleep(), records: AtomicUsize::new(0) }
        }

        /// Pushes a record, and returns whether the back end must be woken.
        fn push(&self) -> bool {
            self.records.store(1, Ordering::Release);
            self.flag.is_asleep()
        }

        /// Returns whether a record is seen once the flag is set.
        fn fall_asleep(&self) -> bool {
            self.flag.fall_asleep();
            barrier::pass();
            self.records.load(Ordering::Acquire) == 1
        }
    }

    #[test]
    fn a_record_is_seen_or_wakes() {
        loom::model(|| {
            let queue = Arc::new(Queue::new());
            queue.flag.wake_up();
            let back_end = Arc::clone(&queue);
            let back_end = thread::spawn(move || back_end.fall_asleep());
            let wakes = queue.push();
            assert!(back_end.join().unwrap() || wakes);
        });
    }
}
