//! The spans that the back end has not passed on yet.
//!
//! The record of a span is logged when the span ends. Parts and events of the span that were logged
//! before come first, and wait here for it.

mod line;
#[cfg(test)]
mod tests;

use core::mem;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use tach_core::{Instant, UnixTime};

use self::line::Line;
use crate::spans::span::{Dropped, First, MOST_EVENTS, Span, first};
use crate::spans::status::Status;
use crate::trace::Contexts;
use tach_record::frame::{self, Frame, Lost, RecordKind, SpanPart, Time, What};
use tach_record::ids::SpanContext;

/// The most bytes of texts in a record of a span. A longer record is cut.
const MOST_TEXT: usize = 256 * 1024;
/// The most bytes of a span after its start, with the specification's limit of events. Later
/// events, values and links are dropped.
const MOST_BYTES: usize = 256 * 1024;
/// With a higher limit of events, as many bytes more for each further event, up to `HIGHEST`.
const EVENT_BYTES: usize = 256;
const HIGHEST: usize = 3 * 1024 * 1024;
/// A reserve for values that set the status, so that a span without room can still end as an error.
const RESERVED: usize = 16 * 1024;
/// The most bytes of records for which the memory of a span is used again.
const KEPT: usize = 4 * 1024;
/// The memory that is kept for the records of a later round.
const KEPT_ENDED: usize = 64 * 1024;
/// After this many rounds, every record that was in a queue when the count began has been passed
/// on.
const ROUNDS: u32 = 4;

/// The parts of spans whose own records have not come, and the records of spans that have ended.
pub struct Spans {
    /// In boxes, since up to half of a map's places are empty.
    pub(crate) open: HashMap<u64, Box<Open>, RandomState>,
    /// Spans that ended in this round. They wait a round, because the queues of other threads may
    /// still contain records of them.
    ended: Ended,
    /// Spans that ended in the round before, and that this round passes on.
    due: Ended,
    /// Spans in `open` whose records may never come.
    doubtful: Vec<u64>,
    /// Whether every span in `open` is doubtful, because records of spans were dropped.
    is_suspected: bool,
    /// The last time when records of spans were dropped without a span that counts the loss, by two
    /// clocks.
    suspected: Option<(Instant, UnixTime)>,
    /// Copies of the spans that were open when the round began, by [`seen`](Self::seen). A span
    /// that is passed on is removed here, so that it is not reported as unfinished too.
    pub seen: HashMap<u64, (Vec<u8>, End), RandomState>,
    /// The open spans that were passed on as unfinished.
    unfinished: HashSet<u64, RandomState>,
    /// How many records had no span, since the count was last taken.
    spanless: u64,
    /// The memory of spans that were passed on, for other spans.
    #[expect(clippy::vec_box, reason = "a box moves between here and `open`")]
    unused: Vec<Box<Open>>,
    redacted: Vec<String>,
    bounds: Bounds,
    /// Whether spans that are not sampled come too, because their durations are collected.
    takes_unsampled: bool,
}

/// The records of spans, and their ends.
#[derive(Default)]
struct Ended {
    records: Vec<u8>,
    ends: Vec<End>,
}

/// The end of a span.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// The time by the wall clock.
    time: UnixTime,
    /// The number of the thread that ended the span, or zero if it is not known. `None` for a span
    /// that is open.
    thread: Option<u32>,
    /// How many bytes were cut off the record.
    cut: u64,
}

impl Spans {
    pub(crate) fn new(redacted: Vec<String>, most_events: u32, takes_unsampled: bool) -> Self {
        Self {
            open: HashMap::default(),
            ended: Ended::default(),
            due: Ended::default(),
            doubtful: Vec::new(),
            is_suspected: false,
            suspected: None,
            seen: HashMap::default(),
            unfinished: HashSet::default(),
            spanless: 0,
            unused: Vec::new(),
            redacted,
            bounds: Bounds::new(most_events),
            takes_unsampled,
        }
    }

