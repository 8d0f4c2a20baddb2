//! The lines that spans count on.
//!
//! All spans of a clock count on one line until the wall clock is stepped.

use core::ops::Deref;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crossbeam_utils::CachePadded;
use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt;
use tach_core::{Clock, Instant, adapter};

use crate::ahead::Ahead;
use crate::line::{Line, Moment, STEP_NS};
use crate::listed::{Entry, Listed};

/// How long children follow their parents after a step: as long as requests last.
pub(crate) const FOLLOWED_NS: u64 = 10_000_000_000;

/// The smallest distance from a line for which the time of the step is asked for. A smaller one may
/// come from a wall clock that runs at another rate, without a step.
const SURE_STEP_NS: u64 = 10 * STEP_NS;

/// Padded, because each span reads it: a write next to it would cost each span.
static SYSTEM: CachePadded<State> = CachePadded::new(State::new(None));

/// The lines of a clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines(&'static State);

impl Lines {
    pub(crate) fn of_system() -> Self {
        Self(&SYSTEM)
    }

    /// Creates lines for `clock`, apart from the system's, and leaks them: an `Arc` in a span would
    /// make the compiler copy the span's 300 bytes once more (25 ns).
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

/// The current line, the one before the step, and the spans that started near the step.
///
/// Steps less than ten seconds apart are a series. Its first step decides how long children of
/// spans that are not listed, and so are older, follow their parents.
#[derive(Debug)]
pub(crate) struct State {
    /// The instant from which elapsed times count. `None` for the system's clock, whose elapsed
    /// time is the OS's monotonic clock: an old origin would be costly to convert.
    origin: Option<Instant>,
    /// The line of spans that start now.
    now: AtomicU64,
    /// The elapsed time at which that line began.
    began_ns: AtomicU64,
    /// The line before the series of steps, which is the line of spans that are not listed.
    before: AtomicU64,
    /// The elapsed time until which children follow parents that are not listed.
    before_until_ns: AtomicU64,
    /// The elapsed time until which children follow their parents.
    until_ns: AtomicU64,
    /// Held while any of the five atomics above is changed.
    changing: Mutex<()>,
    /// The spans that start ahead of the clock.
    pub(crate) ahead: Ahead,
    /// The spans that started while children follow their parents, each with its line.
    pub(crate) listed: Listed,
}

impl State {
    const fn new(origin: Option<Instant>) -> Self {
        Self {
            origin,
            now: AtomicU64::new(Line::NONE.0),
            began_ns: AtomicU64::new(0),
            before: AtomicU64::new(Line::NONE.0),
            before_until_ns: AtomicU64::new(0),
            until_ns: AtomicU64::new(0),
            changing: Mutex::new(()),
            ahead: Ahead::new(),
            listed: Listed::new(),
        }
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
        // ORDERING: Acquire, pairs with the Release in `change`: a thread that sees the line after
        // a step also sees that children follow their parents.
        Line(self.now.load(Ordering::Acquire))
    }

    /// Returns the line of a span that starts at `moment`, and whether the span must be listed.
    #[inline]
    pub(crate) fn of_span(&self, moment: Moment, parent: &Context) -> (Line, bool) {
        let line = self.current();
        if line.is_apart(moment) || self.follow_parents(moment) {
            return self.near_step(moment, parent);
        }
        (line, false)
    }

    #[inline]
    fn follow_parents(&self, moment: Moment) -> bool {
        // ORDERING: Relaxed, since the Acquire load in `current` comes before.
        moment.elapsed_ns < self.until_ns.load(Ordering::Relaxed)
    }

    #[cold]
    fn near_step(&self, moment: Moment, parent: &Context) -> (Line, bool) {
        let line = self.current();
        let line = if line.is_apart(moment) { self.change(moment) } else { line };
        if !self.follow_parents(moment) {
            return (line, false);
        }
        let parent = parent.span();
        let parent = parent.span_context();
        if !parent.is_valid() || parent.is_remote() {
            return (line, true);
        }
        let listed = self.listed.find(parent).filter(|entry| self.is_followed(entry));
        let of_parent = listed.map(|entry| entry.line).or_else(|| self.before(moment));
        (of_parent.unwrap_or(line), true)
    }

    /// Returns whether the span of `entry` started at most ten seconds before the last step. An
    /// older span does not count as a request that the step divided.
    fn is_followed(&self, entry: &Entry) -> bool {
        // ORDERING: Relaxed, since the Acquire load in `current` comes before.
        entry.elapsed_ns.saturating_add(2 * FOLLOWED_NS) >= self.until_ns.load(Ordering::Relaxed)
    }

