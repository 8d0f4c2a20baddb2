use core::time::Duration;

use tach_core::Instant;
use tach_log::Value;

use super::span::{MOST_BYTES, RESERVED};
use super::*;
use crate::spans::span::{Dropped, Item};
use crate::trace::{Begun, Started, slots};
use tach_record::frame::{Code, MaybeStatic};
use tach_record::frame::{Linked, Lost, Origin, Remains, Scratch, Writer};
use tach_record::ids::{Around, SpanContext};
use tach_record::level::Level;

const TRACE: u128 = 1;
const MOST_EVENTS: u32 = 128;
/// A second in nanoseconds. A tick of the clock is some nanoseconds at most.
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
        let context = context(span);
        let mut scratch = Scratch::new();
        let level = Level::INFO;
        Writer::begin_span(&mut scratch, at, level, "app", "name", context, parent).end();
        self.spans.part(scratch.written(), UnixTime::from_nanos(wall_ns), QueueId(1));
    }

    fn end(&mut self, span: u64, at: Time, wall_ns: u64) {
        let context = context(span);
        let mut scratch = Scratch::new();
        Writer::begin_part(&mut scratch, at, RecordKind::End, context).end();
        self.spans.part(scratch.written(), UnixTime::from_nanos(wall_ns), QueueId(1));
    }

    /// Adds a span that comes as one record.
    fn one_record(&mut self, span: u64, since: Time, end: Time, wall_ns: u64) {
        let code = Code::of(1).unwrap();
        let (context, since) = (context(span), since.number());
        let record = frame::SpanRecord { code, context, parent: 9, since, age: 0, thread: 4 };
        let record = record.words(end).map(u64::to_le_bytes).concat();
        self.spans.ended(&record, UnixTime::from_nanos(wall_ns), 4);
    }

    fn event(&mut self, span: u64, wall_ns: u64) {
        let mut scratch = Scratch::new();
        let time = UnixTime::from_nanos(wall_ns);
        let target = MaybeStatic::Static("app");
        let mut to = Writer::begin(&mut scratch, Time::Unix(time), Level::INFO, target);
        Self::site(&mut to, span);
        to.end();
        self.spans.event(context(span), scratch.written(), time);
    }

    /// Writes the span of an event.
    fn site(to: &mut Writer<'_>, span: u64) {
        let empty = MaybeStatic::Static("");
        let place = tach_record::frame::Place { file: empty, line: 0, module: empty };
        let wanted =
            tach_record::frame::Wanted { spans: true, ..tach_record::frame::Wanted::default() };
        to.site(wanted, place, Some(Around { context: context(span), is_own: true }));
    }

    fn part(&mut self, kind: RecordKind, span: u64, write: impl FnOnce(&mut Writer<'_>)) {
        let mut scratch = Scratch::new();
        let mut to = Writer::begin_part(&mut scratch, unix(11), kind, context(span));
        write(&mut to);
        to.end();
        self.spans.part(scratch.written(), UnixTime::from_nanos(11), QueueId(1));
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
    // An event that comes two rounds late belongs to no span any more.
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
    // The wall clock is set back by an hour, and then by half a second.
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
    // The root is old, so its new children begin a line that follows the step. Their own children
    // stay on that line.
    assert!(near(spans(3).1, 20, SECOND / 2) && near(spans(3).2, 23, SECOND / 2));
    assert!(near(spans(4).1, 21, SECOND / 2) && near(spans(4).2, 23, SECOND / 2));
    // A difference as small as that of a slewed clock does not count as a step.
    assert!(near(spans(5).1, 22, 0));
}

#[test]
fn what_a_span_has_no_room_for_is_counted() {
    let mut machine = Machine::new();
    machine.start(1, 0, unix(10), 10);
    (0..MOST_EVENTS + 3).for_each(|_| machine.event(1, 15));
    assert_eq!(machine.spans.open[&1].dropped.parts.events, 3);
    machine.end(1, unix(5), 5);
    (0..2).for_each(|_| machine.end_round());
    assert_eq!(machine.finished, [(1, 10, 10, 128)], "a span does not end before it starts");
    // The bound of bytes is reached before the bound of events.
    machine.start(2, 0, unix(10), 10);
    let text = "x".repeat(MOST_BYTES - 1024);
    for _ in 0..3 {
        let mut scratch = Scratch::new();
        let mut to = Writer::begin_part(&mut scratch, unix(11), RecordKind::Values, context(2));
        to.field(MaybeStatic::Static("key"), Value::Str(&text));
        to.field(MaybeStatic::Static("number"), Value::I64(7));
        to.end();
        machine.spans.part(scratch.written(), UnixTime::from_nanos(11), QueueId(1));
        let mut scratch = Scratch::new();
        let mut to = Writer::begin_part(&mut scratch, unix(12), RecordKind::Link, context(2));
        to.link(Linked { context: context(9), origin: Origin::Local });
        to.field(MaybeStatic::Static("key"), Value::Str(&text));
        to.end();
        machine.spans.part(scratch.written(), UnixTime::from_nanos(12), QueueId(1));
    }
    let expected = Lost { attributes: 4, links: 3, ..Lost::default() };
    assert_eq!(machine.spans.open[&2].dropped.parts, expected);
    // The counts of dropped items stop at their largest value instead of overflowing.
    let open = machine.spans.open.get_mut(&2).unwrap();
    let most = Lost { links: u32::MAX, events: u32::MAX, ..open.dropped.parts };
    (open.dropped.parts, open.events) = (most, MOST_EVENTS);
    machine.event(2, 15);
    machine.part(RecordKind::Link, 2, |to| {
        to.link(Linked { context: context(9), origin: Origin::Local });
        to.field(MaybeStatic::Static("key"), Value::Str(&text));
    });
    assert_eq!(machine.spans.open[&2].dropped.parts, most);
}

#[test]
fn a_span_with_a_long_start_has_its_parent_its_status_and_its_events() {
    let mut machine = Machine::new();
    let text = "x".repeat(MOST_BYTES);
    let mut scratch = Scratch::new();
    let mut to =
        Writer::begin_span(&mut scratch, unix(10), Level::INFO, "app", "name", context(1), 0);
    to.field(MaybeStatic::Static("body"), Value::Str(&text));
    to.end();
    machine.spans.part(scratch.written(), UnixTime::from_nanos(10), QueueId(1));
    machine.event(1, 15);
    let dropped = machine.spans.open[&1].dropped;
    assert_eq!((dropped.parts.events, dropped.parts.attributes), (0, 0));
    assert!(dropped.bytes >= 128 * 1024, "the text is cut: {dropped:?}");
    // Use up the rest of the bound, first with long values and then with short ones.
    for (dropped, length) in [(1, 1024), (2, 8)] {
        while machine.spans.open[&1].dropped.parts.attributes < dropped {
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
        to.link(Linked { context: parent, origin: Origin::Remote });
        to.field(MaybeStatic::Static("otel.trace_state"), Value::Str(&text[..RESERVED]));
    });
    set_status(&mut machine, 512);
    set_status(&mut machine, 2 * RESERVED);
    machine.end(1, unix(20), 20);
    (0..2).for_each(|_| machine.spans.begin_round());
    let mut seen = false;
    machine.spans.end_round(|span| {
        seen = true;
        let is_parent = |item| matches!(item, Item::Part(SpanPart { what: What::Parent(_), .. }));
        assert!(span.items().any(is_parent) && span.context.trace == 2);
        assert!(span.has_error());
        assert_eq!(span.dropped.parts.attributes, 3, "a status may be too long");
    });
    assert!(seen);
}

/// There is no room for the error's event, but the error sets the status nevertheless.
#[test]
fn an_error_without_room_sets_the_status() {
    let text = "x".repeat(MOST_BYTES);
    let fills = "x".repeat(MOST_BYTES - 1024);
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
        machine.part(RecordKind::Values, 1, |to| {
            to.field(MaybeStatic::Static("fills"), Value::Str(&fills));
        });
        machine.spans.event(context(1), scratch.written(), UnixTime::from_nanos(11));
        assert_eq!(machine.spans.open[&1].dropped.parts.events, 1);
        machine.end(1, unix(20), 20);
        (0..2).for_each(|_| machine.spans.begin_round());
        let mut seen = None;
        machine.spans.end_round(|span| seen = Some(span.has_error()));
        assert_eq!(seen, Some(expected), "{level:?} {message}");
    }
}

