//! Open spans, until they end.
//!
//! Most spans come as one record after they have ended. If parts or events of a span were logged,
//! they come first, and wait here.

pub(crate) mod span;
#[cfg(test)]
mod tests;

use core::mem;
use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use tach_core::{Instant, UnixTime};

use self::span::{Bounds, Line, Open, bounded};
use super::lost_ends::LostEnds;
use crate::spans::span::{Dropped, Span};
use crate::trace::Contexts;
use tach_record::buffers::Buffers;
use tach_record::frame::{self, Ended, Frame, RecordKind, SpanPart, Start, Time, What};
use tach_record::ids::SpanContext;
use tach_record::queue::QueueId;

/// Stands for the queue of a span of which something else says whether it had one thread.
const NO_QUEUE: QueueId = QueueId(0);

/// The largest buffer that is used again for another span. A larger buffer is freed.
const KEPT: usize = 4 * 1024;
/// The memory that is kept for spans of a later round that come as one record.
const KEPT_ENDED: usize = 64 * 1024;

/// The spans whose start was taken and that were not passed on yet.
pub struct Spans {
    /// In boxes, since up to half of a map's places are empty.
    pub(crate) open: HashMap<u64, Box<Open>, RandomState>,
    /// Spans that ended in this round. The next round may still take records of these spans from
    /// the queues of other threads.
    pub(crate) ending: Vec<Ending>,
    /// Spans that ended in the round before, and that this round passes on.
    due: Vec<Ending>,
    /// The records of the spans in `ending` that came as one record, and of those in `due`.
    ended: Vec<u8>,
    due_ended: Vec<u8>,
    /// The spans of which parts were taken in this round, or in the round before if it was not known
    /// whether their records will come, and no start.
    unbegun: Vec<u64>,
    unbegun_before: Vec<u64>,
    /// When more was last dropped of spans than their remains say, by two clocks.
    suspected: Option<(Instant, UnixTime)>,
    /// Starts and ends of this round whose span is not known. The next round tries them once more,
    /// since that round may take the start of the span.
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

/// A record, the time when it happened, and its queue.
pub(crate) type Early = (Vec<u8>, UnixTime, QueueId);

pub(crate) enum Ending {
    /// A span whose start was taken before.
    Opened {
        span: u64,
        end: UnixTime,
        /// The queue of the thread that ended the span. `None` if the record of the end was
        /// dropped. In that case `end` is the time of the last record.
        queue: Option<QueueId>,
    },
    /// A span that came as one record. The number is that of the thread that ended it.
    OneRecord { end: UnixTime, thread: u32 },
}

impl Spans {
    pub(crate) fn new(redacted: Vec<String>, most_events: u32, takes_unsampled: bool) -> Self {
        Self {
            open: HashMap::default(),
            ending: Vec::new(),
            due: Vec::new(),
            ended: Vec::new(),
            due_ended: Vec::new(),
            unbegun: Vec::new(),
            unbegun_before: Vec::new(),
            suspected: None,
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
            self.early.push((record.to_owned(), time, queue));
        }
    }

    /// Adds a span that has ended, by its one record. `time` is its end, on the thread with that
    /// number.
    #[inline]
    pub fn ended(&mut self, record: &[u8], time: UnixTime, thread: u32) {
        self.ended.extend_from_slice(record);
        self.ending.push(Ending::OneRecord { end: time, thread });
    }

    /// Adds an event that was kept for a backtrace to its span. If the span was passed on
    /// meanwhile, ignores the event.
    pub fn released(&mut self, record: &Frame<'_>, time: UnixTime) {
        if let Some(context) = record.context() {
            let bounds = self.bounds;
            self.known(context).event(record.bytes, time, bounds);
        }
    }

    /// Adds the record of an event to its span.
    pub fn event(&mut self, context: SpanContext, record: &[u8], time: UnixTime) {
        let bounds = self.bounds;
        if let Some(open) = self.open.get_mut(&context.span) {
            open.unplaced += u64::from(!open.is_begun);
            return open.event(record, time, bounds);
        }
        let open = self.known(context);
        open.unplaced = 1;
        open.event(record, time, bounds);
    }

    /// Begins a round.
    pub fn begin_round(&mut self) {
        self.retried.append(&mut self.early);
        self.due.append(&mut self.ending);
        if self.due_ended.is_empty() {
            mem::swap(&mut self.ended, &mut self.due_ended);
        } else {
            self.due_ended.append(&mut self.ended);
        }
    }

