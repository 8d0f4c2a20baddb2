//! Whether the back end has stopped looking at a queue.

pub(crate) mod barrier;

// `cargo xtask loom` compiles this file and its folder alone.
#[cfg(not(all(test, loom)))]
use core::sync::atomic::{AtomicBool, Ordering, compiler_fence as fence};
#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicBool, Ordering, fence};

use crossbeam_utils::CachePadded;

const ROOM: usize = size_of::<CachePadded<AtomicBool>>() - size_of::<AtomicBool>();

/// Set by the back end if the queue was empty for a while. The thread finds it set when it has
/// pushed a record, and wakes the back end.
///
/// A processor may read the flag while the record still waits in its store buffer. So a call may
/// miss the flag that the back end sets at that moment, and the back end the record. A fence on
/// both sides prevents that. The back end has [another one](barrier::pass) put the callers' fence
/// there, so that the call itself has a fence for the compiler alone.
///
/// Each call reads the flag, so it shares no cache line with the parts of a queue that the back end
/// changes, which follow. (Room as large as `CachePadded` takes less memory than its alignment, for
/// which an allocator cuts its blocks.)
#[repr(C)]
pub(super) struct Flag {
    is_asleep: AtomicBool,
    _room: [u8; ROOM],
}

impl Flag {
    pub(super) fn asleep() -> Self {
        Self { is_asleep: AtomicBool::new(true), _room: [0; ROOM] }
    }

    /// Returns whether the flag is set. Asked after a record was pushed.
    #[inline]
    pub(super) fn is_asleep(&self) -> bool {
        // ORDERING: SeqCst, with the fence of `barrier::pass`: either this read sees the flag that
        // was set before that fence, or the back end sees the record after it.
        fence(Ordering::SeqCst);
        // ORDERING: Relaxed: the queue publishes the record, and the lock of the queues publishes
        // the wake-up.
        self.is_asleep.load(Ordering::Relaxed)
    }

    /// Sets the flag, and returns whether it was not set. Then a call may have missed it: its
    /// record is visible after [`barrier::pass`].
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

/// The model needs the fence: `cargo xtask loom` removes it.
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
