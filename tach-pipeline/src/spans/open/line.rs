//! The times of a trace's spans, whatever happens to the wall clock meanwhile.

use core::time::Duration;

use tach_core::{Instant, UnixTime};

use crate::frame::Time;

/// If the wall clock was stepped by as much, spans that start later count on another line.
const STEP: Duration = Duration::from_millis(1);
/// How long the spans of a trace count on one line nevertheless: as long as requests last.
const FOLLOWED: Duration = Duration::from_secs(10);

/// Converts the instants of one span to Unix time. The line of a span begins on the line of its
/// parent, so that no step of the wall clock bends a trace.
///
/// A line counts from the start of its own span. From the start of the trace, minutes ago, the
/// error of the clock's rate could exceed the length of a short span.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// When the first span of the trace started.
    pub(super) began: Instant,
    /// When the span started.
    pub(super) since: Instant,
    /// The Unix time of that.
    pub(super) start: UnixTime,
}

impl Line {
    /// Returns the Unix time of a record that happened at `time`, which the wall clock has at
    /// `wall`.
    pub(super) fn unix_time(self, time: Time, wall: UnixTime) -> UnixTime {
        let Time::Ticks(instant) = time else { return wall };
        match instant.checked_duration_since(self.since) {
            Some(after) => self.start.saturating_add(after),
            None => self.start.saturating_sub(self.since.saturating_duration_since(instant)),
        }
    }

    /// Returns the line of a span that starts at `time`, which the wall clock has at `wall`. The
    /// line begins on the line of its parent, unless the clock was stepped long after the parent's
    /// trace began.
    pub(super) fn of_start(parent: Option<Self>, time: Time, wall: UnixTime) -> Self {
        let Time::Ticks(instant) = time else {
            let zero = Instant::from_ticks(0);
            return Self { began: zero, since: zero, start: wall };
        };
        let own = Self { began: instant, since: instant, start: wall };
        let Some(parent) = parent else { return own };
        let age = instant.saturating_duration_since(parent.began);
        let expected = parent.unix_time(time, wall);
        let off = expected.max(wall).checked_duration_since(expected.min(wall));
        if age > FOLLOWED && off >= Some(STEP) {
            own
        } else {
            Self { began: parent.began, since: instant, start: expected }
        }
    }
}
