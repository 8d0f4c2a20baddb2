//! One open span: its records, the bound on how many more are kept, and the line that its times are
//! on, so that steps of the wall clock don't distort the trace.

use core::mem;
use core::time::Duration;
use std::borrow::Cow;

use tach_core::{Instant, UnixTime};

use crate::spans::span::{Dropped, MOST_EVENTS, Span};
use crate::spans::status::Status;
use tach_record::frame::{self, Lost, SpanPart, Time, What};
use tach_record::ids::SpanContext;
use tach_record::queue::QueueId;

/// The most bytes of texts in a record of a span. A longer record is cut.
const MOST_TEXT: usize = 256 * 1024;
/// The most bytes of a span after its start, with the specification's limit of events. Later
/// events, values and links are dropped.
pub(super) const MOST_BYTES: usize = 256 * 1024;
/// With a higher limit of events, as many bytes more for each further event, up to `HIGHEST`.
const EVENT_BYTES: usize = 256;
const HIGHEST: usize = 3 * 1024 * 1024;
/// Further bytes, only for values that set the status.
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

/// A span between its start and its end, or of which parts were taken and no start yet.
pub(crate) struct Open {
    pub(crate) context: SpanContext,
    pub(super) line: Line,
    /// Whether the start was taken. Before, `line` and `queue` have no meaning, and the records have
    /// the times with which they were logged.
    pub(crate) is_begun: bool,
    /// How many records were added that count as records without a span if no start comes.
    pub(super) unplaced: u64,
    /// The queue of the thread on which the span started.
    queue: QueueId,
    pub(crate) records: Vec<u8>,
    /// How many bytes of `records` do not count towards `MOST_BYTES`: those of the start and the
    /// parent.
    uncounted: usize,
    pub(super) has_values: bool,
    pub(super) events: u32,
    pub(crate) dropped: Dropped,
    /// Whether the span was already passed on as unfinished.
    pub(crate) is_passed_on: bool,
}

impl Open {
    /// Creates a span without records. `records` is an empty buffer.
    pub(super) fn new(context: SpanContext, line: Line, queue: QueueId, records: Vec<u8>) -> Self {
        Self {
            context,
            line,
            is_begun: true,
            unplaced: 0,
            queue,
            records,
            uncounted: 0,
            has_values: false,
            events: 0,
            dropped: Dropped::default(),
            is_passed_on: false,
        }
    }

    /// Creates a span of which no start was taken. `records` is an empty buffer.
    pub(super) fn unbegun(context: SpanContext, queue: QueueId, records: Vec<u8>) -> Self {
        let zero = Instant::from_ticks(0);
        let line = Line { began: zero, since: zero, start: UnixTime::EPOCH };
        Self { is_begun: false, ..Self::new(context, line, queue, records) }
    }

    /// Begins the span with the record of its start, before the records that were taken.
    pub(super) fn begin(
        &mut self,
        (context, line, queue): (SpanContext, Line, QueueId),
        record: &[u8],
    ) {
        (self.context, self.line, self.queue, self.is_begun) = (context, line, queue, true);
        let before = self.records.len();
        self.records.resize(before + record.len(), 0);
        self.records.copy_within(..before, record.len());
        self.uncounted += record.len();
        let (start, mut rest) = self.records.split_at_mut(record.len());
        start.copy_from_slice(record);
        frame::set_time(start, line.start);
        while let Some(length) = frame::split(rest).map(|(record, _)| record.len()) {
            let (part, after) = mem::take(&mut rest).split_at_mut(length);
            let time = frame::time(part).unwrap_or(Time::Unix(line.start));
            frame::set_time(part, line.unix_time(time, time.unix_time()));
            rest = after;
        }
    }

    /// Returns the time of a record that happened at `time`, when the wall clock showed `wall`, on
    /// the span's line, or `None` before the span has begun.
    fn time(&self, time: Time, wall: UnixTime) -> Option<UnixTime> {
        self.is_begun.then(|| self.line.unix_time(time, wall))
    }

    /// Adds a start or a parent, which don't count towards the bound. There are at most two starts
    /// and one parent in a span.
    pub(super) fn uncounted(&mut self, record: &[u8], time: impl Into<Option<UnixTime>>) {
        self.push(record, time.into());
        self.uncounted += record.len();
    }

    /// Adds a parent, values or a link. If there is no room, counts the values or the link as
    /// dropped, and returns `false`. The wall clock showed `wall` when the part was recorded.
    pub(super) fn part(
        &mut self,
        part: &SpanPart<'_>,
        record: &[u8],
        wall: UnixTime,
        bounds: Bounds,
    ) -> bool {
        let time = self.time(part.time, wall);
        match part.what {
            What::Parent(parent) => {
                self.context.trace = parent.context.trace;
                self.uncounted(record, time);
                return true;
            }
            _ if self.has_room(record, bounds)
                || self.has_room_for_status(part, record, bounds) =>
            {
                self.has_values |= matches!(part.what, What::Values);
                self.push(record, time);
                return true;
            }
            What::Link(_) => self.dropped.add(Lost { links: 1, ..Lost::default() }),
            What::Values => self.dropped.add(Lost::of_values(&part.fields)),
            _ => {}
        }
        false
    }

    /// Adds an event. If there is no room, counts the event as dropped.
    pub(super) fn event(&mut self, record: &[u8], wall: UnixTime, bounds: Bounds) {
        let (record, _) = &bounded(record);
        let is_within = self.events < bounds.events || frame::is_error(record);
        if is_within && self.has_room(record, bounds) {
            let happened = frame::time(record).unwrap_or(Time::Unix(wall));
            self.push(record, self.time(happened, wall));
            self.events += 1;
        } else {
            self.dropped.event(record);
        }
    }

    /// Appends a record, with its time replaced by `time` if there is one.
    fn push(&mut self, record: &[u8], time: Option<UnixTime>) {
        let start = self.records.len();
        self.records.extend_from_slice(record);
        if let Some(time) = time {
            frame::set_time(&mut self.records[start..], time);
        }
    }

    /// Returns the latest time of a record.
    pub(super) fn last_time(&self) -> UnixTime {
        let records = frame::split_all(&self.records);
        let times = records.filter_map(|record| Some(frame::time(record)?.unix_time()));
        times.max().unwrap_or(self.line.start)
    }

    /// Returns the span as ended at `end` by a record from `queue`, or without such a record if it
    /// was dropped. If `is_unfinished`, returns the span as still open at `end`.
    pub(crate) fn span<'a>(
        &'a self,
        end: UnixTime,
        queue: Option<QueueId>,
        redacted: &'a [String],
        is_unfinished: bool,
    ) -> Span<'a> {
        Span {
            context: self.context,
            start: self.line.start,
            end: end.max(self.line.start),
            is_unfinished,
            records: &self.records,
            has_values: self.has_values,
            has_end: queue.is_some(),
            is_on_one_thread: queue.is_none_or(|queue| queue == self.queue),
            dropped: self.dropped,
            redacted,
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

    /// Returns the line of a span that has ended. It started at `since`, and its trace at `began`.
    /// `wall` returns what the wall clock showed at a time. If the clock was stepped since the trace
    /// began, and the trace was young, the line begins on the line of the trace.
    #[inline]
    pub(super) fn of_ended(since: Time, began: Time, wall: impl Fn(Time) -> UnixTime) -> Self {
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
