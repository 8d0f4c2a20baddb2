//! The flag by which a thread that learns a number, and a reader that comes, find each other.

// `cargo xtask loom` compiles this file alone.
use crate::sync::atomic::{AtomicBool, Ordering, fence};

/// A flag for one of two threads, each of which sets its own flag and then reads the flag of the
/// other: at least one of them finds the other's flag set.
#[derive(Default)]
pub struct Notice(AtomicBool);

impl Notice {
    /// Sets the flag, before other flags are read.
    pub fn set(&self) {
        // ORDERING: Release, with the Acquire of `is_set`: publishes what the thread has written
        // before.
        self.0.store(true, Ordering::Release);
        // ORDERING: SeqCst, with the same fence of the other thread: without it, both stores may
        // wait in the store buffers of their processors while both threads read.
        fence(Ordering::SeqCst);
    }

    /// Returns whether the flag is set. Then the caller sees what was written before.
    pub fn is_set(&self) -> bool {
        // ORDERING: Acquire, with the Release of `set`.
        self.0.load(Ordering::Acquire)
    }
}

/// The model fails without the fence, and with any ordering weaker.
#[cfg(all(test, loom))]
mod loom_models {
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicUsize;
    use loom::thread;

    use super::*;

    /// A flag, and what a thread writes before it sets the flag: a value, or what keeps values.
    struct Side {
        written: AtomicUsize,
        notice: Notice,
    }

    impl Side {
        fn new() -> Self {
            Self { written: AtomicUsize::new(0), notice: Notice(AtomicBool::new(false)) }
        }
    }

    /// Returns whether a thread that sets its own flag finds the other's.
    fn finds(own: &Side, other: &Side) -> bool {
        own.written.store(1, Ordering::Relaxed);
        own.notice.set();
        let is_found = other.notice.is_set();
        assert!(!is_found || other.written.load(Ordering::Relaxed) == 1);
        is_found
    }

    #[test]
    fn one_of_two_threads_finds_the_other() {
        loom::model(|| {
            let sides = Arc::new([Side::new(), Side::new()]);
            let [value, reader] = &*Arc::clone(&sides);
            let comes = thread::spawn(move || finds(&sides[1], &sides[0]));
            let is_reader_found = finds(value, reader);
            assert!(comes.join().unwrap() || is_reader_found);
        });
    }
}
