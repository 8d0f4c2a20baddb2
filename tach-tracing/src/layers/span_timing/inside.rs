//! The threads inside a span.

use core::ptr;
use std::thread_local;

/// The threads inside a span, each with the number of its visits.
#[derive(Debug, Clone, Default)]
pub(super) struct Inside {
    /// Its count is zero if no thread is inside.
    one: Visits,
    /// Empty unless `one` is inside. In most spans it stays empty, and allocates nothing.
    more: Vec<Visits>,
}

/// A thread, and how often it has entered without leaving again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Visits {
    thread: Thread,
    count: usize,
}

/// The address of a thread-local, which identifies the thread.
///
/// A later thread may get the same address when this one has ended. By then it has left all spans,
/// except those with a forgotten guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Thread(usize);

impl Thread {
    #[inline]
    pub(super) fn current() -> Self {
        thread_local!(static PLACE: u8 = const { 0 });
        Self(PLACE.try_with(|place| ptr::from_ref(place).addr()).unwrap_or_default())
    }
}

impl Inside {
    /// Returns the number of threads inside.
    #[inline]
    pub(super) fn count(&self) -> u32 {
        if self.one.count == 0 {
            return 0;
        }
        u32::try_from(self.more.len()).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Enters `thread`, and returns whether it was outside before.
    #[inline]
    pub(super) fn enter(&mut self, thread: Thread) -> bool {
        if self.one.count == 0 {
            self.one = Visits { thread, count: 1 };
            return true;
        }
        self.enter_beside(thread)
    }

    /// Like [`enter`](Self::enter), if a thread is inside.
    fn enter_beside(&mut self, thread: Thread) -> bool {
        if let Some(visits) = self.visits(thread) {
            visits.count += 1;
            return false;
        }
        self.more.push(Visits { thread, count: 1 });
        true
    }

    /// Exits `thread`, and returns whether that was its last visit.
    #[inline]
    pub(super) fn exit(&mut self, thread: Thread) -> bool {
        if self.more.is_empty() && self.one == (Visits { thread, count: 1 }) {
            self.one.count = 0;
            return true;
        }
        self.exit_beside(thread)
    }

    /// Like [`exit`](Self::exit), if other threads are inside or visits of this one remain.
    fn exit_beside(&mut self, thread: Thread) -> bool {
        let Some(visits) = self.visits(thread) else { return false };
        visits.count -= 1;
        if visits.count > 0 {
            return false;
        }
        if self.one.thread == thread {
            self.one = self.more.pop().unwrap_or_default();
        } else {
            self.more.retain(|visits| visits.thread != thread);
        }
        true
    }

    /// Returns the visits of `thread`, if it is inside.
    fn visits(&mut self, thread: Thread) -> Option<&mut Visits> {
        let one = (self.one.count > 0).then_some(&mut self.one);
        one.into_iter().chain(&mut self.more).find(|visits| visits.thread == thread)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn threads_come_and_go_in_any_order() {
        let [a, b, c] = [1, 2, 3].map(Thread);
        let mut inside = Inside::default();
        assert!(inside.enter(a) && inside.enter(b) && inside.enter(c));
        assert!(!inside.enter(a) && !inside.exit(a));
        assert!(inside.exit(a));
        assert_eq!(inside.count(), 2);
        assert!(!inside.enter(c) && inside.exit(b) && inside.enter(a));
        assert_eq!(inside.count(), 2);
        assert!(!inside.exit(c) && inside.exit(c) && inside.exit(a));
        assert_eq!(inside.count(), 0);
    }

    #[test]
    fn an_exit_without_an_enter_is_ignored() {
        let mut inside = Inside::default();
        assert!(!inside.exit(Thread(1)));
        assert!(inside.enter(Thread(2)) && !inside.exit(Thread(1)));
        assert_eq!(inside.count(), 1);
    }

    #[test]
    fn a_thread_that_stays_is_known_after_others_have_left() {
        let [a, b] = [1, 2].map(Thread);
        let mut inside = Inside::default();
        assert!(inside.enter(a) && inside.enter(b) && inside.exit(a));
        assert!(!inside.enter(b) && !inside.exit(b) && inside.exit(b));
        assert!(!inside.exit(b));
        assert_eq!(inside.count(), 0);
        assert!(inside.enter(a));
    }

    #[test]
    fn live_threads_differ() {
        let here = Thread::current();
        assert_eq!(Thread::current(), here);
        assert_ne!(thread::spawn(Thread::current).join().unwrap(), here);
    }
}
