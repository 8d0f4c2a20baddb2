//! One open span: its records, the bounds on further records, and the line that converts its times,
//! so that steps of the wall clock don't distort the trace.

use core::mem;
use core::time::Duration;
use std::borrow::Cow;

use tach_core::{Instant, UnixTime};

use crate::spans::span::{Dropped, MOST_EVENTS};
use crate::spans::status::Status;
use tach_record::frame::{self, Lost, SpanPart, Time, What};

/// The most bytes of texts in a record of a span. A longer record is cut.
const MOST_TEXT: usize = 256 * 1024;
/// The most bytes of a span after its start, with the specification's limit of events. Later
/// events, values and links are dropped.
pub(super) const MOST_BYTES: usize = 256 * 1024;
/// With a limit of events above the specification's, each further event adds this many bytes, up to
/// `HIGHEST`.
const EVENT_BYTES: usize = 256;
const HIGHEST: usize = 3 * 1024 * 1024;
/// A reserve for values that set the status, so that a span without room can still end as an error.
pub(super) const RESERVED: usize = 16 * 1024;

/// If the wall clock was stepped by this much or more, spans that start later may begin a new line,
/// which follows the wall clock.
const STEP: Duration = Duration::from_millis(1);
/// How long new spans of a trace stay on their parent's line even if the wall clock was stepped.
/// Most requests end within this time.
const FOLLOWED: Duration = Duration::from_secs(10);

/// The bounds of a span after its start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The most events. Errors are kept even beyond that, since they set the status.
    events: u32,
    bytes: usize,
}

impl Bounds {
    /// Returns the bounds with a limit of events.
    pub(super) fn new(events: u32) -> Self {
        let further = usize::try_from(events.saturating_sub(MOST_EVENTS)).unwrap_or(usize::MAX);
        let bytes = MOST_BYTES.saturating_add(further.saturating_mul(EVENT_BYTES)).min(HIGHEST);
        Self { events, bytes }
    }
}

/// Returns the record, or a copy with shorter texts if it is too long, and how many bytes were cut
/// off.
pub(super) fn bounded(record: &[u8]) -> (Cow<'_, [u8]>, u64) {
    if record.len() > MOST_TEXT {
        if let Some((record, lost)) = frame::shortened(record, MOST_TEXT) {
            return (record.into(), lost);
        }
    }
    (record.into(), 0)
}

/// The parts and the events of a span whose own record has not come yet.
#[derive(Clone)]
pub(crate) struct Open {
    /// The trace that the span was moved to.
    pub(super) moved_to: Option<u128>,
    /// How many of the records count as records without a span if no record of the span comes.
    pub(super) unplaced: u64,
    /// The records. Their times are as the calls logged them, so some are ticks.
    pub(crate) records: Vec<u8>,
    /// How many bytes of `records` don't count towards the bound: those of a parent that was set
    /// later, which always finds room.
    uncounted: usize,
    /// How many parts have values.
    pub(super) values: u32,
    pub(super) events: u32,
    pub(crate) dropped: Dropped,
    /// Whether the record of the span may never come. `rounds` counts the rounds since the span was
    /// found closed.
    pub(super) is_doubtful: bool,
    pub(super) rounds: u32,
}

impl Open {
    /// Creates a span without records. `records` is an empty buffer.
    pub(super) fn new(records: Vec<u8>) -> Self {
        Self {
            moved_to: None,
            unplaced: 0,
            records,
            uncounted: 0,
            values: 0,
            events: 0,
            dropped: Dropped::default(),
            is_doubtful: true,
            rounds: 0,
        }
    }

    /// Inserts the record of the span before the records that came earlier, and converts their
    /// times by the line of the span.
    pub(super) fn begin(&mut self, line: Line, record: &[u8]) {
        let before = self.records.len();
        self.records.resize(before + record.len(), 0);
        self.records.copy_within(..before, record.len());
        let (start, mut rest) = self.records.split_at_mut(record.len());
        start.copy_from_slice(record);
        while let Some(length) = frame::split(rest).map(|(record, _)| record.len()) {
            let (part, after) = mem::take(&mut rest).split_at_mut(length);
            let time = frame::time(part).unwrap_or(Time::Unix(line.start));
            frame::set_time(part, line.unix_time(time, time.unix_time()));
            rest = after;
        }
    }

    /// Adds a parent, values or a link. If there is no room, counts the values or the link as
    /// dropped, and returns `false`.
    pub(super) fn part(&mut self, part: &SpanPart<'_>, record: &[u8], bounds: Bounds) -> bool {
        match part.what {
            What::Parent(parent) => {
                self.moved_to = Some(parent.context.trace);
                self.records.extend_from_slice(record);
                // There is at most one parent, so it needs no bound.
                self.uncounted += record.len();
                return true;
            }
            _ if self.has_room(record, bounds)
                || self.has_room_for_status(part, record, bounds) =>
            {
                self.values += u32::from(matches!(part.what, What::Values));
                self.records.extend_from_slice(record);
                return true;
            }
            What::Link(_) => self.dropped.add(Lost { links: 1, ..Lost::default() }),
            What::Values => self.dropped.add(Lost::of_values(&part.fields)),
            _ => {}
        }
        false
    }

    /// Adds an event. If there is no room, counts the event as dropped.
    pub(super) fn event(&mut self, record: &[u8], bounds: Bounds) {
        let (record, _) = &bounded(record);
        let is_within = self.events < bounds.events || frame::is_error(record);
        if is_within && self.has_room(record, bounds) {
            self.records.extend_from_slice(record);
            self.events += 1;
        } else {
            self.dropped.event(record);
        }
    }

    fn has_room(&self, record: &[u8], bounds: Bounds) -> bool {
        self.bytes_with(record) <= bounds.bytes
    }

    /// Returns whether a part contains values that set the status, and there is room for them in
    /// the reserve.
    fn has_room_for_status(&self, part: &SpanPart<'_>, record: &[u8], bounds: Bounds) -> bool {
        let mut fields = part.fields.parts().filter_map(|(key, value)| Some((key, value?)));
        matches!(part.what, What::Values)
            && self.bytes_with(record) <= bounds.bytes + RESERVED
            && fields.any(|(key, value)| Status::default().field(key, value))
    }

    /// Returns how many bytes would count towards the bound after one more record.
    fn bytes_with(&self, record: &[u8]) -> usize {
        self.records.len() - self.uncounted + record.len()
    }
}

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
