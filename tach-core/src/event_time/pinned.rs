//! The event time of this thread.

use core::cell::Cell;
use std::thread_local;

use crate::instants::Anchor;

thread_local! {
    /// Const-initialized and without a destructor: usable until the thread has ended.
    static PINNED: Cell<Pinned> = const { Cell::new(Pinned { anchor: None, depth: 0 }) };
}

/// The current event time, and the number of calls that have set it and not yet returned.
#[derive(Debug, Clone, Copy)]
struct Pinned {
    anchor: Option<Anchor>,
    depth: u32,
}

/// Returns the event time of this thread: the anchor of the innermost [`during`].
///
/// # Cost
///
/// A load from the thread's memory. No clock is read.
///
/// # Examples
///
/// ```
/// use tach_core::{Anchor, event_time};
///
/// let anchor = Anchor::now();
/// event_time::during(anchor, || assert_eq!(event_time::current(), Some(anchor)));
/// assert_eq!(event_time::current(), None);
/// ```
#[must_use]
#[inline]
pub fn current() -> Option<Anchor> {
    PINNED.try_with(Cell::get).ok().and_then(|pinned| pinned.anchor)
}

/// Calls `f` with `anchor` as the [`current`] event time of this thread.
///
/// Calls nest: when `f` returns or panics, the previous event time is current again. Other threads,
/// and tasks that `f` spawns, don't see the event time.
///
/// # Cost
///
/// Two writes to the thread's memory. No allocation, no lock.
///
/// # Examples
///
/// ```
/// use tach_core::{Anchor, event_time};
///
/// let (outer, inner) = (Anchor::now(), Anchor::now());
/// event_time::during(outer, || {
///     event_time::during(inner, || assert_eq!(event_time::current(), Some(inner)));
///     assert_eq!(event_time::current(), Some(outer));
/// });
/// ```
#[inline]
pub fn during<R>(anchor: Anchor, f: impl FnOnce() -> R) -> R {
    let _restored = pin(Some(anchor));
    f()
}

/// Calls `f` without a [`current`] event time: for an event that happens while another is handled
/// and has a time of its own.
///
/// When `f` returns or panics, the previous event time is current again.
///
/// # Examples
///
/// ```
/// use tach_core::{Anchor, adapter, event_time};
///
/// let anchor = Anchor::now();
/// event_time::during(anchor, || {
///     adapter::unpinned(|| assert_eq!(event_time::current(), None));
///     assert_eq!(event_time::current(), Some(anchor));
/// });
/// ```
#[inline]
pub fn unpinned<R>(f: impl FnOnce() -> R) -> R {
    let _restored = pin(None);
    f()
}

/// Returns the number of calls of [`during`] and [`unpinned`] that this thread is in.
///
/// A caller that set the event time can thereby distinguish it from an equal one that was set
/// within.
///
/// # Examples
///
/// ```
/// use tach_core::{Anchor, adapter, event_time};
///
/// let anchor = Anchor::now();
/// event_time::during(anchor, || {
///     assert_eq!(adapter::depth(), 1);
///     event_time::during(anchor, || assert_eq!(adapter::depth(), 2));
/// });
/// ```
#[must_use]
#[inline]
pub fn depth() -> u32 {
    PINNED.try_with(Cell::get).map_or(0, |pinned| pinned.depth)
}

/// Makes `anchor` the current event time until the result is dropped. Does nothing if the thread's
/// memory is gone.
#[inline]
fn pin(anchor: Option<Anchor>) -> Restored {
    let pin = |pinned: &Cell<Pinned>| {
        let before = pinned.get();
        pinned.set(Pinned { anchor, depth: before.depth.saturating_add(1) });
        before
    };
    Restored(PINNED.try_with(pin).ok())
}

/// Restores the previous event time when dropped, also on unwinding.
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

    fn anchor(ns: u64) -> Anchor {
        Anchor::new(Instant::from_ticks(ns), UnixTime::from_nanos(ns))
    }

    #[test]
    fn event_times_nest() {
        assert_eq!(current(), None);
        let result = during(anchor(1), || {
            assert_eq!(current(), Some(anchor(1)));
            during(anchor(2), || assert_eq!(current(), Some(anchor(2))));
            assert_eq!(current(), Some(anchor(1)));
            "result"
        });
        assert_eq!(result, "result");
        assert_eq!(current(), None);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "nothing unwinds")]
    fn a_panic_restores_the_previous_event_time() {
        during(anchor(1), || {
            let panicked = panic::catch_unwind(|| during(anchor(2), || panic!("on purpose")));
            assert!(panicked.is_err());
            assert_eq!((current(), depth()), (Some(anchor(1)), 1));
            let panicked = panic::catch_unwind(|| unpinned(|| panic!("on purpose")));
            assert!(panicked.is_err());
            assert_eq!((current(), depth()), (Some(anchor(1)), 1));
        });
        assert_eq!((current(), depth()), (None, 0));
    }

    #[test]
    fn an_event_time_can_be_left_out_and_set_within() {
        during(anchor(1), || {
            unpinned(|| {
                assert_eq!((current(), depth()), (None, 2));
                during(anchor(1), || {
                    assert_eq!((current(), depth()), (Some(anchor(1)), 3));
                });
                assert_eq!((current(), depth()), (None, 2));
            });
            assert_eq!((current(), depth()), (Some(anchor(1)), 1));
        });
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn an_event_time_belongs_to_its_thread() {
        during(anchor(1), || {
            assert_eq!(thread::spawn(current).join().unwrap(), None);
        });
    }

    /// A destructor of a thread-local may log as well.
    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn destructors_of_thread_locals_may_read_and_set_it() {
        struct Late;
        impl Drop for Late {
            fn drop(&mut self) {
                assert_eq!(current(), None);
                assert_eq!(during(anchor(3), current), Some(anchor(3)));
            }
        }
        thread_local!(static LATE: Late = const { Late });
        thread::spawn(|| LATE.with(|_| current())).join().unwrap();
    }

    #[test]
    fn nothing_is_dropped_with_the_thread() {
        assert!(!core::mem::needs_drop::<Cell<Pinned>>());
    }
}
