//! The callbacks of layers, and their times.

use core::cell::Cell;
use core::ptr;
use std::thread_local;

use tach_core::{Clock, adapter, event_time};
use tracing_core::Event;

use crate::thread_cell::during;

/// A callback that the layers of a stack receive one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Callback {
    /// The address of the event, since all layers get the same reference.
    Event(usize),
    /// The number of the span, like the numbers in the variants below.
    NewSpan(u64),
    Enter(u64),
    Exit(u64),
    Close(u64),
}

/// The callback that a thread handles, and the nesting depth of its event time.
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

    /// Calls `f` at the time that this callback already has, or else at the time of `clock`.
    #[inline]
    pub(super) fn at_one_time(self, clock: &impl Clock, f: impl FnOnce()) {
        if self.has_a_time() {
            return f();
        }
        let stamp = clock.anchor();
        event_time::during(stamp, || {
            let handled = Handled { callback: self, depth: adapter::depth() };
            during(&HANDLED, Some(handled), f);
        });
    }

    /// Calls `f` at the time that this callback already has, or else without an event time. The
    /// current one may belong to an outer callback.
    #[inline]
    pub(super) fn at_own_time(self, f: impl FnOnce()) {
        if event_time::current().is_none() || self.has_a_time() {
            return f();
        }
        adapter::unpinned(f);
    }

    /// Returns whether the current event time is meant for this callback.
    #[inline]
    fn has_a_time(self) -> bool {
        event_time::current().is_some() && {
            let handled = HANDLED.try_with(Cell::get).ok().flatten();
            // If no `EventTime` has pinned the time, the program has, for all callbacks meanwhile.
            handled
                .is_none_or(|handled| handled.depth != adapter::depth() || handled.callback == self)
        }
    }
}
