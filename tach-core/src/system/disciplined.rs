//! The process's two timelines with their clocks, and the answers to their questions.

use core::ops::Deref;

use crossbeam_utils::CachePadded;

use super::settle::{Witness, settle};
use super::{CLOCK, HOST, choice, counter_failed, enforce_order, manual, raw};
use crate::counter;
use crate::line::{Direction, Rate, shifted_tick};
use crate::os;
use crate::sample::{ClockPair, CounterFailure, LOOK_NS};
use crate::source::{Chosen, Mode};
use crate::timeline::{Question, Round, Timeline};

/// Ticks to elapsed time, which the OS's monotonic clock disciplines.
pub(crate) const MONOTONIC: Disciplined =
    Disciplined { timeline: || &CLOCK.monotonic, clocks: &Clocks::Monotonic };
/// Ticks to Unix time, which the OS's real-time clock disciplines.
pub(crate) const REALTIME: Disciplined =
    Disciplined { timeline: || &REALTIME_TIMELINE, clocks: &Clocks::Realtime };

static REALTIME_TIMELINE: CachePadded<Timeline> = CachePadded::new(Timeline::new());

/// One of the process's timelines, with the clocks that it relates.
#[derive(Clone, Copy)]
pub(crate) struct Disciplined {
    /// A function, since Rust 1.85 lets no constant refer to a static that changes.
    pub(super) timeline: fn() -> &'static Timeline,
    pub(super) clocks: &'static Clocks,
}

impl Deref for Disciplined {
    type Target = Timeline;

    #[inline]
    fn deref(&self) -> &Timeline {
        (self.timeline)()
    }
}

impl Disciplined {
    #[inline]
    pub(crate) fn ns_at(&self, tick: u64) -> u64 {
        match self.current.ns_at(tick) {
            Some(ns) => ns,
            None => self.ns_at_elsewhere(tick),
        }
    }

    /// Returns the time at `tick` by any line. Outlined, so that [`ns_at`](Self::ns_at) needs no
    /// stack.
    #[cold]
    #[inline(never)]
    fn ns_at_elsewhere(&self, tick: u64) -> u64 {
        if let Some(unix_ns) = manual::unix_ns_at(tick) {
            // A manual clock starts at `START`, and so does the uptime.
            let since_start = || tick - manual::START + self.origin_ns().unwrap_or(0);
            return if self.clocks.keeps_offset() { since_start() } else { unix_ns };
        }
        if let Some(past) = self.past_stretch(tick) {
            return past.line.exact_ns_at(tick).0;
        }
        self.settle(|round| self.try_ns_at(tick, round))
    }

    /// Returns the shifted time at `tick`. Both may be before zero.
    #[allow(dead_code, reason = "for the standard library's instants, which are not everywhere")]
    pub(super) fn shifted_ns_at(&self, tick: u64) -> u64 {
        manual::refuse_tick(tick);
        let known = self.known_line(tick);
        let line = known.unwrap_or_else(|| self.settle(|round| self.find(tick, round)));
        line.shifted().exact_ns_at(shifted_tick(tick)).0
    }

    /// Returns the time from `earlier` to `later` in ns, by any lines; zero if they come the other
    /// way round.
    #[cold]
    #[inline(never)]
    pub(super) fn ns_between(&self, earlier: u64, later: u64) -> u64 {
        manual::ns_between(earlier, later)
            .unwrap_or_else(|| self.settle(|round| self.try_ns_between(earlier, later, round)))
    }

    /// Returns the tick that is `ns` from `tick`, by any lines; `None` outside the range of ticks.
    #[inline]
    pub(super) fn sum(&self, tick: u64, ns: u64, direction: Direction) -> Option<u64> {
        if manual::is_reserved(tick) {
            return manual::sum(tick, ns, direction);
        }
        let known = self.known_sum(tick, ns, direction);
        let sum = known.or_else(|| self.settle(|round| self.try_sum(tick, ns, direction, round)));
        sum.filter(|&sum| !manual::is_reserved(sum))
    }

    /// Looks at the OS clock if that is due at `tick`, which was just read.
    #[cold]
    fn look(&self, tick: u64) {
        self.settle(|round| self.try_look(tick, round));
    }