    /// Ends the round. Passes on the spans that ended in the round before, since this round has
    /// taken the rest of their records.
    pub(super) fn end_round(&mut self, finished: impl FnMut(&Span<'_>)) {
        self.pass_on(finished);
        self.forget_unbegun();
    }

    /// Forgets spans of which only parts were taken, two rounds long: the span was passed on, or the
    /// record of its start or its only record was dropped.
    fn forget_unbegun(&mut self) {
        let mut before = mem::take(&mut self.unbegun_before);
        let is_unbegun = |span: &u64| self.open.get(span).is_some_and(|open| !open.is_begun);
        before.retain(is_unbegun);
        if !before.is_empty() {
            // The next round passes on the spans of this one.
            let ended = frame::split_all(&self.ended).filter_map(SpanPart::read);
            let ended: HashSet<_> = ended.map(|part| part.context.span).collect();
            for span in before.drain(..).filter(|span| !ended.contains(span)) {
                let Some(open) = self.open.remove(&span) else { continue };
                self.spanless += open.unplaced;
                self.give_back(open.records);
            }
        }
        self.unbegun_before = mem::replace(&mut self.unbegun, before);
    }

    /// Passes on the spans that ended in the round before.
    fn pass_on(&mut self, mut finished: impl FnMut(&Span<'_>)) {
        let mut retried = mem::take(&mut self.retried);
        for (record, time, queue) in retried.drain(..) {
            // If the span is still unknown, its start was dropped, or the span was passed on.
            self.spanless += u64::from(!self.take_part(&record, time, queue));
        }
        self.retried = retried;
        let (mut due, mut ended) = (mem::take(&mut self.due), mem::take(&mut self.due_ended));
        let mut rest = &mut ended[..];
        for ending in due.drain(..) {
            match ending {
                Ending::Opened { span, end, queue } => {
                    let Some(open) = self.open.remove(&span) else { continue };
                    finished(&open.span(end, queue, &self.redacted, false));
                    self.give_back(open.records);
                }
                Ending::OneRecord { end, thread } => {
                    let length = frame::split(rest).map_or(0, |(record, _)| record.len());
                    let (record, after) = mem::take(&mut rest).split_at_mut(length);
                    rest = after;
                    self.pass_on_one_record(record, end, thread, &mut finished);
                }
            }
        }
        ended.clear();
        (self.due, self.due_ended) = (due, ended);
    }

    /// Passes on a span that came as one record, with the parts and events that came before.
    fn pass_on_one_record(
        &mut self,
        record: &mut [u8],
        end: UnixTime,
        end_thread: u32,
        finished: &mut impl FnMut(&Span<'_>),
    ) {
        let (mut cut, lost) = match bounded(record) {
            (Cow::Owned(cut), lost) => (Some(cut), lost),
            (Cow::Borrowed(_), lost) => (None, lost),
        };
        let record = cut.as_deref_mut().unwrap_or(record);
        let Some(SpanPart { time, context, what: What::Start(start), .. }) = SpanPart::read(record)
        else {
            return;
        };
        let Some(Ended { since, began, thread }) = start.ended else { return };
        let is_on_one_thread = thread == end_thread;
        let line = Line::of_ended(since, began, Time::unix_time);
        let time = line.unix_time(time, end);
        let is_more = self.suspected.is_some_and(|(instant, wall)| match since {
            Time::Ticks(since) => since <= instant,
            Time::Unix(since) => since <= wall,
        });
        let open = if self.open.is_empty() { None } else { self.open.remove(&context.span) };
        let Some(mut open) = open else {
            frame::set_time(record, line.start);
            return finished(&Span {
                context,
                start: line.start,
                end: time.max(line.start),
                is_unfinished: false,
                records: record,
                has_values: false,
                has_end: true,
                is_on_one_thread,
                dropped: Dropped { bytes: lost, is_more, ..Dropped::default() },
                redacted: &self.redacted,
            });
        };
        open.begin((context, line, NO_QUEUE), record);
        open.dropped.bytes += lost;
        open.dropped.is_more |= is_more;
        let span = open.span(time, Some(NO_QUEUE), &self.redacted, false);
        finished(&Span { is_on_one_thread, ..span });
        self.give_back(open.records);
    }

    /// Calls `each` for the sampled spans that were not passed on yet. Open spans are marked as
    /// unfinished.
    pub(super) fn waiting(&self, now: UnixTime, each: &mut dyn FnMut(&Span<'_>)) {
        let endings = self.ending.iter().chain(&self.due);
        let endings = endings.filter_map(|ending| match *ending {
            Ending::Opened { span, end, queue } => Some((span, (end, queue))),
            Ending::OneRecord { .. } => None,
        });
        let endings: HashMap<_, _> = endings.collect();
        let is_shown = |open: &Open| open.is_begun && open.context.is_sampled;
        for (id, open) in self.open.iter().filter(|(_, open)| is_shown(open)) {
            each(&match endings.get(id) {
                None => open.span(now, None, &self.redacted, true),
                Some((end, queue)) => open.span(*end, *queue, &self.redacted, false),
            });
        }
    }

    /// Marks the open spans as incomplete, and begins to search for spans whose end was dropped.
    /// Call after more was dropped of spans than their remains say. `wall` is the current time.
    pub(super) fn suspect_loss(&mut self, wall: UnixTime) {
        self.open.values_mut().for_each(|open| open.dropped.is_more = true);
        self.suspected = Some((Instant::now(), wall));
        self.lost_ends.suspect();
    }

    /// Begins to search for spans whose only record was dropped. Call after spans were dropped.
    pub fn suspect_end(&mut self) {
        self.lost_ends.suspect();
    }

    /// Continues the search for spans whose end was dropped, and ends those that were found, at the
    /// time of their last record. `contexts` no longer contains the ids of these spans.
    pub(super) fn end_lost(&mut self, contexts: &Contexts) {
        let Self { open, lost_ends, ending, unbegun, unbegun_before, .. } = self;
        // The others are passed on by the next rounds, or never.
        unbegun_before.retain(|span| !contexts.end_is_awaited(*span));
        if lost_ends.is_looking() {
            for span in lost_ends.end_round(open.keys().copied(), || contexts.spans()) {
                match open.get(&span) {
                    Some(open) if open.is_begun => {
                        ending.push(Ending::Opened { span, end: open.last_time(), queue: None });
                    }
                    Some(_) => unbegun.push(span),
                    None => {}
                }
            }
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
            self.pass_on(&mut finished);
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
        for open in self.open.values_mut().filter(|open| open.is_begun) {
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
        let waits = |span| self.open.get(span).is_some_and(|open| open.unplaced > 0);
        !self.ending.is_empty()
            || !self.early.is_empty()
            || self.lost_ends.is_looking()
            || self.unbegun.iter().chain(&self.unbegun_before).any(waits)
    }

    /// Frees memory that was not needed since the last call.
    pub(super) fn trim(&mut self) {
        self.buffers.trim();
        for records in [&mut self.ended, &mut self.due_ended] {
            if records.is_empty() && records.capacity() > KEPT_ENDED {
                *records = Vec::new();
            }
        }
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
            if let Some(context) = Frame::read(record).and_then(|it| it.context()) {
                self.event(context, record, time);
            }
            return true;
        }
        let (record, lost) = &bounded(record);
        let Some(part) = SpanPart::read(record) else { return true };
        if let What::Start(start) = &part.what {
            let taken = self.take_start(&part, start, record, time, queue);
            return taken.map(|open| open.dropped.bytes += lost).is_some();
        }
        let (span, bounds) = (part.context.span, self.bounds);
        if !matches!(part.what, What::End | What::Discard) {
            let open = self.known(part.context);
            if let What::Lost(lost) = part.what {
                open.dropped.add(lost);
                return true;
            }
            if open.part(&part, record, time, bounds) {
                open.dropped.bytes += lost;
            }
            open.unplaced += u64::from(!open.is_begun);
            return true;
        }
        let begun = self.open.get_mut(&span).filter(|open| open.is_begun);
        let Some(open) = begun else { return false };
        match part.what {
            What::Discard if self.takes_unsampled => open.context.is_sampled = false,
            What::Discard => {
                if let Some(open) = self.open.remove(&span) {
                    self.give_back(open.records);
                }
            }
            _ => {
                let end = open.line.unix_time(part.time, time);
                self.ending.push(Ending::Opened { span, end, queue: Some(queue) });
            }
        }
        true
    }

    /// Returns the span of a part or an event. If its start was not taken, keeps what comes first.
    fn known(&mut self, context: SpanContext) -> &mut Open {
        let Self { open, unbegun, buffers, .. } = self;
        open.entry(context.span).or_insert_with(|| {
            unbegun.push(context.span);
            Box::new(Open::unbegun(context, NO_QUEUE, buffers.take()))
        })
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
        let parent = self.open.get(&start.parent).filter(|parent| parent.is_begun);
        let parent = parent.map(|parent| parent.line);
        let line = Line::of_start(parent, part.time, time);
        match self.open.entry(part.context.span) {
            // The first start, with the time and the fields of the span, was dropped.
            Entry::Vacant(_) if start.is_again => None,
            Entry::Occupied(known) if !known.get().is_begun => {
                if start.is_again {
                    return None;
                }
                let open = known.into_mut();
                open.begin((part.context, line, queue), record);
                Some(open)
            }
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
}
