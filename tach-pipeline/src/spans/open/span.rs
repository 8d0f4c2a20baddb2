//! One open span: its records, and the bound on how many more are kept.

use tach_core::UnixTime;

use super::line::Line;
use crate::frame::{self, SpanPart, Time, What};
use crate::ids::SpanContext;
use crate::queue::QueueId;
use crate::spans::span::{Dropped, Span};
use crate::spans::status::Status;

/// The most bytes of a span after its start. Later events, values and links are dropped.
pub(super) const MOST_BYTES: usize = 256 * 1024;
/// Further bytes beyond `MOST_BYTES`, only for values that set the status.
pub(super) const RESERVED: usize = 16 * 1024;

/// A span between its start and its end.
pub(super) struct Open {
    pub(super) context: SpanContext,
    pub(super) line: Line,
    /// The queue of the thread on which the span started.
    queue: QueueId,
    pub(super) records: Vec<u8>,
    /// How many bytes of `records` do not count towards `MOST_BYTES`: those of the start and the
    /// parent.
    uncounted: usize,
    has_values: bool,
    pub(super) events: u32,
    pub(super) dropped: Dropped,
    /// Whether the span was already passed on as unfinished.
    pub(super) is_passed_on: bool,
}

impl Open {
    /// Creates a span without records. `records` is an empty buffer.
    pub(super) fn new(context: SpanContext, line: Line, queue: QueueId, records: Vec<u8>) -> Self {
        Self {
            context,
            line,
            queue,
            records,
            uncounted: 0,
            has_values: false,
            events: 0,
            dropped: Dropped::default(),
            is_passed_on: false,
        }
    }

    /// Adds a start or a parent, which don't count towards the bound. There are at most two starts
    /// and one parent in a span.
    pub(super) fn uncounted(&mut self, record: &[u8], time: UnixTime) {
        self.push(record, time);
        self.uncounted += record.len();
    }

    /// Adds a parent, values or a link. If there is no room, counts the values or the link as
    /// dropped. The wall clock showed `wall` when the part was recorded.
    pub(super) fn part(&mut self, part: &SpanPart<'_>, record: &[u8], wall: UnixTime) {
        let time = self.line.unix_time(part.time, wall);
        match part.what {
            What::Parent(parent) => {
                self.context.trace = parent.context.trace;
                self.uncounted(record, time);
            }
            _ if self.has_room(record) || self.has_room_for_status(part, record) => {
                self.has_values |= matches!(part.what, What::Values);
                self.push(record, time);
            }
            What::Link(_) => self.dropped.links = self.dropped.links.saturating_add(1),
            What::Values => {
                let count = u32::try_from(part.fields.parts().count()).unwrap_or(u32::MAX);
                self.dropped.attributes = self.dropped.attributes.saturating_add(count);
            }
            _ => {}
        }
    }

    /// Adds an event. If there is no room, or there are `most` events already, counts the event as
    /// dropped. Errors are kept even beyond `most`, since they set the status.
    pub(super) fn event(&mut self, record: &[u8], wall: UnixTime, most: u32) {
        let is_within = self.events < most || frame::is_error(record);
        if is_within && self.has_room(record) {
            let happened = frame::time(record).unwrap_or(Time::Unix(wall));
            self.push(record, self.line.unix_time(happened, wall));
            self.events += 1;
        } else {
            self.dropped.event(record);
        }
    }

    /// Appends a record with its time replaced by `time`.
    fn push(&mut self, record: &[u8], time: UnixTime) {
        let start = self.records.len();
        self.records.extend_from_slice(record);
        frame::set_time(&mut self.records[start..], time);
    }

    /// Returns the span as ended at `end` by a record from `queue`. If `is_unfinished`, returns the
    /// span as still open at `end`.
    pub(super) fn span<'a>(
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
            has_end: !is_unfinished,
            is_on_one_thread: queue.is_none_or(|queue| queue == self.queue),
            dropped: self.dropped,
            redacted,
        }
    }

    fn has_room(&self, record: &[u8]) -> bool {
        self.bytes_with(record) <= MOST_BYTES
    }

    /// Returns whether a part contains values that set the status, and there is room for them in
    /// the reserve.
    fn has_room_for_status(&self, part: &SpanPart<'_>, record: &[u8]) -> bool {
        let mut fields = part.fields.parts().filter_map(|(key, value)| Some((key, value?)));
        matches!(part.what, What::Values)
            && self.bytes_with(record) <= MOST_BYTES + RESERVED
            && fields.any(|(key, value)| Status::default().field(key, value))
    }

    /// Returns how many bytes would count towards the bound after one more record.
    fn bytes_with(&self, record: &[u8]) -> usize {
        self.records.len() - self.uncounted + record.len()
    }
}
