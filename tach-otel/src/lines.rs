//! The lines that spans count on.
//!
//! All spans of a clock count on one line until the wall clock is stepped.

use core::ops::Deref;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crossbeam_utils::CachePadded;
use tach_core::{Clock, Instant, adapter};

use crate::line::{Line, Moment};

/// Padded, because each span reads it: a write next to it would cost each span.
static SYSTEM: CachePadded<State> = CachePadded::new(State::new(None));

/// The lines of a clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines(&'static State);

impl Lines {
    /// Returns the lines of the system's clock.
    pub(crate) fn of_system() -> Self {
        Self(&SYSTEM)
    }

    /// Creates lines for `clock`, apart from the system's. They are as static as the clock: an
    /// `Arc` in a span would make the compiler copy the span's 300 bytes once more (25 ns).
    pub(crate) fn new(clock: &'static (impl Clock + ?Sized)) -> Self {
        Self(Box::leak(Box::new(CachePadded::new(State::new(Some(clock.now()))))))
    }

    pub(crate) fn is_system(self) -> bool {
        ptr::eq(self.0, &raw const *SYSTEM)
    }
}

impl Deref for Lines {
    type Target = State;

    #[inline]
    fn deref(&self) -> &State {
        self.0
    }
}

/// The current line.
#[derive(Debug)]
pub(crate) struct State {
    /// The instant from which elapsed times count. `None` for the system's clock, whose elapsed
    /// time is the OS's monotonic clock: an old origin would be costly to convert.
    origin: Option<Instant>,
    /// The line of spans that start now.
    now: AtomicU64,
    /// The elapsed time at which that line began. Locked while the line is changed.
    began_ns: Mutex<u64>,
}

impl State {
    const fn new(origin: Option<Instant>) -> Self {
        Self { origin, now: AtomicU64::new(Line::NONE.0), began_ns: Mutex::new(0) }
    }

    #[inline]
    pub(crate) fn elapsed_ns(&self, clock: &impl Clock, instant: Instant) -> u64 {
        let Some(origin) = self.origin else { return adapter::monotonic_ns_at(instant) };
        let elapsed = clock.duration_between(origin, instant);
        u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
    }

    #[inline]
    pub(crate) fn moment(&self, clock: &impl Clock, instant: Instant) -> Moment {
        let unix_ns = clock.unix_time_at(instant).as_nanos();
        Moment { elapsed_ns: self.elapsed_ns(clock, instant), unix_ns }
    }

    /// Returns the line of spans that start now.
    #[inline]
    pub(crate) fn current(&self) -> Line {
        // ORDERING: Relaxed, because nothing else is published with the line.
        Line(self.now.load(Ordering::Relaxed))
    }

    /// Returns the line of a span that starts at `moment`.
    #[inline]
    pub(crate) fn of_span(&self, moment: Moment) -> Line {
        let line = self.current();
        if line.is_apart(moment) { self.change(moment) } else { line }
    }

    /// Returns the current line, which is a new one if the wall clock has been stepped.
    #[cold]
    fn change(&self, moment: Moment) -> Line {
        let mut began_ns = self.began_ns.lock().unwrap_or_else(PoisonError::into_inner);
        let line = self.current();
        if !line.is_apart(moment) {
            return line;
        }
        // The thread may have been held up after it read the clock, and the step came afterwards.
        if moment.elapsed_ns >= *began_ns {
            *began_ns = moment.elapsed_ns;
            // ORDERING: Relaxed: see `current`.
            self.now.store(moment.line().0, Ordering::Relaxed);
        }
        moment.line()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// A thread reads the clock, is held up, and starts its span after a step.
    #[test]
    fn a_span_that_is_late_has_the_line_of_its_moment() {
        let state = State::new(Some(Instant::from_ticks(0)));
        let start = |elapsed_s: u64, line_s: u64| {
            let elapsed_ns = elapsed_s * S;
            let moment = Moment { elapsed_ns, unix_ns: line_s * S + elapsed_ns };
            state.of_span(moment).0 / S
        };
        assert_eq!(start(1, 1000), 1000);
        assert_eq!(start(3, 5000), 5000);
        assert_eq!(start(2, 1000), 1000, "before the step");
        assert_eq!(state.current(), Line(5000 * S), "the step stands");
        assert_eq!((start(11, 6000), start(20, 7000)), (6000, 7000), "a series of steps");
        assert_eq!(start(19, 6000), 6000, "before the last");
        assert_eq!(start(21, 7000), 7000);
    }
}