    /// Adds a span that has ended at `time`, on the thread with that number.
    #[inline]
    pub fn ended(&mut self, record: &[u8], time: UnixTime, thread: u32) {
        let (record, cut) = &bounded(record);
        self.ended.records.extend_from_slice(record);
        self.ended.ends.push(End { time, thread: Some(thread), cut: *cut });
    }

    /// Adds a span that is open, by its record as if it ended at `time`.
    pub fn seen(&mut self, record: &[u8], time: UnixTime) {
        let (record, cut) = bounded(record);
        if let Some(part) = SpanPart::read(&record) {
            let end = End { time, thread: None, cut };
            self.seen.insert(part.context.span, (record.clone().into_owned(), end));
        }
    }

    /// Adds a part of a span, which is not the span itself.
    pub fn part(&mut self, record: &[u8]) {
        if frame::kind(record) == Some(RecordKind::Added) {
            if let Some(context) = Frame::read(record).and_then(|it| it.context()) {
                self.event(context, record);
            }
            return;
        }
        let (record, cut) = &bounded(record);
        let Some(part) = SpanPart::read(record) else { return };
        let bounds = self.bounds;
        match part.what {
            What::Start(_) => {}
            What::Lost(lost) => self.known(part.context).dropped.add(lost),
            What::Discard if self.takes_unsampled => {}
            What::Discard => {
                if let Some(open) = self.open.remove(&part.context.span) {
                    self.give_back(open);
                }
            }
            What::Values | What::Link(_) | What::Parent(_) => {
                let open = self.known(part.context);
                open.unplaced += 1;
                if open.part(&part, record, bounds) {
                    open.dropped.bytes += cut;
                }
            }
        }
    }

    /// Adds an event that was kept for a backtrace to its span. If the span was passed on
    /// meanwhile, ignores the event.
    pub fn released(&mut self, record: &Frame<'_>) {
        if let Some(context) = record.context() {
            let bounds = self.bounds;
            self.known(context).event(record.bytes, bounds);
        }
    }

    /// Adds the record of an event to its span.
    pub fn event(&mut self, context: SpanContext, record: &[u8]) {
        let bounds = self.bounds;
        let open = self.known(context);
        open.unplaced += 1;
        open.event(record, bounds);
    }

    /// Begins a round.
    pub fn begin_round(&mut self) {
        let Self { ended, due, .. } = self;
        if due.ends.is_empty() {
            mem::swap(ended, due);
        } else {
            due.records.append(&mut ended.records);
            due.ends.append(&mut ended.ends);
        }
    }

