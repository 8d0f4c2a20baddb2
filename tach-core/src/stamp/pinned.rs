//! The stamp of what this thread handles.

use core::cell::Cell;
use std::thread_local;

use super::Stamp;

thread_local! {
    /// Made at compile time and without a destructor: it is never set up on first use, and is there
    /// until the thread has ended.
    static CURRENT: Cell<Option<Stamp>> = const { Cell::new(None) };
}

impl Stamp {
    /// The stamp of what this thread handles now: that of the innermost [`during`](Self::during).
    ///
    /// # Cost
    ///
    /// A load from memory of the thread. No clock is read.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::Stamp;
    ///
    /// let stamp = Stamp::now();
    /// stamp.during(|| assert_eq!(Stamp::current(), Some(stamp)));
    /// assert_eq!(Stamp::current(), None);
    /// ```
    #[must_use]
    #[inline]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Cell::get).ok().flatten()
    }

    /// Calls `f`, and has this be the [`current`](Self::current) stamp of this thread meanwhile.
    ///
    /// It nests: afterwards the stamp from before is current again, also if `f` panics. Other threads, and
    /// tasks that `f` spawns, see nothing of it.
    ///
    /// # Cost
    ///
    /// Two writes to memory of the thread. No allocation, no lock.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::Stamp;
    ///
    /// let outer = Stamp::now();
    /// let inner = Stamp::now();
    /// outer.during(|| {
    ///     inner.during(|| assert_eq!(Stamp::current(), Some(inner)));
    ///     assert_eq!(Stamp::current(), Some(outer));
    /// });
    /// ```
    #[inline]
    pub fn during<R>(self, f: impl FnOnce() -> R) -> R {
        let _restored = Restored(exchange(Some(self)));
        f()
    }
}

/// Puts back what was current before, also on unwinding.
struct Restored(Option<Stamp>);

impl Drop for Restored {
    #[inline]
    fn drop(&mut self) {
        exchange(self.0);
    }
}

/// Makes `stamp` the current one; the one before. Without effect should the thread's memory be gone.
#[inline]
fn exchange(stamp: Option<Stamp>) -> Option<Stamp> {
    CURRENT.try_with(|current| current.replace(stamp)).ok().flatten()
}

#[cfg(test)]
mod tests {
    use std::panic;
    use std::thread;

    use super::*;
    use crate::{Instant, UnixTime};

    fn stamp(ns: u64) -> Stamp {
        Stamp::new(Instant::from_ticks(ns), UnixTime::from_nanos(ns))
    }

    #[test]
    fn stamps_nest() {
        assert_eq!(Stamp::current(), None);
        let result = stamp(1).during(|| {
            assert_eq!(Stamp::current(), Some(stamp(1)));
            stamp(2).during(|| assert_eq!(Stamp::current(), Some(stamp(2))));
            assert_eq!(Stamp::current(), Some(stamp(1)));
            "result"
        });
        assert_eq!(result, "result");
        assert_eq!(Stamp::current(), None);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "nothing unwinds")]
    fn a_panic_leaves_no_stamp_behind() {
        stamp(1).during(|| {
            let panicked = panic::catch_unwind(|| stamp(2).during(|| panic!("on purpose")));
            assert!(panicked.is_err());
            assert_eq!(Stamp::current(), Some(stamp(1)));
        });
        assert_eq!(Stamp::current(), None);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn a_stamp_is_its_thread_s() {
        stamp(1).during(|| {
            assert_eq!(thread::spawn(Stamp::current).join().unwrap(), None);
        });
    }

    /// What is dropped last in a thread may log too.
    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn destructors_of_the_thread_s_memory_may_ask_and_pin() {
        struct Late;
        impl Drop for Late {
            fn drop(&mut self) {
                assert_eq!(Stamp::current(), None);
                assert_eq!(stamp(3).during(Stamp::current), Some(stamp(3)));
            }
        }
        thread_local!(static LATE: Late = const { Late });
        thread::spawn(|| LATE.with(|_| Stamp::current())).join().unwrap();
    }

    #[test]
    fn nothing_is_dropped_with_the_thread() {
        assert!(!core::mem::needs_drop::<Cell<Option<Stamp>>>());
    }
}
