//! What a layer is told of, and whether it has a time already.

use core::cell::Cell;
use core::ptr;
use std::thread_local;

use tach_core::{Clock, Stamp};
use tracing_core::Event;

/// Something that layers are told of one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    /// By its address: all layers get the same reference, and an event that is logged meanwhile lies
    /// elsewhere.
    Event(usize),
    /// By the number of the span, as the others.
    New(u64),
    Enter(u64),
    Exit(u64),
    Close(u64),
}

/// What is being handled on a thread, and the time that it was given.
#[derive(Clone, Copy)]
struct Handled {
    occasion: Occasion,
    stamp: Stamp,
}

thread_local! {
    static HANDLED: Cell<Option<Handled>> = const { Cell::new(None) };
}

impl Occasion {
    pub(super) fn of_event(event: &Event<'_>) -> Self {
        Self::Event(ptr::from_ref(event).addr())
    }

    /// Calls `f` at one time: the one that this occasion has already, or `clock`'s now.
    #[inline]
    pub(super) fn at_one_time(self, clock: &impl Clock, f: impl FnOnce()) {
        if self.has_a_time() {
            return f();
        }
        let stamp = Stamp::by(clock);
        let _restored = Restored(exchange(Some(Handled { occasion: self, stamp })));
        stamp.during(f);
    }

    /// Whether the current stamp is that of this occasion, rather than of one in whose midst it happens.
    #[inline]
    fn has_a_time(self) -> bool {
        Stamp::current().is_some_and(|current| {
            let handled = HANDLED.try_with(Cell::get).ok().flatten();
            // A stamp that none of these layers pinned is meant for all that happens within it.
            handled.is_none_or(|handled| handled.stamp != current || handled.occasion == self)
        })
    }
}

/// Puts back what was handled before, also on unwinding.
struct Restored(Option<Handled>);

impl Drop for Restored {
    #[inline]
    fn drop(&mut self) {
        exchange(self.0);
    }
}

#[inline]
fn exchange(handled: Option<Handled>) -> Option<Handled> {
    HANDLED.try_with(|cell| cell.replace(handled)).ok().flatten()
}
