//! A flush of all pipelines, requested by a signal handler.

use core::cell::Cell;
use core::iter;
use core::sync::atomic::Ordering;
use std::process;

use super::{Bell, FIRST};

impl Bell {
    fn belongs_to(&self, process: u32) -> bool {
        // ORDERING: Relaxed: what a handler reads of a bell is never freed.
        self.process.load(Ordering::Relaxed) == process
            // ORDERING: Relaxed: publishes nothing.
            && self.at_abort.load(Ordering::Relaxed)
    }

    /// Makes [`flush_in_handler`] ring the bell.
    pub fn ring_at_abort(&self) {
        // ORDERING: Relaxed: the flag publishes nothing.
        self.at_abort.store(true, Ordering::Relaxed);
    }

    /// Requests a flush, in a signal handler.
    fn ring(&self) {
        let number = self.request_end();
        // ORDERING: Relaxed: only handlers read the number.
        self.rung.fetch_max(number, Ordering::Relaxed);
        self.nap.wake();
    }
}

fn all() -> impl Iterator<Item = &'static Bell> {
    iter::successors(Some(&FIRST), |bell| bell.next.get().map(|next| &**next))
}

/// Returns the bells of the back ends that run in this process and flush at an abort.
fn living() -> impl Iterator<Item = &'static Bell> {
    let process = process::id();
    all().filter(move |bell| bell.belongs_to(process))
}

/// Requests a flush of each pipeline that flushes at an abort, and calls `nap` until all are done
/// or `nap` returns `false`. A signal handler may call this: it allocates nothing and takes no
/// lock. If it interrupts itself, it does nothing.
pub fn flush_in_handler(mut nap: impl FnMut() -> bool) {
    thread_local! {
        /// No destructor, so that the value needs no memory, and lives until the end of the thread.
        static IS_ENTERED: Cell<bool> = const { Cell::new(false) };
    }
    if IS_ENTERED.replace(true) {
        return;
    }
    living().for_each(Bell::ring);
    while living().any(|bell| !bell.is_answered()) && nap() {}
    IS_ENTERED.set(false);
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::{Taken, is_end_between};
    use super::*;

    /// Tests take this lock to run one at a time, because a handler rings all bells.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    /// The thread that aborts may hold any lock, also one of the allocator.
    #[test]
    fn a_handler_allocates_nothing_and_does_not_wait_for_itself() {
        let _alone = ONE_AT_A_TIME.lock();
        let bell = Taken::new();
        bell.ring_at_abort();
        let before = bell.requested();
        let mut naps = 0;
        // The bells of other tests are rung too, and may never be answered.
        let used = allocation_counter::measure(|| {
            flush_in_handler(|| {
                flush_in_handler(|| unreachable!("it waits within itself"));
                naps += 1;
                naps < 3
            });
        });
        assert_eq!((used.count_total, naps), (0, 3));
        assert!(is_end_between(before, bell.requested()) && bell.is_end_awaited());
        bell.done(bell.requested());
        assert!(!bell.is_end_awaited());
    }

    #[test]
    fn a_bell_is_taken_again_without_its_requests() {
        let _alone = ONE_AT_A_TIME.lock();
        for _ in 0..1_000 {
            let bell = Taken::new();
            assert!(bell.requested() == 0 && bell.is_answered());
            bell.ring();
            assert!(bell.requested() > 0 && !bell.is_answered());
        }
        // Other tests have bells too, but far fewer.
        assert!(all().count() < 1_000);
    }
}
