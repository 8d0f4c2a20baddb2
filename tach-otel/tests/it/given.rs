//! Each treatment of given times.

use core::time::Duration;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::Context;
use opentelemetry::trace::{Event, Span, TraceContextExt, Tracer};
use opentelemetry_sdk::trace::SpanData;
use tach_core::adapter::system_time_step_ns;
use tach_otel::Incoming;

use crate::support::{Sdk, assert_in_order, tach_now, tolerance};

const HOUR: Duration = Duration::from_secs(3600);

/// Returns a span with these times. The builder already holds one of its two events.
fn record(incoming: Incoming, start: SystemTime, event: SystemTime, end: SystemTime) -> SpanData {
    let sdk = Sdk::new();
    let tracer = sdk.clocked(incoming);
    let built = Event::new("built", event, vec![], 0);
    let mut span =
        tracer.span_builder("given").with_start_time(start).with_events(vec![built]).start(&tracer);
    span.add_event_with_timestamp("added", event, vec![]);
    span.end_with_timestamp(end);
    sdk.span("given")
}

fn times(span: &SpanData) -> [SystemTime; 4] {
    [span.start_time, span.events[0].timestamp, span.events[1].timestamp, span.end_time]
}

#[test]
fn keep_passes_every_time_on() {
    let [early, late] = [1, 2].map(|hours| UNIX_EPOCH + hours * HOUR);
    let before_the_epoch = UNIX_EPOCH - HOUR;
    for [start, event, end] in
        [[early, early, late], [late, early, early], [late, before_the_epoch, UNIX_EPOCH]]
    {
        let span = record(Incoming::Keep, start, event, end);
        assert_eq!(times(&span), [start, event, event, end]);
    }
}

#[test]
fn keep_reads_tach_s_clock_where_no_time_is_given() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked(Incoming::Keep);
    let start = UNIX_EPOCH + HOUR;
    let before = tach_now();
    drop(tracer.span_builder("old").with_start_time(start).start(&tracer));
    let old = sdk.span("old");
    assert_eq!(old.start_time, start);
    assert!(before <= old.end_time);

    let ahead = tach_now() + HOUR;
    drop(tracer.span_builder("ahead").with_start_time(ahead).start(&tracer));
    let ahead_of_now = sdk.span("ahead");
    assert_eq!((ahead_of_now.start_time, ahead_of_now.end_time), (ahead, ahead));
}

#[test]
fn restamp_replaces_every_time_by_now() {
    for given in [UNIX_EPOCH, UNIX_EPOCH - HOUR, tach_now() + HOUR] {
        let before = tach_now();
        let span = record(Incoming::Restamp, given, given, given);
        let after = tach_now();
        let slack = tolerance(after.duration_since(before).unwrap());
        for time in times(&span) {
            assert!(before <= time && time <= after + slack, "{given:?} became {time:?}");
        }
        assert_in_order(&span);
    }
}

/// The slack is opposite slews of the OS's clock and tach's, and a step of 1 us of the OS's clock.
#[test]
fn rebase_keeps_the_age_of_a_time() {
    let before = tach_now();
    let given = SystemTime::now();
    let span = record(Incoming::Rebase, given - 2 * HOUR, given - HOUR, given);
    let after = tach_now();

    let slack = Duration::from_micros(1) + 2 * tolerance(after.duration_since(before).unwrap());
    for (time, age) in times(&span).into_iter().zip([2, 1, 1, 0]) {
        let age = age * HOUR;
        assert!(before - age <= time + slack, "{time:?} is older than {age:?}");
        assert!(time <= after - age + slack, "{time:?} is younger than {age:?}");
    }
}

#[test]
fn rebase_lets_nothing_come_before_the_start() {
    let now = SystemTime::now();
    let span = record(Incoming::Rebase, now, now - HOUR, now - HOUR);
    assert_eq!(times(&span), [span.start_time; 4]);

    let early = record(Incoming::Rebase, now, now - HOUR, now);
    assert_eq!(early.events[1].timestamp, early.start_time);
}

/// Times from before the wall clock was set back lie ahead by an hour.
#[test]
fn rebase_lets_nothing_come_after_now() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked(Incoming::Rebase);
    let before = tach_now();
    let ahead = SystemTime::now() + HOUR;
    let start = tracer.span_builder("parent").with_start_time(ahead).start(&tracer);
    let parent = Context::new().with_span(start);
    tracer.start_with_context("child", &parent).end();
    parent.span().add_event_with_timestamp("event", ahead, vec![]);
    parent.span().end_with_timestamp(ahead);
    let after = tach_now();

    let [parent, child] = ["parent", "child"].map(|name| sdk.span(name));
    assert_in_order(&parent);
    assert!(parent.start_time <= child.start_time && child.end_time <= parent.end_time);
    let slack = tolerance(after.duration_since(before).unwrap());
    assert!(before <= parent.start_time && parent.end_time <= after + slack);
}

