//! The times of a span that is open.

use core::time::Duration;
use std::time::SystemTime;

use opentelemetry::trace::Span;
use tach_core::{Clock, Instant, event_time};

use super::ClockedSpan;
use crate::given::{self, MOMENT_NS};
use crate::line::ERROR_NS;
use crate::present::{Present, system_time, unix_ns};

/// The longest distance of an end before its span's start that clocks may cause: longer than two
/// steps that follow each other at once.
const FAR: Duration = Duration::from_secs(60);

impl<S: Span, C: Clock> ClockedSpan<S, C> {
    /// Returns the current time, which is not before any read that happened before this one.
    #[inline]
    pub(super) fn now(&self) -> SystemTime {
        self.time_at(self.clock.monotonic_now())
    }

    #[inline]
    pub(super) fn time_at(&self, instant: Instant) -> SystemTime {
        system_time(self.line_ns(instant)).max(self.start)
    }

    /// Returns the line's time at `instant`, which may be before a start that was given.
    #[inline]
    fn line_ns(&self, instant: Instant) -> u64 {
        self.line.ns_at(self.lines.elapsed_ns(&self.clock, instant))
    }

    /// Returns the span's time for `given`, or `None` if `given` is kept. `instant` is an early
    /// read.
    #[inline]
    pub(super) fn moved(&self, given: SystemTime, instant: Instant) -> Option<SystemTime> {
        if given::is_just_before(given, system_time(self.line_ns(instant))) {
            return None;
        }
        self.moved_apart(given, instant)
    }

    /// Like [`moved`](Self::moved), for a time that is not the line's present. The wall clock is
    /// ahead or behind by tach's error until tach's next look at the OS's clocks, and by more after
    /// a step.
    #[inline(never)]
    fn moved_apart(&self, given: SystemTime, instant: Instant) -> Option<SystemTime> {
        let moment = self.lines.moment(&self.clock, instant);
        let unix = system_time(moment.unix_ns);
        let (is_past, is_ahead) =
            (given::is_just_before(given, unix), given::is_just_before(unix, given));
        if !is_past && !is_ahead {
            return self.moved_by_age(given, instant);
        }
        if !self.line.is_off(moment) {
            return None;
        }
        // Read the clock again: `instant` was read early, and an event may have come in between.
        Some(if is_past { self.time_at(instant) } else { self.now() })
    }

    #[cold]
    fn moved_by_age(&self, given: SystemTime, instant: Instant) -> Option<SystemTime> {
        let present = Present::read(&self.clock, self.lines, self.line, instant);
        let moved = present.moved(given, unix_ns(self.start));
        moved.map(|ns| system_time(ns).max(self.start))
    }

    /// Returns the event time for an event that tach read at `now`, unless the event time is long
    /// ago, or the wall clock has left the span's line.
    pub(super) fn event_time(&self, now: SystemTime) -> Option<SystemTime> {
        let event = event_time::current()?.unix_time();
        if self.line.is_off(self.lines.moment(&self.clock, self.clock.early_now())) {
            return None;
        }
        let now_ns = unix_ns(now);
        let is_recent = (now_ns.saturating_sub(MOMENT_NS)..=now_ns).contains(&event.as_nanos());
        is_recent.then(|| SystemTime::from(event).max(self.start))
    }

    /// Returns the event time if `given` was read from the wall clock since a recent event time
    /// began, unless the wall clock has left the span's line. (The caller chose any other time.)
    /// `given` is a time that [`moved`](Self::moved) keeps, and `instant` is the present.
    pub(super) fn event_time_of(&self, given: SystemTime, instant: Instant) -> Option<SystemTime> {
        let event = event_time::current()?.unix_time();
        let (event_ns, given_ns) = (event.as_nanos(), unix_ns(given));
        let moment = self.lines.moment(&self.clock, instant);
        if self.line.is_off(moment) {
            return None;
        }
        let now_ns = moment.unix_ns;
        let latest_ns = now_ns.saturating_add(ERROR_NS);
        let is_recent = (now_ns.saturating_sub(MOMENT_NS)..=latest_ns).contains(&event_ns);
        let is_of_event = (event_ns.saturating_sub(ERROR_NS)..=latest_ns).contains(&given_ns);
        (is_recent && is_of_event).then(|| SystemTime::from(event).max(self.start))
    }

    /// Returns an end that is kept, but not one just before a start that tach read: the clocks'
    /// error, or two steps before tach saw one, would make a negative duration, which breaks back
    /// ends.
    #[inline]
    pub(super) fn kept_end(&self, given: SystemTime) -> SystemTime {
        if self.is_start_given || self.start <= given {
            return given;
        }
        let is_far = self.start.duration_since(given).is_ok_and(|before| before > FAR);
        if is_far { given } else { self.start }
    }
}
