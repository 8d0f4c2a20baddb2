//! Open spans, until they end.

#[cfg(all(test, feature = "otlp"))]
mod tests;

use core::mem;
use core::time::Duration;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;
use tach_core::{Instant, UnixTime};

use super::lost_ends::LostEnds;
use crate::buffers::Buffers;
use crate::frame::{self, Frame, RecordKind, SpanPart, Time, What};
use crate::ids::SpanContext;
use crate::queue::QueueId;
use crate::spans::span::{Dropped, Span};
use crate::spans::status::Status;
use crate::trace::Contexts;

/// The most bytes of a span after its start. Later events, values and links are dropped.
const MOST_BYTES: usize = 256 * 1024;
/// Bytes beyond, for values of the status.
const RESERVED: usize = 16 * 1024;
/// A buffer that is longer is freed when its span has ended.
const KEPT: usize = 4 * 1024;
/// If the wall clock was stepped by as much, spans that start later count on another line.
const STEP: Duration = Duration::from_millis(1);
/// How long the spans of a trace count on one line nevertheless: as long as requests last.
const FOLLOWED: Duration = Duration::from_secs(10);

pub(super) struct Spans {
    open: HashMap<u64, Open, RandomState>,
    /// Spans that have ended. A record of another thread may follow in the next round.
    ending: Vec<Ending>,
    /// Spans that ended in the round before.
    due: Vec<Ending>,
    /// Records whose spans were not known, to be tried once more in the next round.
    early: Vec<Early>,
    /// Records of the round before.
    retried: Vec<Early>,
    /// Records whose spans were not known twice.
    spanless: u64,
    lost_ends: LostEnds,
    buffers: Buffers,
    redacted: Vec<String>,
    /// The most events of a span. Beyond, those that may set its status are kept.
    most_events: u32,
    /// Whether the ends of spans that are not sampled are recorded too.
    takes_unsampled: bool,
}

/// A record, when it happened, and its queue if it is a part of a span.
type Early = (Vec<u8>, UnixTime, Option<QueueId>);

struct Open {
    context: SpanContext,
    start: UnixTime,
    line: Line,
    /// The queue of the thread on which it started.
    queue: QueueId,
    records: Vec<u8>,
    /// How many bytes of the records are not counted: those of the start and the parent.
    uncounted: usize,
    has_values: bool,
    events: u32,
    dropped: Dropped,
    /// Whether the span was passed on although it is open.
    is_passed_on: bool,
}

struct Ending {
    span: u64,
    end: UnixTime,
    /// The queue of the thread that ended it, or `None` if its end was found missing. Then this is
    /// not when it ended.
    queue: Option<QueueId>,
}

/// A line from instants to Unix time. A span's line begins on its parent's, so that no step of the
/// wall clock bends a trace.
///
/// It counts from the start of the span itself: the conversion of an instant that is minutes old
/// may change by as much as a short span takes.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// When the first span of the trace started.
    began: Instant,
    since: Instant,
    start: UnixTime,
}

impl Line {
    /// Returns the Unix time of a record that happened at `time`, which the wall clock has at
    /// `wall`.
    fn unix_time(self, time: Time, wall: UnixTime) -> UnixTime {
        let Time::Ticks(instant) = time else { return wall };
        match instant.checked_duration_since(self.since) {
            Some(after) => self.start.saturating_add(after),
            None => self.start.saturating_sub(self.since.saturating_duration_since(instant)),
        }
    }
}

impl Spans {
    pub(super) fn new(redacted: Vec<String>, most_events: u32, takes_unsampled: bool) -> Self {
        Self {
            open: HashMap::default(),
            ending: Vec::new(),
            due: Vec::new(),
            early: Vec::new(),
            retried: Vec::new(),
            spanless: 0,
            lost_ends: LostEnds::default(),
            buffers: Buffers::default(),
            redacted,
            most_events,
            takes_unsampled,
        }
    }

    /// Takes a part of a span, which happened at `time`, out of a queue.
    pub(super) fn part(&mut self, record: &[u8], time: UnixTime, queue: QueueId) {
        if !self.take_part(record, time, queue) {
            self.early.push((record.to_owned(), time, Some(queue)));
        }
    }

    /// Takes an event whose span is open, or has ended.
    pub(super) fn released(&mut self, record: &Frame<'_>, time: UnixTime) {
        if let Some(context) = record.context() {
            let _is_open = self.take_event(context.span, record.bytes, time);
        }
    }

    /// Takes an event that happened in a span.
    pub(super) fn event(&mut self, record: &Frame<'_>, time: UnixTime) {
        let Some(context) = record.context() else { return };
        if !self.take_event(context.span, record.bytes, time) {
            self.early.push((record.bytes.to_owned(), time, None));
        }
    }

