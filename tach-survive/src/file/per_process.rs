//! A value that each process has for itself.

use std::process;
use std::sync::Arc;

use arc_swap::ArcSwapOption;

/// A static value that a forked child begins anew. The child has no thread that would release a
/// lock that a thread of its parent held.
pub(super) struct PerProcess<T>(ArcSwapOption<Owned<T>>);

/// The value of a process.
pub(super) struct Owned<T> {
    process: u32,
    pub(super) value: T,
}

impl<T: Default> PerProcess<T> {
    pub(super) const fn new() -> Self {
        Self(ArcSwapOption::const_empty())
    }

    /// Returns the value of this process. Waits for no other thread.
    pub(super) fn get(&self) -> Arc<Owned<T>> {
        self.of(process::id())
    }

    fn of(&self, process: u32) -> Arc<Owned<T>> {
        let is_own = |owned: &Arc<Owned<T>>| owned.process == process;
        loop {
            if let Some(owned) = self.0.load_full().filter(is_own) {
                return owned;
            }
            self.0.rcu(|there| {
                // Another thread of this process may have been first.
                let there = there.as_ref().filter(|there| is_own(there));
                let new = || Arc::new(Owned { process, value: T::default() });
                Some(there.map_or_else(new, Arc::clone))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tach_record::sync::Lock;

    #[test]
    fn a_child_has_no_lock_of_its_parent() {
        static VALUE: PerProcess<Lock<Vec<u32>>> = PerProcess::new();
        let parent = VALUE.of(1);
        let mut held = parent.value.lock();
        held.push(1);
        assert!(VALUE.of(1).value.try_lock().is_none(), "a process has one lock");
        VALUE.of(2).value.try_lock().unwrap().push(2);
        assert_eq!(*VALUE.of(2).value.lock(), [2]);
    }
}