    /// Ends the round. Passes on the spans that ended in the round before, since this round has
    /// taken the rest of their records.
    pub(super) fn end_round(&mut self, contexts: &Contexts, finished: impl FnMut(&Span<'_>)) {
        self.pass_on(finished);
        self.forget(contexts);
    }

    /// Forgets spans that are not open and whose records do not come: the span was passed on, or its
    /// record was dropped.
    fn forget(&mut self, contexts: &Contexts) {
        let mut doubtful = mem::take(&mut self.doubtful);
        // Read the flag before the slots: a thread frees the slots of its spans before it sets the
        // flag.
        if contexts.take_lost_end() | mem::take(&mut self.is_suspected) {
            for (span, open) in &mut self.open {
                if !mem::replace(&mut open.is_doubtful, true) {
                    doubtful.push(*span);
                }
            }
        }
        doubtful.retain(|span| {
            let Some(open) = self.open.get_mut(span) else { return false };
            if contexts.end_is_awaited(*span, self.takes_unsampled) {
                (open.is_doubtful, open.rounds) = (false, 0);
                return false;
            }
            open.rounds += 1;
            if open.rounds < ROUNDS {
                return true;
            }
            if let Some(open) = self.open.remove(span) {
                self.spanless += open.unplaced;
                self.give_back(open);
            }
            false
        });
        self.doubtful = doubtful;
    }

    /// Passes on the spans that ended in the round before.
    fn pass_on(&mut self, mut finished: impl FnMut(&Span<'_>)) {
        let mut due = mem::take(&mut self.due);
        for (record, end) in frame::split_all(&due.records).zip(due.ends.drain(..)) {
            let Some(first) = first(record, &self.redacted) else { continue };
            let id = first.1.context.span;
            if !self.seen.is_empty() {
                self.seen.remove(&id);
            }
            let mut open = if self.open.is_empty() { None } else { self.open.remove(&id) };
            finished(&self.span(record, first, end, open.as_deref_mut()));
            if let Some(open) = open {
                self.give_back(open);
            }
        }
        due.records.clear();
        self.due = due;
    }

    /// Returns a span by its record, with the parts and the events that came before.
    fn span<'a>(
        &'a self,
        record: &'a [u8],
        first: First<'a>,
        end: End,
        open: Option<&'a mut Open>,
    ) -> Span<'a> {
        let (frame::Start { since, began, thread, .. }, part) = &first;
        let context = part.context;
        let line = Line::of(*since, *began, Time::unix_time);
        let is_more = self.suspected.is_some_and(|(instant, wall)| match *since {
            Time::Ticks(since) => since <= instant,
            Time::Unix(since) => since <= wall,
        });
        let is_unfinished = end.thread.is_none();
        let mut span = Span {
            context,
            start: line.start,
            end: line.unix_time(part.time, end.time).max(line.start),
            is_unfinished,
            records: record,
            has_values: false,
            is_on_one_thread: *thread == 0
                || end.thread.is_none_or(|end| end == 0 || end == *thread),
            dropped: Dropped { bytes: end.cut, is_more, ..Dropped::default() },
            redacted: &self.redacted,
            first,
        };
        if let Some(open) = open {
            open.begin(line, record);
            span.context.trace = open.moved_to.unwrap_or(context.trace);
            span.dropped.parts = open.dropped.parts;
            span.dropped.bytes += open.dropped.bytes;
            // A key can have several values only if two parts have fields. In many spans
            // only one part has any, and `last_values` has nothing to do.
            let has_fields = span.first.1.fields.parts().next().is_some();
            span.has_values = open.values > u32::from(!has_fields);
            span.records = &open.records;
        }
        span
    }

