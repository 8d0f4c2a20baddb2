//! Open spans, until they end.

use core::hash::{BuildHasherDefault, Hasher};
use core::mem;
use core::time::Duration;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tach_core::{Instant, UnixTime};

use super::lost_ends::LostEnds;
use crate::back_end::buffers::Buffers;
use crate::back_end::inbox::QueueId;
use crate::frame::{self, Frame, RecordKind, SpanPart, Time, What};
use crate::trace::span::{Dropped, Span};
use crate::trace::status::Status;
use crate::trace::{Contexts, SpanContext};

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
    open: HashMap<u64, Open, Unhashed>,
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

/// The ids of spans are random, so they need no hash.
type Unhashed = BuildHasherDefault<Unhasher>;

#[derive(Default)]
struct Unhasher(u64);

impl Hasher for Unhasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // No key is anything but an id.
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, id: u64) {
        self.0 = id;
    }
}

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
    pub(super) fn waiting(&self, now: UnixTime, mut each: impl FnMut(&Span<'_>)) {
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

#[cfg(test)]
mod tests {
    use tach_log::Value;

    use super::*;
    use crate::frame::texts::MaybeStatic;
    use crate::frame::{Linked, Scratch, Writer};
    use crate::level::Level;
    use crate::trace::Around;
    use crate::trace::key::Key;
    use crate::trace::span::Item;

    const TRACE: u128 = 1;
    const MOST_EVENTS: u32 = 128;
    /// Ticks are some nanoseconds at most.
    const SECOND: u64 = 1_000_000_000;

    fn context(span: u64) -> SpanContext {
        SpanContext { trace: TRACE, span, is_sampled: true }
    }

    /// A pipeline whose clock the test sets.
    struct Machine {
        spans: Spans,
        finished: Vec<(u64, u64, u64, usize)>,
    }

    impl Machine {
        fn new() -> Self {
            Self { spans: Spans::new(Vec::new(), MOST_EVENTS, false), finished: Vec::new() }
        }

        fn start(&mut self, span: u64, parent: u64, at: Time, wall_ns: u64) {
            let parent = (parent != 0).then_some(context(parent));
            let context = context(span);
            let mut scratch = Scratch::new();
            let level = Level::INFO;
            Writer::begin_span(&mut scratch, at, level, "app", "name", context, parent).end();
            self.spans.part(scratch.written(), UnixTime::from_nanos(wall_ns), QueueId::of(1));
        }

        fn end(&mut self, span: u64, at: Time, wall_ns: u64) {
            let context = context(span);
            let mut scratch = Scratch::new();
            Writer::begin_part(&mut scratch, at, RecordKind::End, context).end();
            self.spans.part(scratch.written(), UnixTime::from_nanos(wall_ns), QueueId::of(1));
        }

        fn event(&mut self, span: u64, wall_ns: u64) {
            let mut scratch = Scratch::new();
            let time = UnixTime::from_nanos(wall_ns);
            let target = MaybeStatic::Static("app");
            let mut to = Writer::begin(&mut scratch, Time::Unix(time), Level::INFO, target);
            Self::site(&mut to, span);
            to.end();
            self.spans.event(&Frame::read(scratch.written()).unwrap(), time);
        }

        /// Writes that an event is in a span.
        fn site(to: &mut Writer<'_>, span: u64) {
            let empty = MaybeStatic::Static("");
            let place = crate::frame::Place { file: empty, line: 0, module: empty };
            to.site(crate::frame::Wanted::default(), place, Some(Around::own(context(span))));
        }

        fn part(&mut self, kind: RecordKind, span: u64, write: impl FnOnce(&mut Writer<'_>)) {
            let mut scratch = Scratch::new();
            let mut to = Writer::begin_part(&mut scratch, unix(11), kind, context(span));
            write(&mut to);
            to.end();
            self.spans.part(scratch.written(), UnixTime::from_nanos(11), QueueId::of(1));
        }

        fn end_round(&mut self) {
            let Self { spans, finished } = self;
            spans.end_round(|span| {
                let events = span.items().filter(|item| matches!(item, Item::Event(..)));
                let times = (span.start.as_nanos(), span.end.as_nanos());
                finished.push((span.context.span, times.0, times.1, events.count()));
            });
            spans.begin_round();
        }
    }

    fn unix(ns: u64) -> Time {
        Time::Unix(UnixTime::from_nanos(ns))
    }

    #[test]
    fn an_event_that_is_taken_one_round_late_belongs_to_its_span() {
        let mut machine = Machine::new();
        machine.start(1, 0, unix(10), 10);
        machine.end(1, unix(20), 20);
        machine.end_round();
        assert_eq!(machine.finished, []);
        machine.event(1, 15);
        machine.end_round();
        assert_eq!(machine.finished, [(1, 10, 20, 1)]);
        // Two rounds late, it is no span's any more.
        machine.event(1, 15);
        machine.end_round();
        machine.end_round();
        assert!(!machine.spans.are_waiting() && machine.spans.open.is_empty());
    }

    #[test]
    fn records_that_come_before_their_start_wait_for_a_round() {
        let mut machine = Machine::new();
        machine.event(1, 15);
        machine.end(1, unix(20), 20);
        assert!(machine.spans.are_waiting());
        machine.end_round();
        machine.start(1, 0, unix(10), 10);
        machine.end_round();
        machine.end_round();
        assert_eq!(machine.finished, [(1, 10, 20, 1)]);
    }

    /// Ticks go on while the wall clock is stepped.
    #[test]
    fn a_step_of_the_wall_clock_bends_no_span() {
        let begin = Instant::now();
        let ticks = |seconds: u64| Time::Ticks(begin + Duration::from_secs(seconds));
        let mut machine = Machine::new();
        machine.start(1, 0, ticks(0), 1_000 * SECOND);
        // The clock is set back by an hour, and then by half a second.
        machine.start(2, 1, ticks(5), 5);
        machine.end(2, ticks(6), 6);
        machine.start(3, 1, ticks(20), 1_020 * SECOND - SECOND / 2);
        machine.start(4, 3, ticks(21), 1_021 * SECOND - SECOND / 2);
        machine.start(5, 1, ticks(22), 1_022 * SECOND - 1_000);
        for span in [3, 4, 5, 1] {
            machine.end(span, ticks(23), 23);
        }
        (0..2).for_each(|_| machine.end_round());
        machine.finished.sort_unstable();
        let near = |ns: u64, seconds: u64, ago: u64| {
            // The rate of the ticks may be corrected meanwhile.
            ns.abs_diff(1_000 * SECOND + seconds * SECOND - ago) < 1_000_000
        };
        let spans = |number: usize| machine.finished[number - 1];
        assert!(near(spans(1).1, 0, 0) && near(spans(1).2, 23, 0), "{:?}", spans(1));
        assert!(near(spans(2).1, 5, 0) && near(spans(2).2, 6, 0), "a request agrees with itself");
        // The root is old, so its new children follow the step, and their children them.
        assert!(near(spans(3).1, 20, SECOND / 2) && near(spans(3).2, 23, SECOND / 2));
        assert!(near(spans(4).1, 21, SECOND / 2) && near(spans(4).2, 23, SECOND / 2));
        // A difference of a slew is none.
        assert!(near(spans(5).1, 22, 0));
    }

    #[test]
    fn what_a_span_has_no_room_for_is_counted() {
        let mut machine = Machine::new();
        machine.start(1, 0, unix(10), 10);
        (0..MOST_EVENTS + 3).for_each(|_| machine.event(1, 15));
        assert_eq!(machine.spans.open[&1].dropped.events, 3);
        machine.end(1, unix(5), 5);
        (0..2).for_each(|_| machine.end_round());
        assert_eq!(machine.finished, [(1, 10, 10, 128)], "a span does not end before it starts");
        // Bytes are short before events are many.
        machine.start(2, 0, unix(10), 10);
        let text = "x".repeat(MOST_BYTES - 1024);
        for _ in 0..3 {
            let mut scratch = Scratch::new();
            let mut to = Writer::begin_part(&mut scratch, unix(11), RecordKind::Values, context(2));
            to.field(MaybeStatic::Static("key"), Value::Str(&text));
            to.field(MaybeStatic::Static("number"), Value::I64(7));
            to.end();
            machine.spans.part(scratch.written(), UnixTime::from_nanos(11), QueueId::of(1));
            let mut scratch = Scratch::new();
            let mut to = Writer::begin_part(&mut scratch, unix(12), RecordKind::Link, context(2));
            to.link(Linked { context: context(9), is_remote: false });
            to.field(MaybeStatic::Static("key"), Value::Str(&text));
            to.end();
            machine.spans.part(scratch.written(), UnixTime::from_nanos(12), QueueId::of(1));
        }
        let expected = Dropped { attributes: 4, links: 3, ..Dropped::default() };
        assert_eq!(machine.spans.open[&2].dropped, expected);
        // A count has a bound too.
        let open = machine.spans.open.get_mut(&2).unwrap();
        let most = Dropped { links: u32::MAX, events: u32::MAX, ..open.dropped };
        (open.dropped, open.events) = (most, MOST_EVENTS);
        machine.event(2, 15);
        machine.part(RecordKind::Link, 2, |to| {
            to.link(Linked { context: context(9), is_remote: false });
            to.field(MaybeStatic::Static("key"), Value::Str(&text));
        });
        assert_eq!(machine.spans.open[&2].dropped, most);
    }

    #[test]
    fn a_span_with_a_long_start_has_its_parent_its_status_and_its_events() {
        let mut machine = Machine::new();
        let text = "x".repeat(MOST_BYTES);
        let mut scratch = Scratch::new();
        let mut to = Writer::begin_span(
            &mut scratch,
            unix(10),
            Level::INFO,
            "app",
            "name",
            context(1),
            None,
        );
        to.field(MaybeStatic::Static("body"), Value::Str(&text));
        to.end();
        machine.spans.part(scratch.written(), UnixTime::from_nanos(10), QueueId::of(1));
        machine.event(1, 15);
        assert_eq!(machine.spans.open[&1].dropped, Dropped::default());
        // The rest is used up.
        for (dropped, length) in [(1, 1024), (2, 8)] {
            while machine.spans.open[&1].dropped.attributes < dropped {
                machine.part(RecordKind::Values, 1, |to| {
                    to.field(MaybeStatic::Static("key"), Value::Str(&text[..length]));
                });
            }
        }
        let set_status = |machine: &mut Machine, length: usize| {
            machine.part(RecordKind::Values, 1, |to| {
                let description = MaybeStatic::Static("otel.status_description");
                to.field(description, Value::Str(&text[..length]));
            });
        };
        set_status(&mut machine, 512);
        let parent = SpanContext { trace: 2, span: 3, is_sampled: true };
        machine.part(RecordKind::Parent, 1, |to| {
            to.link(Linked { context: parent, is_remote: true });
            to.field(MaybeStatic::Static("otel.trace_state"), Value::Str(&text[..RESERVED]));
        });
        set_status(&mut machine, 512);
        set_status(&mut machine, 2 * RESERVED);
        machine.end(1, unix(20), 20);
        (0..2).for_each(|_| machine.spans.begin_round());
        let mut seen = false;
        machine.spans.end_round(|span| {
            seen = true;
            let is_parent =
                |item| matches!(item, Item::Part(SpanPart { what: What::Parent(_), .. }));
            assert!(span.items().any(is_parent) && span.context.trace == 2);
            assert!(Status::has_error(span));
            assert_eq!(span.dropped.attributes, 3, "a status may be too long");
        });
        assert!(seen);
    }

    /// Its event has no room, but its status does.
    #[test]
    fn an_error_without_room_sets_the_status() {
        let text = "x".repeat(MOST_BYTES);
        let cases = [
            (Level::INFO, "message", false),
            (Level::of(log::Level::Error), "message", true),
            (Level::WARN, "", true),
        ];
        for (level, message, expected) in cases {
            let mut machine = Machine::new();
            machine.start(1, 0, unix(10), 10);
            let target = MaybeStatic::Static("app");
            let mut scratch = Scratch::new();
            let mut to = Writer::begin(&mut scratch, unix(11), level, target);
            if !message.is_empty() {
                to.message(format_args!("{message}"));
            }
            to.field(MaybeStatic::Static("error"), Value::Str("it failed"));
            to.field(MaybeStatic::Static("body"), Value::Str(&text));
            Machine::site(&mut to, 1);
            to.end();
            let event = Frame::read(scratch.written()).unwrap();
            machine.spans.event(&event, UnixTime::from_nanos(11));
            assert_eq!(machine.spans.open[&1].dropped.events, 1);
            machine.end(1, unix(20), 20);
            (0..2).for_each(|_| machine.spans.begin_round());
            let mut seen = None;
            machine.spans.end_round(|span| seen = Some(Status::has_error(span)));
            assert_eq!(seen, Some(expected), "{level:?} {message}");
        }
    }

    #[test]
    fn a_span_counts_from_its_own_start() {
        let begin = Instant::now();
        // The rate of the ticks may be corrected meanwhile.
        let all: Vec<_> = (0..14).map(|seconds| begin + Duration::from_secs(seconds)).collect();
        let at = |seconds: usize| all[seconds];
        let mut machine = Machine::new();
        machine.start(1, 0, Time::Ticks(at(0)), 1_000 * SECOND);
        machine.start(2, 1, Time::Ticks(at(8)), 1_008 * SECOND);
        // The clock was set back, and the trace is old.
        machine.start(3, 2, Time::Ticks(at(12)), SECOND);
        machine.start(4, 3, Time::Ticks(at(13)), SECOND);
        let line = |span| machine.spans.open[&span].line;
        let lines = [1, 2, 3, 4].map(|span| (line(span).began, line(span).since));
        assert_eq!(lines, [(0, 0), (0, 8), (12, 12), (12, 13)].map(|(a, b)| (at(a), at(b))));
        assert_eq!(line(3).start, UnixTime::from_nanos(SECOND));
    }

    /// Each span once.
    #[test]
    fn a_span_that_is_open_ends_on_its_trace_s_line_meanwhile() {
        let begin = Instant::now();
        let ticks = |seconds: u64| Time::Ticks(begin + Duration::from_secs(seconds));
        let mut machine = Machine::new();
        machine.start(1, 0, ticks(0), 1_000 * SECOND);
        let unfinished = |machine: &mut Machine| {
            let mut ends = Vec::new();
            // The clock was set back meanwhile.
            machine.spans.unfinished(ticks(2), UnixTime::from_nanos(7), |span| {
                assert!(span.is_unfinished);
                ends.push(span.end.as_nanos());
            });
            ends
        };
        let ends = unfinished(&mut machine);
        assert!(ends.len() == 1 && ends[0].abs_diff(1_002 * SECOND) < 1_000_000, "{ends:?}");
        assert!(unfinished(&mut machine).is_empty());
    }

    /// Its end is not recorded.
    #[test]
    fn a_span_that_is_not_sampled_after_all_is_forgotten() {
        let mut machine = Machine::new();
        machine.start(1, 0, unix(10), 10);
        let mut scratch = Scratch::new();
        Writer::begin_part(&mut scratch, unix(11), RecordKind::Discard, context(1)).end();
        machine.spans.part(scratch.written(), UnixTime::from_nanos(11), QueueId::of(1));
        assert!(machine.spans.open.is_empty());
        (0..2).for_each(|_| machine.end_round());
        assert_eq!(machine.finished, []);
    }

    /// The thread is interrupted between the two for longer than any look takes.
    #[test]
    fn a_span_is_removed_long_after_its_end_was_dropped() {
        let (mut machine, contexts) = (Machine::new(), Contexts::new());
        contexts.insert(Key(1), context(1), false);
        machine.start(1, 0, unix(10), 10);
        machine.spans.suspect_lost_ends();
        let mut rounds = |count: u32| {
            for _ in 0..count {
                machine.end_round();
                machine.spans.end_lost(&contexts, UnixTime::from_nanos(20));
            }
            machine.finished.clone()
        };
        assert_eq!(rounds(100), []);
        contexts.remove(Key(1), 1);
        assert_eq!(rounds(100), [], "nobody looks");
        contexts.lose_end();
        assert_eq!(rounds(100), [(1, 10, 20, 0)]);
    }

    /// A span never ends before its start, and an early record waits for one round only.
    #[test]
    fn records_of_spans_that_never_started_are_counted() {
        let mut machine = Machine::new();
        machine.end(7, unix(5), 5);
        machine.event(8, 5);
        (0..2).for_each(|_| machine.end_round());
        assert!(!machine.spans.are_waiting());
        assert_eq!(machine.finished, []);
        assert_eq!((machine.spans.take_spanless(), machine.spans.take_spanless()), (2, 0));
        // An event that was kept longer than its span is none of them.
        let mut scratch = Scratch::new();
        let target = MaybeStatic::Static("app");
        let mut to = Writer::begin(&mut scratch, unix(5), Level::INFO, target);
        Machine::site(&mut to, 8);
        to.end();
        machine.spans.released(&Frame::read(scratch.written()).unwrap(), UnixTime::EPOCH);
        assert!(!machine.spans.are_waiting());
    }
}
