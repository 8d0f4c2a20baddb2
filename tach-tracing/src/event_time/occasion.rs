//! What a layer is told of, and whether it has a time already.

use core::cell::Cell;
use core::ptr;
use std::thread_local;

use tach_core::{Clock, Stamp};
use tracing_core::Event;

use crate::during::during;

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

/// What is being handled on a thread, and how deep the stamp lies that it was given.
#[derive(Clone, Copy)]
struct Handled {
    occasion: Occasion,
    depth: u32,
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
        stamp.during(|| {
            let handled = Handled { occasion: self, depth: Stamp::depth() };
            during(&HANDLED, Some(handled), f);
        });
    }

    /// Calls `f` at the time that this occasion has already, or at none: not at that of one in whose midst it
    /// happens.
    #[inline]
    pub(super) fn at_no_other_s_time(self, f: impl FnOnce()) {
        if Stamp::current().is_none() || self.has_a_time() {
            return f();
        }
        Stamp::unpinned(f);
    }

    /// Whether the current stamp is that of this occasion, rather than of one in whose midst it happens.
    #[inline]
    fn has_a_time(self) -> bool {
        Stamp::current().is_some() && {
            let handled = HANDLED.try_with(Cell::get).ok().flatten();
            // A stamp that none of these layers pinned is meant for all that happens within it.
            handled
                .is_none_or(|handled| handled.depth != Stamp::depth() || handled.occasion == self)
        }
    }
}
