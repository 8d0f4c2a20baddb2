use core::time::Duration;

use tach_core::Instant;
use tach_log::Value;

use super::*;
use crate::spans::span::{Dropped, Item};
use crate::trace::{Begun, Started, slots};
use tach_record::frame::{
    Code, Linked, Lost, MaybeStatic, Origin, Remains, Scratch, SpanRecord, Writer,
};
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

    /// Adds a span that has ended, with these fields.
    fn end_with(
        &mut self,
        span: u64,
        since: Time,
        end: (Time, u64),
        write: impl FnOnce(&mut Writer<'_>),
    ) {
        let mut scratch = Scratch::new();
        let record = SpanRecord { context: context(span), parent: 9, since, age: 0, thread: 4 };
        let texts = ["app", "name"].map(MaybeStatic::Static);
        let mut to = Writer::begin_span(&mut scratch, Level::INFO, texts, &record);
        write(&mut to);
        to.end();
        scratch.end_span(end.0, true);
        self.spans.ended(scratch.written(), UnixTime::from_nanos(end.1), 4);
    }

    fn end(&mut self, span: u64, since: u64, end: u64) {
        self.end_with(span, unix(since), (unix(end), end), |_| {});
    }

    fn event(&mut self, span: u64, wall_ns: u64) {
        let mut scratch = Scratch::new();
        let time = UnixTime::from_nanos(wall_ns);
        let target = MaybeStatic::Static("app");
        let mut to = Writer::begin(&mut scratch, Time::Unix(time), Level::INFO, target);
        Self::site(&mut to, span);
        to.end();
        self.spans.event(context(span), scratch.written());
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
        self.spans.part(scratch.written());
    }

    /// Adds an event that was kept for a backtrace.
    fn release(&mut self, span: u64) {
        let mut scratch = Scratch::new();
        let target = MaybeStatic::Static("app");
        let mut to = Writer::begin(&mut scratch, unix(5), Level::INFO, target);
        Self::site(&mut to, span);
        to.end();
        self.spans.released(&Frame::read(scratch.written()).unwrap());
    }

    fn end_round(&mut self) {
        let Self { spans, finished } = self;
        // No span is open.
        spans.end_round(&Contexts::new(0, true), |span| {
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
    machine.end(1, 10, 20);
    machine.end_round();
    assert_eq!(machine.finished, []);
    machine.event(1, 15);
    machine.end_round();
    assert_eq!(machine.finished, [(1, 10, 20, 1)]);
    // An event that comes two rounds late belongs to no span any more.
    machine.event(1, 15);
    (0..ROUNDS).for_each(|_| machine.end_round());
    assert!(!machine.spans.are_waiting() && machine.spans.open.is_empty());
}

#[test]
fn what_a_span_has_no_room_for_is_counted() {
    let mut machine = Machine::new();
    (0..MOST_EVENTS + 3).for_each(|_| machine.event(1, 15));
    assert_eq!(machine.spans.open[&1].dropped.parts.events, 3);
    machine.end(1, 10, 5);
    (0..2).for_each(|_| machine.end_round());
    assert_eq!(machine.finished, [(1, 10, 10, 128)], "a span does not end before it starts");
    // The bound of bytes is reached before the bound of events.
    let text = "x".repeat(MOST_BYTES - 1024);
    for _ in 0..3 {
        let mut scratch = Scratch::new();
        let mut to = Writer::begin_part(&mut scratch, unix(11), RecordKind::Values, context(2));
        to.field(MaybeStatic::Static("key"), Value::Str(&text));
        to.field(MaybeStatic::Static("number"), Value::I64(7));
        to.end();
        machine.spans.part(scratch.written());
        let mut scratch = Scratch::new();
        let mut to = Writer::begin_part(&mut scratch, unix(12), RecordKind::Link, context(2));
        to.link(Linked { context: context(9), origin: Origin::Local });
        to.field(MaybeStatic::Static("key"), Value::Str(&text));
        to.end();
        machine.spans.part(scratch.written());
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
    machine.event(1, 15);
    let dropped = machine.spans.open[&1].dropped;
    assert_eq!((dropped.parts.events, dropped.parts.attributes), (0, 0));
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
    machine.end_with(1, unix(10), (unix(20), 20), |to| {
        to.field(MaybeStatic::Static("body"), Value::Str(&text));
    });
    machine.spans.begin_round();
    let mut seen = false;
    machine.spans.pass_on(|span| {
        seen = true;
        assert!(span.dropped.bytes >= 128 * 1024, "the text is cut: {:?}", span.dropped);
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
        machine.spans.event(context(1), scratch.written());
        assert_eq!(machine.spans.open[&1].dropped.parts.events, 1);
        machine.end(1, 10, 20);
        machine.spans.begin_round();
        let mut seen = None;
        machine.spans.pass_on(|span| seen = Some(span.has_error()));
        assert_eq!(seen, Some(expected), "{level:?} {message}");
    }
}

/// `Tail` would keep the trace otherwise.
#[test]
fn the_status_of_a_link_is_not_that_of_the_span() {
    let mut machine = Machine::new();
    machine.part(RecordKind::Link, 1, |to| {
        to.link(Linked { context: context(9), origin: Origin::Local });
        to.field(MaybeStatic::Static("otel.status_code"), Value::Str("error"));
    });
    machine.end(1, 10, 20);
    machine.spans.begin_round();
    let mut seen = None;
    machine.spans.pass_on(|span| seen = Some(span.has_error()));
    assert_eq!(seen, Some(false));
}

/// The record of a thread that is ending, or of a signal handler, comes from the common queue.
#[test]
fn a_thread_without_a_number_may_be_the_same() {
    let (mut machine, time) = (Machine::new(), unix(5));
    for (start, end) in [(4, 4), (4, 5), (4, 0), (0, 5)] {
        let record =
            SpanRecord { context: context(1), parent: 0, since: time, age: 0, thread: start };
        let words = record.words(Code::of(1).unwrap(), time).map(u64::to_le_bytes);
        machine.spans.ended(words.as_flattened(), UnixTime::from_nanos(5), end);
    }
    let mut are_on_one = Vec::new();
    machine.spans.finish(|span| are_on_one.push(span.is_on_one_thread));
    assert_eq!(are_on_one, [true, false, true, true]);
}

/// Each open span is passed on once, but is shown as often as the test asks.
#[test]
fn open_spans_are_shown_unless_they_have_ended_meanwhile() {
    let mut machine = Machine::new();
    let record =
        |span, since| SpanRecord { context: context(span), parent: 0, since, age: 0, thread: 4 };
    let code = Code::of(1).unwrap();
    let begin = Instant::now();
    let ticks = |seconds: u64| Time::Ticks(begin + Duration::from_secs(seconds));
    for span in [1, 2, 3, 4] {
        let words = record(span, ticks(0)).words(code, ticks(2)).map(u64::to_le_bytes);
        machine.spans.seen(words.as_flattened(), UnixTime::from_nanos(7));
    }
    machine.event(1, 15);
    let shown = |machine: &mut Machine, is_at_end: bool| {
        let mut shown = Vec::new();
        let mut each = |span: &Span<'_>| {
            let took = span.end.checked_duration_since(span.start).unwrap();
            let is_near = took.abs_diff(Duration::from_secs(2)) < Duration::from_millis(1);
            assert!(!span.is_unfinished || is_near, "the wall clock was set back meanwhile");
            let events = span.items().filter(|item| matches!(item, Item::Event(..)));
            shown.push((span.context.span, span.is_unfinished, events.count()));
        };
        if is_at_end {
            machine.spans.unfinished(&mut each);
        } else {
            machine.spans.waiting(&mut each);
        }
        shown.sort_unstable();
        shown
    };
    // Two spans end, and one of these is passed on.
    machine.end(3, 10, 20);
    machine.end_round();
    machine.end(2, 10, 20);
    machine.end_round();
    assert_eq!(machine.finished, [(3, 10, 20, 0)]);
    let waiting = [(1, true, 1), (2, false, 0), (4, true, 0)];
    assert_eq!(shown(&mut machine, false), waiting);
    assert_eq!(shown(&mut machine, false), waiting);
    machine.end_round();
    assert_eq!(shown(&mut machine, true), [(1, true, 1), (4, true, 0)]);
    assert_eq!(shown(&mut machine, true), []);
}

/// A span that is discarded gets no record of its end.
#[test]
fn a_span_that_is_not_sampled_after_all_is_forgotten() {
    let mut machine = Machine::new();
    machine.event(1, 15);
    let mut scratch = Scratch::new();
    Writer::begin_part(&mut scratch, unix(11), RecordKind::Discard, context(1)).end();
    machine.spans.part(scratch.written());
    assert!(machine.spans.open.is_empty());
    (0..2).for_each(|_| machine.end_round());
    assert_eq!(machine.finished, []);
}

/// An event that was kept for a backtrace, and whose span was passed on meanwhile, is no loss.
#[test]
fn records_of_spans_that_do_not_come_are_counted() {
    let mut machine = Machine::new();
    machine.event(8, 5);
    (0..ROUNDS).for_each(|_| machine.end_round());
    assert!(!machine.spans.are_waiting());
    assert_eq!(machine.finished, []);
    assert_eq!((machine.spans.take_spanless(), machine.spans.take_spanless()), (1, 0));
    machine.release(8);
    assert!(!machine.spans.are_waiting());
    (0..ROUNDS).for_each(|_| machine.end_round());
    assert_eq!((machine.spans.take_spanless(), machine.spans.open.len()), (0, 0));
}

/// The queue that dropped these records has already counted them.
#[test]
fn what_a_queue_counted_is_not_counted_again() {
    let mut scratch = Scratch::new();
    let mut to = Writer::begin_part(&mut scratch, unix(11), RecordKind::Values, context(7));
    to.field(MaybeStatic::Static("key"), Value::Bool(true));
    to.end();
    let Remains::Part(counts) = frame::remains(scratch.written()) else { panic!("no counts") };
    let mut machine = Machine::new();
    machine.spans.part(&counts);
    (0..3).for_each(|_| machine.end_round());
    assert_eq!((machine.spans.take_spanless(), machine.spans.are_waiting()), (0, false));
}

/// A part without room counts as dropped attributes. The bytes of its texts don't count too.
#[test]
fn bytes_count_as_cut_only_in_parts_that_are_kept() {
    let mut machine = Machine::new();
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

/// The parts and the events of a span come before its record, and an event may come a round later.
#[test]
fn a_span_has_what_came_before_and_after_its_record() {
    let mut machine = Machine::new();
    machine.end(1, 10, 20);
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
        machine.end(2, 10, 20);
        machine.end_round();
        machine.event(2, 16);
        machine.end_round();
    }
    assert_eq!(machine.finished, [(2, 10, 20, 2), (2, 10, 20, 2)]);
    assert!(machine.spans.open.is_empty() && !machine.spans.are_waiting());
    (0..ROUNDS).for_each(|_| machine.end_round());
    assert_eq!(machine.spans.take_spanless(), 0);
}

/// The thread may be interrupted for long between the loss of the record and the end of the span.
#[test]
fn what_waits_for_a_record_that_was_dropped_is_forgotten() {
    // No pipeline of another test has this number.
    let (mut machine, contexts) = (Machine::new(), Contexts::new(202, true));
    let span = slots::open(1, None, None, None).unwrap();
    let ids = contexts.new_ids(span, None, |_| true);
    contexts.insert(span, &ids, Started { begun: Begun::at(1, 0), ..Started::default() });
    let id = span.ids().context().span;
    let rounds = |machine: &mut Machine| {
        for _ in 0..100 {
            machine.spans.end_round(&contexts, |_| {});
        }
        (machine.spans.take_spanless(), machine.spans.open.len(), machine.spans.are_waiting())
    };
    machine.event(id, 15);
    machine.spans.suspect_end();
    assert_eq!(rounds(&mut machine), (0, 1, false), "the span is open");
    span.ids().remove();
    assert_eq!(rounds(&mut machine), (0, 1, false), "nobody looks");
    contexts.lose_end();
    assert_eq!(rounds(&mut machine), (1, 0, false));
    span.number().remove_reference(1).unwrap().free();
}

#[test]
fn a_span_may_lack_more_if_it_was_open_at_a_loss() {
    let mut machine = Machine::new();
    machine.spans.suspect_loss(UnixTime::from_nanos(15));
    for (span, since) in [(1, 15), (2, 16)] {
        machine.end(span, since, 20);
    }
    machine.spans.begin_round();
    let mut incomplete = Vec::new();
    machine.spans.pass_on(|span| incomplete.push((span.context.span, span.is_incomplete())));
    assert_eq!(incomplete, [(1, true), (2, false)]);
}

#[test]
fn a_step_of_the_wall_clock_bends_no_trace() {
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
        let line = Line::of(ticks(since), ticks(began), wall);
        let near = line.start.as_nanos().abs_diff(start * SECOND) < 1_000_000;
        assert!(near, "{began} {since}: {:?}", line.start);
        let end = line.unix_time(ticks(since + 1), UnixTime::EPOCH);
        assert!(end.as_nanos().abs_diff((start + 1) * SECOND) < 1_000_000);
    }
    let custom = Line::of(unix(7), unix(3), Time::unix_time);
    assert_eq!(custom.start, UnixTime::from_nanos(7));
}
