//! The line that the times of one span are on, so that steps of the wall clock don't distort the
//! trace.

use core::time::Duration;

use tach_core::{Instant, UnixTime};

use tach_record::frame::Time;

/// If the wall clock was stepped by this much or more, spans that start later may begin a new line,
/// which follows the wall clock.
const STEP: Duration = Duration::from_millis(1);
/// How long new spans of a trace stay on their parent's line even if the wall clock was stepped.
/// Most requests end within this time.
const FOLLOWED: Duration = Duration::from_secs(10);

/// Converts the instants of one span to Unix time. The line of a span begins at a point on the line
/// of the parent, so that a step of the wall clock does not distort the trace.
///
/// A line counts from the start of its own span. If it counted from the start of the trace, which
/// may be minutes ago, the error of the clock's rate could be longer than a short span.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// When the first span of the trace started.
    pub(super) began: Instant,
    /// When the span started.
    pub(super) since: Instant,
    /// The Unix time of `since`.
    pub(super) start: UnixTime,
}

impl Line {
    /// Returns the Unix time of a record that happened at `time`. The wall clock showed `wall` at
    /// that moment.
    pub(super) fn unix_time(self, time: Time, wall: UnixTime) -> UnixTime {
        let Time::Ticks(instant) = time else { return wall };
        match instant.checked_duration_since(self.since) {
            Some(after) => self.start.saturating_add(after),
            None => self.start.saturating_sub(self.since.saturating_duration_since(instant)),
        }
    }

    /// Returns the line of a span. It started at `since`, and its trace at `began`.
    /// `wall` returns what the wall clock showed at a time. If the clock was stepped since the trace
    /// began, and the trace was young, the line begins on the line of the trace.
    #[inline]
    pub(super) fn of(since: Time, began: Time, wall: impl Fn(Time) -> UnixTime) -> Self {
        let own = Self::of_start(None, since, wall(since));
        if since == began {
            return own;
        }
        let root = Self::of_start(None, began, wall(began));
        let followed = Self::of_start(Some(root), since, own.start);
        // Without a step, prefer the clock's own history: it is more exact than the rate since the
        // trace began.
        if followed.is_off(own.start) { followed } else { own }
    }

    fn is_off(self, wall: UnixTime) -> bool {
        self.start.max(wall).checked_duration_since(self.start.min(wall)) >= Some(STEP)
    }

    /// Returns the line of a span that starts at `time`, when the wall clock showed `wall`. The
    /// line begins on the parent's line, unless the trace began long ago and the wall clock was
    /// stepped since.
    pub(super) fn of_start(parent: Option<Self>, time: Time, wall: UnixTime) -> Self {
        let Time::Ticks(instant) = time else {
            let zero = Instant::from_ticks(0);
            return Self { began: zero, since: zero, start: wall };
        };
        let own = Self { began: instant, since: instant, start: wall };
        let Some(parent) = parent else { return own };
        let age = instant.saturating_duration_since(parent.began);
        let start = parent.unix_time(time, wall);
        let expected = Self { began: parent.began, since: instant, start };
        if age > FOLLOWED && expected.is_off(wall) { own } else { expected }
    }
}
