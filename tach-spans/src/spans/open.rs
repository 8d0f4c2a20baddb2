//! Open spans, until they end.

pub(crate) mod span;
#[cfg(test)]
mod tests;

use core::mem;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;
use tach_core::UnixTime;

use self::span::{Bounds, Line, Open, bounded};
use super::lost_ends::LostEnds;
use crate::spans::span::Span;
use crate::trace::Contexts;
use tach_record::buffers::Buffers;
use tach_record::frame::{self, Frame, RecordKind, SpanPart, Start, Time, What};
use tach_record::queue::QueueId;

/// The largest buffer that is used again for another span. A larger buffer is freed.
const KEPT: usize = 4 * 1024;

/// The spans whose start was taken and that were not passed on yet.
pub struct Spans {
    /// In boxes, since up to half of a map's places are empty.
    pub(crate) open: HashMap<u64, Box<Open>, RandomState>,
    /// Spans that ended in this round. The next round may still take records of these spans from
    /// the queues of other threads.
    pub(crate) ending: Vec<Ending>,
    /// Spans that ended in the round before, and that this round passes on.
    due: Vec<Ending>,
    /// Records of this round whose span is not known. The next round tries them once more, since
    /// that round may take the start of the span.
    pub(crate) early: Vec<Early>,
    /// The records in `early` of the round before, which this round tries again.
    pub(crate) retried: Vec<Early>,
    /// How many records found no known span, neither in their own round nor in the next, since the
    /// count was last taken.
    spanless: u64,
    lost_ends: LostEnds,
    buffers: Buffers,
    redacted: Vec<String>,
    bounds: Bounds,
    /// Whether spans that are not sampled are kept until their end, because their durations are
    /// collected.
    takes_unsampled: bool,
}

/// A record, the time when it happened, and its queue. The queue is `None` for an event.
pub(crate) type Early = (Vec<u8>, UnixTime, Option<QueueId>);

pub(crate) struct Ending {
    pub(crate) span: u64,
    pub(crate) end: UnixTime,
    /// The queue of the thread that ended the span. `None` if the record of the end was dropped.
    /// In that case `end` is the time of the last record.
    pub(crate) queue: Option<QueueId>,
}