    /// Begins a round.
    pub(super) fn begin_round(&mut self) {
        self.retried.append(&mut self.early);
        self.due.append(&mut self.ending);
    }

    /// Ends the round. Passes on the spans that ended in the round before: whatever happened in
    /// them has been taken since.
    pub(super) fn end_round(&mut self, mut finished: impl FnMut(&Span<'_>)) {
        let mut retried = mem::take(&mut self.retried);
        for (record, time, queue) in retried.drain(..) {
            let is_known = if let Some(queue) = queue {
                self.take_part(&record, time, queue)
            } else {
                let context = Frame::read(&record).and_then(|it| it.context());
                context.is_none_or(|it| self.take_event(it.span, &record, time))
            };
            // The start of a span that is still unknown was dropped, or the span has ended.
            self.spanless += u64::from(!is_known);
        }
        self.retried = retried;
        let mut due = mem::take(&mut self.due);
        for Ending { span, end, queue } in due.drain(..) {
            let Some(open) = self.open.remove(&span) else { continue };
            let span = open.span(end, queue, &self.redacted, false);
            finished(&Span { has_end: queue.is_some(), ..span });
            self.give_back(open.records);
        }
        self.due = due;
    }

    /// Passes the sampled spans that were not passed on yet: those that are open as unfinished.
    pub(super) fn waiting(&self, now: UnixTime, each: &mut dyn FnMut(&Span<'_>)) {
        let endings = self.ending.iter().chain(&self.due);
        let endings: HashMap<_, _> = endings.map(|ending| (ending.span, ending)).collect();
        for (id, open) in self.open.iter().filter(|(_, open)| open.context.is_sampled) {
            each(&match endings.get(id) {
                None => open.span(now, None, &self.redacted, true),
                Some(ended) => open.span(ended.end, ended.queue, &self.redacted, false),
            });
        }
    }

    /// Records were dropped, maybe the ends of spans.
    pub(super) fn suspect_lost_ends(&mut self) {
        self.lost_ends.suspect();
    }

    /// Ends the spans whose end was dropped. `contexts` are those of the open spans.
    pub(super) fn end_lost(&mut self, contexts: &Contexts, now: UnixTime) {
        if self.lost_ends.is_looking() {
            let lost = self.lost_ends.end_round(self.open.keys().copied(), || contexts.spans());
            let lost = lost.into_iter().map(|span| Ending { span, end: now, queue: None });
            self.ending.extend(lost);
        }
        // The look begins in the next round, which has taken the span's start.
        if contexts.take_lost_end() {
            self.lost_ends.suspect();
        }
    }

    /// Passes on all spans that have ended, since every record was taken.
    pub(super) fn finish(&mut self, mut finished: impl FnMut(&Span<'_>)) {
        // Early records, among them ends, and then the ends.
        for _ in 0..2 {
            self.begin_round();
            self.end_round(&mut finished);
        }
    }

    /// Passes on the spans that are open, each once. `time` is now, which the wall clock has at
    /// `wall`.
    pub(super) fn unfinished(
        &mut self,
        time: Time,
        wall: UnixTime,
        mut passed_on: impl FnMut(&Span<'_>),
    ) {
        for open in self.open.values_mut() {
            if !mem::replace(&mut open.is_passed_on, true) {
                let end = open.line.unix_time(time, wall);
                passed_on(&open.span(end, None, &self.redacted, true));
            }
        }
    }

    /// Returns how many records belonged to no known span since the last call.
    pub(super) fn take_spanless(&mut self) -> u64 {
        mem::take(&mut self.spanless)
    }

    /// Returns whether a record waits for the next round.
    pub(super) fn are_waiting(&self) -> bool {
        !self.ending.is_empty() || !self.early.is_empty() || self.lost_ends.is_looking()
    }

    /// Frees memory that was not needed since the last call.
    pub(super) fn trim(&mut self) {
        self.buffers.trim();
        if self.open.capacity() > 64 + 4 * self.open.len() {
            self.open.shrink_to_fit();
        }
    }

    fn give_back(&mut self, mut records: Vec<u8>) {
        records.clear();
        self.buffers.give_back(records, KEPT);
    }

    /// Returns `false` if the span is not known.
    fn take_part(&mut self, record: &[u8], time: UnixTime, queue: QueueId) -> bool {
        // A record that can't be read is passed over.
        if frame::is_part(record, RecordKind::Added) {
            let added = Frame::read(record).and_then(|it| it.context());
            return added.is_none_or(|span| self.take_event(span.span, record, time));
        }
        let Some(part) = SpanPart::read(record) else { return true };
        if let What::Start(start) = &part.what {
            let line = self.line(start.parent, part.time, time);
            match self.open.entry(part.context.span) {
                Entry::Vacant(place) => {
                    let mut records = self.buffers.take();
                    push(&mut records, record, line.start);
                    place.insert(Open {
                        context: part.context,
                        start: line.start,
                        line,
                        queue,
                        records,
                        uncounted: record.len(),
                        has_values: false,
                        events: 0,
                        dropped: Dropped::default(),
                        is_passed_on: false,
                    });
                }
                // It is sampled since its remote parent is known, and started before.
                Entry::Occupied(known) => {
                    let open = known.into_mut();
                    open.context = part.context;
                    push(&mut open.records, record, open.start);
                    open.uncounted += record.len();
                }
            }
            return true;
        }
        let Some(open) = self.open.get_mut(&part.context.span) else { return false };
        match &part.what {
            What::Parent(parent) => {
                open.context.trace = parent.context.trace;
                let time = open.line.unix_time(part.time, time);
                push(&mut open.records, record, time);
                // It is set once, so it needs no bound.
                open.uncounted += record.len();
                return true;
            }
            What::Discard if self.takes_unsampled => {
                open.context.is_sampled = false;
                return true;
            }
            What::Discard => {
                if let Some(open) = self.open.remove(&part.context.span) {
                    self.give_back(open.records);
                }
                return true;
            }
            _ => {}
        }
        let time = open.line.unix_time(part.time, time);
        match part.what {
            What::End => {
                let (span, queue) = (part.context.span, Some(queue));
                self.ending.push(Ending { span, end: time, queue });
            }
            _ if open.has_room(record) || open.has_room_for_status(&part, record) => {
                open.has_values |= matches!(part.what, What::Values);
                push(&mut open.records, record, time);
            }
            What::Link(_) => open.dropped.links = open.dropped.links.saturating_add(1),
            What::Values => {
                let count = u32::try_from(part.fields.parts().count()).unwrap_or(u32::MAX);
                open.dropped.attributes = open.dropped.attributes.saturating_add(count);
            }
            _ => {}
        }
        true
    }

    /// Returns `false` if the span is not known.
    fn take_event(&mut self, span: u64, record: &[u8], time: UnixTime) -> bool {
        let Some(open) = self.open.get_mut(&span) else { return false };
        let is_within = open.events < self.most_events || frame::is_error(record);
        if is_within && open.has_room(record) {
            let happened = frame::time(record).unwrap_or(Time::Unix(time));
            let time = open.line.unix_time(happened, time);
            push(&mut open.records, record, time);
            open.events += 1;
        } else {
            open.dropped.event(record);
        }
        true
    }

    /// Returns the line of a span that starts now. It begins on its parent's, unless the clock was
    /// stepped long after the parent's trace began.
    fn line(&self, parent: u64, time: Time, wall: UnixTime) -> Line {
        let Time::Ticks(instant) = time else {
            let zero = Instant::from_ticks(0);
            return Line { began: zero, since: zero, start: wall };
        };
        let own = Line { began: instant, since: instant, start: wall };
        let Some(parent) = self.open.get(&parent) else { return own };
        let began = parent.line.began;
        let age = instant.saturating_duration_since(began);
        let expected = parent.line.unix_time(time, wall);
        let off = expected.max(wall).checked_duration_since(expected.min(wall));
        if age > FOLLOWED && off >= Some(STEP) {
            own
        } else {
            Line { began, since: instant, start: expected }
        }
    }
}

impl Open {
    fn span<'a>(
        &'a self,
        end: UnixTime,
        queue: Option<QueueId>,
        redacted: &'a [String],
        is_unfinished: bool,
    ) -> Span<'a> {
        Span {
            context: self.context,
            start: self.start,
            end: end.max(self.start),
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

    /// Returns whether a part has values of the status, for which there is room beyond the bound.
    fn has_room_for_status(&self, part: &SpanPart<'_>, record: &[u8]) -> bool {
        let mut fields = part.fields.parts().filter_map(|(key, value)| Some((key, value?)));
        matches!(part.what, What::Values)
            && self.bytes_with(record) <= MOST_BYTES + RESERVED
            && fields.any(|(key, value)| Status::default().field(key, value))
    }

    /// Returns how many bytes count, with one more record.
    fn bytes_with(&self, record: &[u8]) -> usize {
        self.records.len() - self.uncounted + record.len()
    }
}

/// Appends a record, with this time.
fn push(records: &mut Vec<u8>, record: &[u8], time: UnixTime) {
    let start = records.len();
    records.extend_from_slice(record);
    frame::set_time(&mut records[start..], time);
}