    /// Calls `each` for the sampled spans that were not passed on yet. Open spans are marked as
    /// unfinished.
    pub(super) fn waiting(&self, each: &mut dyn FnMut(&Span<'_>)) {
        let mut ended = HashSet::new();
        for Ended { records, ends } in [&self.due, &self.ended] {
            for (record, end) in frame::split_all(records).zip(ends) {
                ended.extend(self.show(record, *end, each));
            }
        }
        for (id, (record, end)) in &self.seen {
            if !ended.contains(id) {
                self.show(record, *end, each);
            }
        }
    }

    /// Calls `each` with a span if it is sampled, without removing it. Returns the id.
    fn show(&self, record: &[u8], end: End, each: &mut dyn FnMut(&Span<'_>)) -> Option<u64> {
        let first = first(record, &self.redacted)?;
        let SpanContext { span: id, is_sampled, .. } = first.1.context;
        if is_sampled {
            let mut open = self.open.get(&id).cloned();
            each(&self.span(record, first, end, open.as_deref_mut()));
        }
        Some(id)
    }

    /// Begins to look for spans whose records were dropped, and marks every span that began before
    /// as incomplete. Call if records were dropped and no span counts them. `wall` is the current
    /// time.
    pub(super) fn suspect_loss(&mut self, wall: UnixTime) {
        self.suspected = Some((Instant::now(), wall));
        self.is_suspected = true;
    }

    /// Begins to look for spans whose records were dropped. Call after spans were dropped.
    pub fn suspect_end(&mut self) {
        self.is_suspected = true;
    }

    /// Passes on all spans that have ended. Call after every record was taken.
    pub(crate) fn finish(&mut self, mut finished: impl FnMut(&Span<'_>)) {
        for _ in 0..2 {
            self.begin_round();
            self.pass_on(&mut finished);
        }
    }

    /// Passes on the [seen](Self::seen) spans that no earlier call has passed on.
    pub(crate) fn unfinished(&mut self, passed_on: &mut dyn FnMut(&Span<'_>)) {
        let mut unfinished = mem::take(&mut self.unfinished);
        for (id, (record, end)) in &self.seen {
            if unfinished.insert(*id) {
                self.show(record, *end, passed_on);
            }
        }
        self.unfinished = unfinished;
    }

    /// Returns how many records found no known span since the last call.
    pub(super) fn take_spanless(&mut self) -> u64 {
        mem::take(&mut self.spanless)
    }

    /// Returns whether a record waits for the next round.
    pub(super) fn are_waiting(&self) -> bool {
        let waits = |span| self.open.get(span).is_some_and(|open| open.unplaced > 0);
        !self.ended.ends.is_empty() || self.is_suspected || self.doubtful.iter().any(waits)
    }

    /// Frees memory that was not needed since the last call.
    pub(super) fn trim(&mut self) {
        self.unused = Vec::new();
        for Ended { records, ends } in [&mut self.ended, &mut self.due] {
            if records.is_empty() && records.capacity() > KEPT_ENDED {
                (*records, *ends) = (Vec::new(), Vec::new());
            }
        }
        if self.open.capacity() > 64 + 4 * self.open.len() {
            self.open.shrink_to_fit();
        }
    }

    fn give_back(&mut self, mut open: Box<Open>) {
        let mut records = mem::take(&mut open.records);
        records.clear();
        if records.capacity() <= KEPT {
            *open = Open::new(records);
            self.unused.push(open);
        }
    }

    /// Returns the span of a part or an event that waits for the span's record. Adds the span if it
    /// is new.
    fn known(&mut self, context: SpanContext) -> &mut Open {
        let Self { open, doubtful, unused, .. } = self;
        open.entry(context.span).or_insert_with(|| {
            doubtful.push(context.span);
            unused.pop().unwrap_or_else(|| Box::new(Open::new(Vec::new())))
        })
    }
}

/// The bounds of a span after its start.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// The most events. Errors are kept even beyond that, since they set the status.
    events: u32,
    bytes: usize,
}

impl Bounds {
    /// Returns the bounds with a limit of events.
    fn new(events: u32) -> Self {
        let further = usize::try_from(events.saturating_sub(MOST_EVENTS)).unwrap_or(usize::MAX);
        let bytes = MOST_BYTES.saturating_add(further.saturating_mul(EVENT_BYTES)).min(HIGHEST);
        Self { events, bytes }
    }
}

/// Returns the record, or a copy with shorter texts if it is too long, and how many bytes were cut
/// off.
fn bounded(record: &[u8]) -> (Cow<'_, [u8]>, u64) {
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
    moved_to: Option<u128>,
    /// How many of the records count as records without a span if no record of the span comes.
    unplaced: u64,
    /// The times in the records are those that the calls logged, ticks included.
    records: Vec<u8>,
    /// How many bytes of `records` the bound leaves out: a parent that is set later always finds
    /// room.
    uncounted: usize,
    /// How many parts have values.
    values: u32,
    events: u32,
    dropped: Dropped,
    /// Whether the record of the span may never come. `rounds` counts the rounds since the span was
    /// found closed.
    is_doubtful: bool,
    rounds: u32,
}

impl Open {
    /// Creates a span without records. `records` is an empty buffer.
    fn new(records: Vec<u8>) -> Self {
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

    /// Adds the record of the span before the records that came first, and moves these to the line
    /// of the span.
    fn begin(&mut self, line: Line, record: &[u8]) {
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
    fn part(&mut self, part: &SpanPart<'_>, record: &[u8], bounds: Bounds) -> bool {
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
    fn event(&mut self, record: &[u8], bounds: Bounds) {
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
