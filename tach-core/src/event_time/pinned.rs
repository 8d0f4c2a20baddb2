//! The stamp of what this thread handles.

use core::cell::Cell;
use std::thread_local;

use super::Stamp;

thread_local! {
    /// Made at compile time and without a destructor: it is never set up on first use, and is there
    /// until the thread has ended.
    static PINNED: Cell<Pinned> = const { Cell::new(Pinned { stamp: None, depth: 0 }) };
}

/// What is current, and how many calls have made something current and not yet returned.
#[derive(Debug, Clone, Copy)]
struct Pinned {
    stamp: Option<Stamp>,
    depth: u32,
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
        PINNED.try_with(Cell::get).ok().and_then(|pinned| pinned.stamp)
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
        let _restored = pin(Some(self));
        f()
    }

    /// Calls `f`, and has no stamp be [`current`](Self::current) on this thread meanwhile: for what happens
    /// while something else is handled, and has a time of its own.
    ///
    /// Afterwards the stamp from before is current again, also if `f` panics.
    ///
    /// # Cost
    ///
    /// That of [`during`](Self::during).
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::Stamp;
    ///
    /// let stamp = Stamp::now();
    /// stamp.during(|| {
    ///     Stamp::unpinned(|| assert_eq!(Stamp::current(), None));
    ///     assert_eq!(Stamp::current(), Some(stamp));
    /// });
    /// ```
    #[inline]
    pub fn unpinned<R>(f: impl FnOnce() -> R) -> R {
        let _restored = pin(None);
        f()
    }

    /// How many calls of [`during`](Self::during) and [`unpinned`](Self::unpinned) this thread is in: who has
    /// pinned a stamp can tell whether it is the current one still, or an equal one that was pinned within.
    ///
    /// # Cost
    ///
    /// That of [`current`](Self::current).
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::Stamp;
    ///
    /// let stamp = Stamp::now();
    /// stamp.during(|| {
    ///     assert_eq!(Stamp::depth(), 1);
    ///     stamp.during(|| assert_eq!(Stamp::depth(), 2));
    /// });
    /// ```
    #[must_use]
    #[inline]
    pub fn depth() -> u32 {
        PINNED.try_with(Cell::get).map_or(0, |pinned| pinned.depth)
    }
}

/// Makes `stamp` what is current, for as long as the result is kept. Without effect should the thread's
/// memory be gone.
#[inline]
fn pin(stamp: Option<Stamp>) -> Restored {
    let pin = |pinned: &Cell<Pinned>| {
        let before = pinned.get();
        pinned.set(Pinned { stamp, depth: before.depth.saturating_add(1) });
        before
    };
    Restored(PINNED.try_with(pin).ok())
}

/// Puts back what was current before, also on unwinding.
struct Restored(Option<Pinned>);

impl Drop for Restored {
    #[inline]
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            let _ = PINNED.try_with(|pinned| pinned.set(before));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic;
    use std::thread;

    use super::*;
    use crate::instants::Instant;
    use crate::unix_time::UnixTime;

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
            assert_eq!((Stamp::current(), Stamp::depth()), (Some(stamp(1)), 1));
            let panicked = panic::catch_unwind(|| Stamp::unpinned(|| panic!("on purpose")));
            assert!(panicked.is_err());
            assert_eq!((Stamp::current(), Stamp::depth()), (Some(stamp(1)), 1));
        });
        assert_eq!((Stamp::current(), Stamp::depth()), (None, 0));
    }

    #[test]
    fn a_stamp_can_be_left_out_and_pinned_within() {
        stamp(1).during(|| {
            Stamp::unpinned(|| {
                assert_eq!((Stamp::current(), Stamp::depth()), (None, 2));
                stamp(1).during(|| {
                    assert_eq!((Stamp::current(), Stamp::depth()), (Some(stamp(1)), 3));
                });
                assert_eq!((Stamp::current(), Stamp::depth()), (None, 2));
            });
            assert_eq!((Stamp::current(), Stamp::depth()), (Some(stamp(1)), 1));
        });
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
        assert!(!core::mem::needs_drop::<Cell<Pinned>>());
    }
}
