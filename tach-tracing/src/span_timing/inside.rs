//! Which threads are inside a span.

use core::ptr;
use std::thread_local;

/// The threads inside a span, each with how often it has entered.
#[derive(Debug, Clone, Default)]
pub(super) struct Inside {
    /// Most spans never have more, and need no memory for it.
    one: Option<Visits>,
    /// Empty unless there is one.
    more: Vec<Visits>,
}

/// How often a thread has entered without leaving again.
#[derive(Debug, Clone, Copy)]
struct Visits {
    thread: Thread,
    count: usize,
}

/// A thread, by the address of some memory of its own. Another thread may get that address when this one has
/// ended, and so has left all spans, but for those whose guards were forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
        let more = u32::try_from(self.more.len()).unwrap_or(u32::MAX);
        more.saturating_add(u32::from(self.one.is_some()))
    }

    /// Has `thread` enter; whether it was outside before.
    #[inline]
    pub(super) fn enter(&mut self, thread: Thread) -> bool {
        if let Some(visits) = self.visits(thread) {
            visits.count += 1;
            return false;
        }
        let visits = Visits { thread, count: 1 };
        match self.one {
            None => self.one = Some(visits),
            Some(_) => self.more.push(visits),
        }
        true
    }

    /// Has `thread` leave; whether it is outside now and was not before.
    #[inline]
    pub(super) fn exit(&mut self, thread: Thread) -> bool {
        let Some(visits) = self.visits(thread) else { return false };
        visits.count -= 1;
        if visits.count > 0 {
            return false;
        }
        if self.one.is_some_and(|one| one.thread == thread) {
            self.one = self.more.pop();
        } else {
            self.more.retain(|visits| visits.thread != thread);
        }
        true
    }

    #[inline]
    fn visits(&mut self, thread: Thread) -> Option<&mut Visits> {
        self.one.iter_mut().chain(&mut self.more).find(|visits| visits.thread == thread)
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
    fn threads_that_live_differ() {
        let here = Thread::current();
        assert_eq!(Thread::current(), here);
        assert_ne!(thread::spawn(Thread::current).join().unwrap(), here);
    }
}