/// `Tail` would keep the trace otherwise.
#[test]
fn the_status_of_a_link_is_not_that_of_the_span() {
    let mut machine = Machine::new();
    machine.start(1, 0, unix(10), 10);
    machine.part(RecordKind::Link, 1, |to| {
        to.link(Linked { context: context(9), origin: Origin::Local });
        to.field(MaybeStatic::Static("otel.status_code"), Value::Str("error"));
    });
    machine.end(1, unix(20), 20);
    (0..2).for_each(|_| machine.spans.begin_round());
    let mut seen = None;
    machine.spans.end_round(|span| seen = Some(span.has_error()));
    assert_eq!(seen, Some(false));
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
    // The wall clock was set back, and the trace is old.
    machine.start(3, 2, Time::Ticks(at(12)), SECOND);
    machine.start(4, 3, Time::Ticks(at(13)), SECOND);
    let line = |span| machine.spans.open[&span].line;
    let lines = [1, 2, 3, 4].map(|span| (line(span).began, line(span).since));
    assert_eq!(lines, [(0, 0), (0, 8), (12, 12), (12, 13)].map(|(a, b)| (at(a), at(b))));
    assert_eq!(line(3).start, UnixTime::from_nanos(SECOND));
}

/// Each open span is passed on only once.
#[test]
fn a_span_that_is_open_ends_on_its_trace_s_line_meanwhile() {
    let begin = Instant::now();
    let ticks = |seconds: u64| Time::Ticks(begin + Duration::from_secs(seconds));
    let mut machine = Machine::new();
    machine.start(1, 0, ticks(0), 1_000 * SECOND);
    let unfinished = |machine: &mut Machine| {
        let mut ends = Vec::new();
        // The wall clock was set back meanwhile.
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

/// A span that is discarded gets no record of its end.
#[test]
fn a_span_that_is_not_sampled_after_all_is_forgotten() {
    let mut machine = Machine::new();
    machine.start(1, 0, unix(10), 10);
    let mut scratch = Scratch::new();
    Writer::begin_part(&mut scratch, unix(11), RecordKind::Discard, context(1)).end();
    machine.spans.part(scratch.written(), UnixTime::from_nanos(11), QueueId(1));
    assert!(machine.spans.open.is_empty());
    (0..2).for_each(|_| machine.end_round());
    assert_eq!(machine.finished, []);
}

/// The thread is interrupted after it dropped the end and before it removes the ids of the span.
/// The interruption lasts longer than any search.
#[test]
fn a_span_is_removed_long_after_its_end_was_dropped() {
    // No pipeline of another test has this number.
    let (mut machine, contexts) = (Machine::new(), Contexts::new(201, true));
    let span = slots::open(1, None, None, None).unwrap();
    contexts.insert(span, &context(1), Started::default());
    machine.start(1, 0, unix(10), 10);
    machine.spans.suspect_loss(UnixTime::EPOCH);
    let mut rounds = |count: u32| {
        for _ in 0..count {
            machine.end_round();
            machine.spans.end_lost(&contexts);
        }
        machine.finished.clone()
    };
    assert_eq!(rounds(100), []);
    span.ids().remove();
    assert_eq!(rounds(100), [], "nobody looks");
    contexts.lose_end();
    assert_eq!(rounds(100), [(1, 10, 10, 0)], "nothing is known of it after its start");
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
    // An event that was kept for a backtrace, and whose span was passed on meanwhile, does not
    // count as one of them.
    let mut scratch = Scratch::new();
    let target = MaybeStatic::Static("app");
    let mut to = Writer::begin(&mut scratch, unix(5), Level::INFO, target);
    Machine::site(&mut to, 8);
    to.end();
    machine.spans.released(&Frame::read(scratch.written()).unwrap(), UnixTime::EPOCH);
    assert!(!machine.spans.are_waiting());
}

/// A full queue has counted these records where it dropped them.
#[test]
fn what_a_queue_counted_is_not_counted_again() {
    let mut scratch = Scratch::new();
    let mut to = Writer::begin_part(&mut scratch, unix(11), RecordKind::Values, context(7));
    to.field(MaybeStatic::Static("key"), Value::Bool(true));
    to.end();
    let Remains::Part(counts) = frame::remains(scratch.written()) else { panic!("no counts") };
    let mut machine = Machine::new();
    machine.spans.part(&counts, UnixTime::from_nanos(11), QueueId(1));
    (0..3).for_each(|_| machine.end_round());
    assert_eq!((machine.spans.take_spanless(), machine.spans.are_waiting()), (0, false));
}

/// The first start has the time and the fields of the span.
#[test]
fn a_second_start_begins_no_span() {
    for has_first in [true, false] {
        let mut machine = Machine::new();
        if has_first {
            machine.start(1, 0, unix(10), 10);
        }
        let (mut scratch, level) = (Scratch::new(), Level::INFO);
        let mut to =
            Writer::begin_span(&mut scratch, unix(15), level, "app", "name", context(1), 0);
        to.again();
        to.end();
        machine.spans.part(scratch.written(), UnixTime::from_nanos(15), QueueId(1));
        machine.end(1, unix(20), 20);
        (0..3).for_each(|_| machine.end_round());
        let expected: &[_] = if has_first { &[(1, 10, 20, 0)] } else { &[] };
        assert_eq!(machine.finished, expected);
        assert_eq!(machine.spans.take_spanless(), if has_first { 0 } else { 2 });
        assert!(machine.spans.open.is_empty());
    }
}

/// A part without room counts by its attributes, not by the bytes of its texts too.
#[test]
fn bytes_count_as_cut_only_in_parts_that_are_kept() {
    let mut machine = Machine::new();
    machine.start(1, 0, unix(10), 10);
    let long = "x".repeat(2 * MOST_BYTES);
    let values = |machine: &mut Machine, text: &str| {
        machine.part(RecordKind::Values, 1, |to| {
            to.field(MaybeStatic::Static("key"), Value::Str(text));
        });
        let Dropped { parts, bytes, .. } = machine.spans.open[&1].dropped;
        (parts.attributes, bytes)
    };
    assert_eq!(values(&mut machine, &long[..MOST_BYTES - 1024]), (0, 0));
    assert_eq!(values(&mut machine, &long), (1, 0));
}

/// The flight recorder may dump a span before it is passed on.
#[test]
fn a_span_whose_end_was_dropped_is_dumped_without_its_end() {
    let mut machine = Machine::new();
    machine.start(1, 0, unix(10), 10);
    machine.spans.suspect_loss(UnixTime::EPOCH);
    while machine.spans.ending.is_empty() {
        machine.end_round();
        machine.spans.end_lost(&Contexts::new(0, true));
    }
    let mut dumped = Vec::new();
    machine.spans.waiting(UnixTime::from_nanos(30), &mut |span| {
        dumped.push((span.is_unfinished, span.has_end));
    });
    assert_eq!(dumped, [(false, false)]);
}

/// Of a span that comes as one record, the parts and the events come first, and an event may come a
/// round later.
#[test]
fn a_span_of_one_record_has_what_came_before_and_after() {
    let mut machine = Machine::new();
    machine.one_record(1, unix(10), unix(20), 20);
    assert!(machine.spans.are_waiting());
    machine.end_round();
    machine.end_round();
    assert_eq!(machine.finished, [(1, 10, 20, 0)]);
    assert!(!machine.spans.are_waiting());
    machine.finished.clear();
    // Events come in the round of the span's record, in the next one, and, with `wait`, in the one
    // before.
    for wait in [true, false] {
        machine.event(2, 15);
        if wait {
            machine.end_round();
        }
        machine.part(RecordKind::Values, 2, |to| {
            to.field(MaybeStatic::Static("key"), Value::Bool(true));
        });
        machine.one_record(2, unix(10), unix(20), 20);
        machine.end_round();
        machine.event(2, 16);
        machine.end_round();
    }
    assert_eq!(machine.finished, [(2, 10, 20, 2), (2, 10, 20, 2)]);
    assert!(machine.spans.open.is_empty() && !machine.spans.are_waiting());
    (0..2).for_each(|_| machine.end_round());
    assert_eq!(machine.spans.take_spanless(), 0);
}

/// The back end knows no other record of the span, and its queue has counted the span.
#[test]
fn what_waits_for_a_record_that_was_dropped_is_forgotten() {
    let (mut machine, contexts) = (Machine::new(), Contexts::new(202, true));
    let span = slots::open(1, None, None, None).unwrap();
    let begun = Begun { since: 1, parent: 0 };
    let ids = contexts.new_ids(span, None, |_| true);
    contexts.insert(span, &ids, Started { begun, ..Started::default() });
    let id = span.ids().context().span;
    let rounds = |machine: &mut Machine| {
        for _ in 0..20 {
            machine.end_round();
            machine.spans.end_lost(&contexts);
        }
        (machine.spans.take_spanless(), machine.spans.open.len(), machine.spans.are_waiting())
    };
    machine.event(id, 15);
    assert_eq!(rounds(&mut machine), (0, 1, false), "the span is open");
    span.ids().remove();
    machine.spans.suspect_end();
    assert_eq!(rounds(&mut machine), (1, 0, false));
    // An event of a backtrace is no loss.
    let mut scratch = Scratch::new();
    let target = MaybeStatic::Static("app");
    let mut to = Writer::begin(&mut scratch, unix(5), Level::INFO, target);
    Machine::site(&mut to, 8);
    to.end();
    machine.spans.released(&Frame::read(scratch.written()).unwrap(), UnixTime::EPOCH);
    assert_eq!(rounds(&mut machine), (0, 0, false));
    span.number().remove_reference(1).unwrap().free();
}

#[test]
fn a_span_of_one_record_may_lack_more_if_it_was_open_at_a_loss() {
    let mut machine = Machine::new();
    machine.spans.suspect_loss(UnixTime::from_nanos(15));
    for (span, since) in [(1, 15), (2, 16)] {
        machine.one_record(span, unix(since), unix(20), 20);
    }
    machine.spans.begin_round();
    let mut incomplete = Vec::new();
    machine.spans.end_round(|span| incomplete.push((span.context.span, span.is_incomplete())));
    assert_eq!(incomplete, [(1, true), (2, false)]);
}

#[test]
fn a_step_of_the_wall_clock_bends_no_trace_of_spans_of_one_record() {
    let begin = Instant::now();
    let ticks = |seconds: u64| Time::Ticks(begin + Duration::from_secs(seconds));
    // The wall clock is set back by 900 seconds after 4 seconds.
    let wall = |time: Time| {
        let Time::Ticks(instant) = time else { panic!("{time:?}") };
        let after = instant.saturating_duration_since(begin);
        let back = if after > Duration::from_secs(4) { 900 * SECOND } else { 0 };
        UnixTime::from_nanos(1_000 * SECOND - back).saturating_add(after)
    };
    for (began, since, start) in [
        (0, 3, 1_003),
        (0, 6, 1_006),
        (3, 12, 1_012),
        // In the first two cases the trace began after the step, in the last one long before it.
        (5, 6, 106),
        (5, 5, 105),
        (0, 11, 111),
    ] {
        let line = Line::of_ended(ticks(since), ticks(began), wall);
        let near = line.start.as_nanos().abs_diff(start * SECOND) < 1_000_000;
        assert!(near, "{began} {since}: {:?}", line.start);
        let end = line.unix_time(ticks(since + 1), UnixTime::EPOCH);
        assert!(end.as_nanos().abs_diff((start + 1) * SECOND) < 1_000_000);
    }
    let custom = Line::of_ended(unix(7), unix(3), Time::unix_time);
    assert_eq!(custom.start, UnixTime::from_nanos(7));
}
