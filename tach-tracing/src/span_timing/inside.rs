//! Which threads are inside a span.

use core::ptr;
use std::thread_local;

/// The threads inside a span, each with how often it has entered.
#[derive(Debug, Clone, Default)]
pub(super) struct Inside {
    /// Most spans never have more, and need no memory for it. Its count is zero if nobody is inside.
    one: Visits,
    /// Empty unless somebody is inside.
    more: Vec<Visits>,
}

/// How often a thread has entered without leaving again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Visits {
    thread: Thread,
    count: usize,
}

/// A thread, by the address of some memory of its own. Another thread may get that address when this one has
/// ended, and so has left all spans, but for those whose guards were forgotten.
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
    /// How many threads are inside.
    #[inline]
    pub(super) fn count(&self) -> u32 {
        if self.one.count == 0 {
            return 0;
        }
        u32::try_from(self.more.len()).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Has `thread` enter; whether it was outside before.
    #[inline]
    pub(super) fn enter(&mut self, thread: Thread) -> bool {
        if self.one.count == 0 {
            self.one = Visits { thread, count: 1 };
            return true;
        }
        self.enter_beside(thread)
    }

    /// As [`enter`](Self::enter), where somebody is inside.
    fn enter_beside(&mut self, thread: Thread) -> bool {
        if let Some(visits) = self.visits(thread) {
            visits.count += 1;
            return false;
        }
        self.more.push(Visits { thread, count: 1 });
        true
    }

    /// Has `thread` leave; whether it is outside now and was not before.
    #[inline]
    pub(super) fn exit(&mut self, thread: Thread) -> bool {
        if self.more.is_empty() && self.one == (Visits { thread, count: 1 }) {
            self.one.count = 0;
            return true;
        }
        self.exit_beside(thread)
    }

    /// As [`exit`](Self::exit), where others are inside or the thread stays.
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

    /// The visits of `thread`, which is inside.
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
    fn who_stays_is_known_after_others_have_left() {
        let [a, b] = [1, 2].map(Thread);
        let mut inside = Inside::default();
        assert!(inside.enter(a) && inside.enter(b) && inside.exit(a));
        assert!(!inside.enter(b) && !inside.exit(b) && inside.exit(b));
        assert!(!inside.exit(b));
        assert_eq!(inside.count(), 0);
        assert!(inside.enter(a));
    }

    #[test]
    fn threads_that_live_differ() {
        let here = Thread::current();
        assert_eq!(Thread::current(), here);
        assert_ne!(thread::spawn(Thread::current).join().unwrap(), here);
    }
}
