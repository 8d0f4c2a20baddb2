//! The callback that a layer handles, and whether it has a time already.

use core::cell::Cell;
use core::ptr;
use std::thread_local;

use tach_core::{Clock, Stamp};
use tracing_core::Event;

use crate::thread_cell::during;

/// A callback that the layers of a stack receive one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Callback {
    /// Holds the address of the event: all layers get the same reference, and a nested event lies
    /// elsewhere.
    Event(usize),
    /// Holds the number of the span, like the others.
    NewSpan(u64),
    Enter(u64),
    Exit(u64),
    Close(u64),
}

/// A callback that is being handled on a thread, and the nesting depth of its event time.
#[derive(Clone, Copy)]
struct Handled {
    callback: Callback,
    depth: u32,
}

thread_local! {
    static HANDLED: Cell<Option<Handled>> = const { Cell::new(None) };
}

impl Callback {
    pub(super) fn event(event: &Event<'_>) -> Self {
        Self::Event(ptr::from_ref(event).addr())
    }

    /// Calls `f` at the event time that this callback has already, or else at the time of `clock`.
    #[inline]
    pub(super) fn at_one_time(self, clock: &impl Clock, f: impl FnOnce()) {
        if self.has_a_time() {
            return f();
        }
        let stamp = Stamp::by(clock);
        stamp.during(|| {
            let handled = Handled { callback: self, depth: Stamp::depth() };
            during(&HANDLED, Some(handled), f);
        });
    }

    /// Calls `f` at the event time that this callback has already, or else at none: not at the time of
    /// the callback in which this one is nested.
    #[inline]
    pub(super) fn at_own_time(self, f: impl FnOnce()) {
        if Stamp::current().is_none() || self.has_a_time() {
            return f();
        }
        Stamp::unpinned(f);
    }

    /// Returns whether the current event time is meant for this callback.
    #[inline]
    fn has_a_time(self) -> bool {
        Stamp::current().is_some() && {
            let handled = HANDLED.try_with(Cell::get).ok().flatten();
            // A time that no `EventTime` pinned is meant for everything inside it.
            handled
                .is_none_or(|handled| handled.depth != Stamp::depth() || handled.callback == self)
        }
    }
}