    /// Reads the tick with `read` and the source in force. If a look at the OS clock is due, looks
    /// first.
    pub(super) fn checked(&self, read: fn(Chosen) -> u64) -> u64 {
        let mut chosen = raw::in_force();
        loop {
            let tick = read(chosen);
            if self.current.expects(tick) {
                return tick;
            }
            self.look(tick);
            let now = choice().get();
            if now == chosen {
                return tick;
            }
            // The look replaced the source. The new source's ticks need a look too: a difference
            // would treat a tick beyond the line in use as a prediction.
            chosen = now;
        }
    }

    /// Looks at the OS clock now.
    pub(super) fn sync(&self) {
        self.settle(|round| self.try_sync(round));
    }

    /// Returns the present tick, and how far the timeline may be from the OS clock there, in ns.
    pub(crate) fn bound(&self) -> (u64, u64) {
        self.settle(|round| self.try_bound(round))
    }

    /// Repeats `attempt` until no question is left. If the timeline counted an event, then asks the
    /// OS for suspends.
    #[inline]
    fn settle<T>(&self, attempt: impl FnMut(&Round<'_>) -> Result<T, Question>) -> T {
        let result = settle(self.clocks, self.clocks, attempt);
        if self.take_counted_event() {
            see_suspends();
        }
        result
    }
}

/// Counts a suspend if there was one.
#[cold]
#[inline(never)]
fn see_suspends() {
    // Keep errno: `suspended_ns` sets it if the kernel lacks the boot-time clock.
    os::keeping_errno(|| {
        if HOST.see_suspends(os::suspended_ns(), raw::unchecked()) {
            enforce_order();
        }
    });
}

/// The chosen source beside one of the OS's clocks.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Clocks {
    /// The clock behind `std::time::Instant`.
    Monotonic,
    Realtime,
    /// The clock that counts suspends.
    Boot,
}

impl ClockPair for Clocks {
    fn ticks(&self) -> u64 {
        raw::unchecked()
    }

    fn os_ns(&self) -> Option<u64> {
        match self {
            Self::Monotonic => os::monotonic_ns(),
            Self::Realtime => os::realtime_ns(),
            Self::Boot => os::boot_ns(),
        }
    }

    fn is_identity(&self) -> bool {
        *self == Self::Monotonic && choice().mode() == Mode::Os
    }

    fn reads_counter(&self) -> bool {
        choice().mode().reads_counter()
    }

    /// Elapsed time and boot time that went back would break the order of instants on one thread.
    fn keeps_offset(&self) -> bool {
        *self != Self::Realtime
    }

    /// If ticks stand still while the machine sleeps, they don't show a sleep: instants then
    /// convert to a time before the sleep until the next look, which must come soon.
    fn look_ns(&self) -> u64 {
        const SOON_NS: u64 = 1_000_000;
        if *self != Self::Monotonic && raw::stands_in_sleep() { SOON_NS } else { LOOK_NS }
    }

    fn resolution_ns(&self) -> u64 {
        if *self == Self::Realtime { os::realtime_resolution_ns() } else { os::resolution_ns() }
    }

    fn declared_hz(&self) -> Option<u64> {
        if self.reads_counter() { counter::declared_hz() } else { None }
    }
}

impl Witness for Clocks {
    fn counter_failed(&self, failure: CounterFailure) {
        counter_failed(failure);
    }

    /// Asks the real-time clock about the monotonic one: in another time namespace only the
    /// monotonic clock differs, but if a counter has lost ticks, both clocks are ahead of it.
    ///
    /// Boot time has to follow every forward step of its clock: such a step is a suspend in which
    /// the ticks stood. So the boot-time clock never counts as having jumped alone.
    fn has_clock_jumped(&self, ahead_ns: u64, rate: Rate, since: u64) -> bool {
        let undisturbed =
            |round: &Round<'_>| REALTIME.try_is_undisturbed(since, ahead_ns, rate, round);
        *self == Self::Monotonic && REALTIME.settle(undisturbed)
    }

    /// Returns the monotonic timeline's rate. Nobody sets that clock, so two of its samples show
    /// the rate. Two samples of another clock may differ by a step.
    fn known_rate(&self) -> Option<(Rate, u32)> {
        if *self == Self::Monotonic {
            return None;
        }
        MONOTONIC.settle(|round| MONOTONIC.try_rate(round))
    }
}