    /// Returns the current line, which is a new one if the wall clock has been stepped.
    fn change(&self, moment: Moment) -> Line {
        let _guard = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let line = self.current();
        if !line.is_apart(moment) {
            return line;
        }
        // ORDERING: Relaxed for the loads and stores of `before` and the three times. Here the lock
        // orders them; other threads see them by the Release below.
        let until_ns = self.until_ns.load(Ordering::Relaxed);
        if moment.elapsed_ns.saturating_add(FOLLOWED_NS) < until_ns {
            // The thread was held up after it read the clock, and the step came afterwards: use the
            // line before the step. If that is apart too, the reading lies between two steps.
            let before = self.before(moment).filter(|before| !before.is_apart(moment));
            return before.unwrap_or(moment.line());
        }
        if line != Line::NONE {
            let began_ns = self.began_ns.load(Ordering::Relaxed);
            let stepped_ns = stepped_at(line, began_ns, moment, self.seen_ns());
            let next_until_ns = stepped_ns.saturating_add(FOLLOWED_NS);
            if moment.elapsed_ns >= until_ns {
                self.before.store(line.0, Ordering::Relaxed);
                self.before_until_ns.store(next_until_ns, Ordering::Relaxed);
            }
            self.until_ns.store(next_until_ns, Ordering::Relaxed);
        }
        self.began_ns.store(moment.elapsed_ns, Ordering::Relaxed);
        // ORDERING: Release, pairs with the Acquire in `current`: publishes the stores above.
        self.now.store(moment.line().0, Ordering::Release);
        moment.line()
    }

    /// Returns the line of spans that are not listed, unless the step is too long ago.
    fn before(&self, moment: Moment) -> Option<Line> {
        // ORDERING: Relaxed, because `current` is called before. If a new series of steps has
        // stored only one of the two, only a thread that was held up since the last series passes
        // this test. It gets the line before the new series, as it would a moment later too.
        (moment.elapsed_ns < self.before_until_ns.load(Ordering::Relaxed))
            .then(|| Line(self.before.load(Ordering::Relaxed)))
    }

    /// Returns the elapsed time at which the last step was seen, by a span that started after it or
    /// by a look at the wall clock; or 0, which is before all times, if none was seen.
    pub(crate) fn stepped_ns(&self) -> u64 {
        // ORDERING: Relaxed, because an older value does no harm.
        let by_span_ns = self.until_ns.load(Ordering::Relaxed).saturating_sub(FOLLOWED_NS);
        by_span_ns.max(self.seen_ns().unwrap_or(0))
    }

    /// Returns the elapsed time at which tach-core last saw a step. It looks at the system's clock.
    fn seen_ns(&self) -> Option<u64> {
        adapter::last_wall_step_ns().filter(|_| self.origin.is_none())
    }
}

/// Returns the elapsed time of the step that `moment` finds, if tach-core last saw one at
/// `seen_ns`. A step that was seen before the line began is not part of the distance.
fn stepped_at(line: Line, began_ns: u64, moment: Moment, seen_ns: Option<u64>) -> u64 {
    let is_sure = line.distance_ns(moment) >= SURE_STEP_NS;
    let seen_ns = seen_ns.filter(|seen_ns| is_sure && *seen_ns >= began_ns);
    seen_ns.map_or(moment.elapsed_ns, |ns| ns.min(moment.elapsed_ns))
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
            state.of_span(moment, &Context::new()).0.0 / S
        };
        assert_eq!(start(1, 1000), 1000);
        assert_eq!(start(3, 5000), 5000);
        assert_eq!(start(2, 1000), 1000, "before the step");
        assert_eq!(start(4, 5000), 5000, "the step stands");
        assert_eq!((start(11, 6000), start(20, 7000)), (6000, 7000), "a series of steps");
        assert_eq!(start(19, 6000), 6000, "before the last");
        assert_eq!(start(12, 6000), 6000, "before the last, and children follow a line of 1000");
        assert_eq!(start(21, 7000), 7000);
        assert_eq!(state.stepped_ns(), 20 * S);
    }

    /// A process has no spans for an hour after its clock was set.
    #[test]
    fn a_step_counts_from_the_moment_at_which_it_was_seen() {
        let line = Line(1000 * S);
        let at = |elapsed_ns, ahead_ns| Moment {
            elapsed_ns,
            unix_ns: line.ns_at(elapsed_ns) + ahead_ns,
        };
        let began_ns = 40 * S;
        for (ahead_ns, seen_ns, expected_ns, why) in [
            (S, Some(50 * S), 50 * S, "seen an hour ago"),
            (S, Some(began_ns), began_ns, "seen when the line began"),
            (
                S,
                Some(began_ns - 1),
                3650 * S,
                "seen before, so it is another: this one is not seen",
            ),
            (S, None, 3650 * S, "not seen: the clock is not the system's"),
            (S, Some(3651 * S), 3650 * S, "seen after the moment was read"),
            (SURE_STEP_NS, Some(50 * S), 50 * S, "just a step"),
            (SURE_STEP_NS - 1, Some(50 * S), 3650 * S, "maybe no step"),
        ] {
            let moment = at(3650 * S, ahead_ns);
            assert_eq!(stepped_at(line, began_ns, moment, seen_ns), expected_ns, "{why}");
        }
    }
}