#[test]
fn rebase_holds_for_events_of_a_span_that_starts_now() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked(Incoming::Rebase);
    let early = Event::new("early", SystemTime::now() - HOUR, vec![], 0);
    let late = Event::new("late", SystemTime::now() + HOUR, vec![], 0);
    let before = tach_now();
    tracer.span_builder("work").with_events(vec![early, late]).start(&tracer).end();
    let after = tach_now();

    let span = sdk.span("work");
    assert!(before <= span.start_time && span.start_time <= after);
    assert_eq!(span.events[0].timestamp, span.start_time);
    assert_eq!(span.events[1].timestamp, span.start_time);
}

#[test]
fn no_time_is_too_far_off() {
    let mut latest = UNIX_EPOCH;
    for bit in (0..63).rev() {
        latest = latest.checked_add(Duration::from_secs(1 << bit)).unwrap_or(latest);
    }
    for incoming in [Incoming::Keep, Incoming::Rebase, Incoming::Restamp] {
        for [start, other] in [[latest, UNIX_EPOCH], [UNIX_EPOCH, latest], [latest, latest]] {
            let span = record(incoming, start, other, other);
            if incoming != Incoming::Keep {
                assert!(span.start_time <= span.end_time, "{incoming:?}");
            }
        }
    }
}

/// A time longer than the steps of the OS's clocks: 1 us on Apple's systems.
const A_LITTLE: Duration = Duration::from_nanos(1_500);

/// Waits by the OS's clock, and returns its time.
fn a_little_after(time: SystemTime) -> SystemTime {
    loop {
        let now = SystemTime::now();
        if now >= time + A_LITTLE {
            return now;
        }
    }
}

/// If the thread is held up for that long between the two clock reads, the child comes out too
/// young: fewer than one in 10,000, even on a host with more threads than cores.
#[test]
fn rebase_keeps_what_is_a_little_older_than_the_parent() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked(Incoming::Rebase);
    for _ in 0..300 {
        let early = SystemTime::now();
        a_little_after(early);
        let parent = Context::new().with_span(tracer.start_with_context("parent", &Context::new()));
        let child = tracer.span_builder("child").with_start_time(early);
        child.start_with_context(&tracer, &parent).end();
        parent.span().end();
    }
    let is_older = |spans: &&[SpanData]| spans[0].start_time < spans[1].start_time;
    let older = sdk.exported().chunks(2).filter(is_older).count();
    assert!(older > 290, "{older} of 300");
}

#[test]
fn rebase_keeps_the_distance_of_events_from_the_start() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked(Incoming::Rebase);
    for _ in 0..300 {
        let start = SystemTime::now();
        let event = Event::new("event", a_little_after(start), vec![], 0);
        tracer.span_builder("work").with_start_time(start).with_events(vec![event]).start(&tracer);
    }
    for span in sdk.exported() {
        let since_start = span.events[0].timestamp.duration_since(span.start_time).unwrap();
        assert!(since_start >= A_LITTLE / 4, "{since_start:?}");
    }
}

/// Given times alternate with others, on one thread and on two.
#[test]
fn rebase_keeps_the_order_of_what_is_given_and_what_is_not() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked(Incoming::Rebase);
    for number in 0..3_000 {
        let start = tracer.span_builder("parent").with_start_time(SystemTime::now());
        let mut parent = start.start(&tracer);
        parent.add_event("now", vec![]);
        parent.add_event_with_timestamp("given", SystemTime::now(), vec![]);
        parent.add_event("now", vec![]);
        let context = Context::new().with_remote_span_context(parent.span_context().clone());
        let child = || {
            tracer.start_with_context("child", &context).end_with_timestamp(SystemTime::now());
        };
        if number % 50 == 0 {
            thread::scope(|scope| scope.spawn(child).join()).unwrap();
        } else {
            child();
        }
        parent.add_event("now", vec![]);
        parent.end_with_timestamp(SystemTime::now());
    }
    // A span may be early by this much for each of its ancestors.
    let nanosecond = Duration::from_nanos(system_time_step_ns());
    for spans in sdk.exported().chunks(2) {
        let [child, parent] = spans else { panic!("{spans:?}") };
        let [first, given, second, last] = &parent.events[..] else { panic!("{parent:?}") };
        let [first, given, second, last] = [first, given, second, last].map(|it| it.timestamp);
        let child = [child.start_time + nanosecond, child.end_time + nanosecond];
        let told = [parent.start_time, first, given, second, child[0], child[1], last + nanosecond];
        assert!(told.is_sorted(), "{told:?}");
        assert!(last <= parent.end_time);
    }
}