impl Spans {
    pub(crate) fn new(redacted: Vec<String>, most_events: u32, takes_unsampled: bool) -> Self {
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
            bounds: Bounds::new(most_events),
            takes_unsampled,
        }
    }

    /// Adds a part of a span, which happened at `time` and comes from `queue`.
    pub fn part(&mut self, record: &[u8], time: UnixTime, queue: QueueId) {
        if !self.take_part(record, time, queue) {
            self.early.push((record.to_owned(), time, Some(queue)));
        }
    }

    /// Adds an event that was kept for a backtrace to its span. If the span was passed on
    /// meanwhile, ignores the event.
    pub fn released(&mut self, record: &Frame<'_>, time: UnixTime) {
        if let Some(context) = record.context() {
            let _is_open = self.take_event(context.span, record.bytes, time);
        }
    }

    /// Adds the record of an event to its span. If the span is not known, the next round tries
    /// again.
    pub fn event(&mut self, span: u64, record: &[u8], time: UnixTime) {
        if !self.take_event(span, record, time) {
            self.early.push((record.to_owned(), time, None));
        }
    }

    /// Begins a round.
    pub fn begin_round(&mut self) {
        self.retried.append(&mut self.early);
        self.due.append(&mut self.ending);
    }

    /// Ends the round. Passes on the spans that ended in the round before, since this round has
    /// taken the rest of their records.
    pub(super) fn end_round(&mut self, mut finished: impl FnMut(&Span<'_>)) {
        let mut retried = mem::take(&mut self.retried);
        for (record, time, queue) in retried.drain(..) {
            let is_known = if let Some(queue) = queue {
                self.take_part(&record, time, queue)
            } else {
                let context = Frame::read(&record).and_then(|it| it.context());
                context.is_none_or(|it| self.take_event(it.span, &record, time))
            };
            // If the span is still unknown, its start was dropped, or the span was passed on. The
            // queue has counted the records that it dropped.
            let is_counted = is_known || frame::is_part(&record, RecordKind::Lost);
            self.spanless += u64::from(!is_counted);
        }
        self.retried = retried;
        let mut due = mem::take(&mut self.due);
        for Ending { span, end, queue } in due.drain(..) {
            let Some(open) = self.open.remove(&span) else { continue };
            finished(&open.span(end, queue, &self.redacted, false));
            self.give_back(open.records);
        }
        self.due = due;
    }

    /// Calls `each` for the sampled spans that were not passed on yet. Open spans are marked as
    /// unfinished.
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

    /// Marks the open spans as incomplete, and begins to search for spans whose end was dropped.
    /// Call after more was dropped of spans than their remains say.
    pub(super) fn suspect_loss(&mut self) {
        self.open.values_mut().for_each(|open| open.dropped.is_more = true);
        self.lost_ends.suspect();
    }

    /// Continues the search for spans whose end was dropped, and ends those that were found, at the
    /// time of their last record. `contexts` no longer contains the ids of these spans.
    pub(super) fn end_lost(&mut self, contexts: &Contexts) {
        let Self { open, lost_ends, ending, .. } = self;
        if lost_ends.is_looking() {
            let lost = lost_ends.end_round(open.keys().copied(), || contexts.spans());
            let lost = lost.into_iter().filter_map(|span| {
                let open = open.get_mut(&span)?;
                let end = open.last_time();
                Some(Ending { span, end, queue: None })
            });
            ending.extend(lost);
        }
        // The search begins in the next round. By then the span's start was taken.
        if contexts.take_lost_end() {
            self.lost_ends.suspect();
        }
    }

    /// Passes on all spans that have ended. Call after every record was taken.
    pub(crate) fn finish(&mut self, mut finished: impl FnMut(&Span<'_>)) {
        // The first round tries the early records again. Some are the ends of spans. The second
        // round passes these spans on.
        for _ in 0..2 {
            self.begin_round();
            self.end_round(&mut finished);
        }
    }

    /// Passes on the open spans that no earlier call has passed on. `time` is the current time by
    /// the pipeline's clock, and `wall` the current time by the wall clock.
    pub(crate) fn unfinished(
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

    /// Returns how many records found no known span since the last call.
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

    /// Adds a part of a span. If the span is not known, returns `false`.
    fn take_part(&mut self, record: &[u8], time: UnixTime, queue: QueueId) -> bool {
        // A record that can't be read is ignored, so that no later round tries it again.
        if frame::is_part(record, RecordKind::Added) {
            let added = Frame::read(record).and_then(|it| it.context());
            return added.is_none_or(|span| self.take_event(span.span, record, time));
        }
        let (record, lost) = &bounded(record);
        let Some(part) = SpanPart::read(record) else { return true };
        if let What::Start(start) = &part.what {
            let taken = self.take_start(&part, start, record, time, queue);
            return taken.map(|open| open.dropped.bytes += lost).is_some();
        }
        let span = part.context.span;
        let Some(open) = self.open.get_mut(&span) else { return false };
        match part.what {
            What::Discard if self.takes_unsampled => open.context.is_sampled = false,
            What::Discard => {
                if let Some(open) = self.open.remove(&span) {
                    self.give_back(open.records);
                }
            }
            What::End => {
                let end = open.line.unix_time(part.time, time);
                self.ending.push(Ending { span, end, queue: Some(queue) });
            }
            What::Lost(lost) => open.dropped.add(lost),
            _ => {
                if open.part(&part, record, time, self.bounds) {
                    open.dropped.bytes += lost;
                }
            }
        }
        true
    }

    /// Adds a span whose start was taken, or a second start to its span, and returns the span. If
    /// the span of a second start is not known, returns `None`.
    fn take_start(
        &mut self,
        part: &SpanPart<'_>,
        start: &Start<'_>,
        record: &[u8],
        time: UnixTime,
        queue: QueueId,
    ) -> Option<&mut Open> {
        let parent = self.open.get(&start.parent).map(|parent| parent.line);
        let line = Line::of_start(parent, part.time, time);
        match self.open.entry(part.context.span) {
            // The first start, with the time and the fields of the span, was dropped.
            Entry::Vacant(_) if start.is_again => None,
            Entry::Vacant(place) => {
                let open = Open::new(part.context, line, queue, self.buffers.take());
                let open = place.insert(Box::new(open));
                open.uncounted(record, line.start);
                Some(open)
            }
            // A second start of the same span: the span is sampled after all, since its remote
            // parent became known.
            Entry::Occupied(known) => {
                let open = known.into_mut();
                open.context = part.context;
                // It may have the fields again by which its duration is counted.
                open.has_values = true;
                open.uncounted(record, open.line.start);
                Some(open)
            }
        }
    }

    /// Adds an event to a span. If the span is not known, returns `false`.
    fn take_event(&mut self, span: u64, record: &[u8], time: UnixTime) -> bool {
        let Some(open) = self.open.get_mut(&span) else { return false };
        open.event(record, time, self.bounds);
        true
    }
}
