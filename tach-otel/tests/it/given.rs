//! Times that callers give are kept, unless the wall clock was stepped.

use core::time::Duration;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::Context;
use opentelemetry::trace::{Event, Span, TraceContextExt, Tracer, TracerProvider};
use opentelemetry_sdk::trace::SpanData;
use tach_core::{Clock, Instant, ManualClock, SystemClock, UnixTime};
use tach_otel::Clocked;

use crate::support::{Sdk, tach_now};

const HOUR: Duration = Duration::from_secs(3600);

/// Returns a span with these times. The builder already holds one of its two events.
fn record(start: SystemTime, event: SystemTime, end: SystemTime) -> SpanData {
    let sdk = Sdk::new();
    let tracer = sdk.clocked();
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
fn what_a_caller_chose_is_kept_to_the_nanosecond() {
    let now = SystemTime::now();
    // Windows counts in steps of 100 ns.
    let nanosecond = Duration::from_nanos(if cfg!(windows) { 100 } else { 1 });
    let [early, late] = [1, 2].map(|hours| UNIX_EPOCH + hours * HOUR);
    let [before, recent] = [30, 1].map(|seconds| now - Duration::from_secs(seconds));
    let ahead = now + HOUR;
    for [start, event, end] in [
        [early, early, late],
        [early, late, late],
        [early, early + nanosecond, early + 2 * nanosecond],
        [before, recent, recent + nanosecond],
        [before, before, before],
        [before, ahead, recent],
        [recent, ahead, ahead + nanosecond],
        [ahead, ahead, ahead],
    ] {
        assert_eq!(times(&record(start, event, end)), [start, event, event, end]);
    }
}

/// The SDK keeps such times too.
#[test]
fn given_times_before_a_given_start_are_kept() {
    for start in [UNIX_EPOCH + HOUR, SystemTime::now() + HOUR, SystemTime::now()] {
        let (event, end) = (start - HOUR / 2, start - Duration::from_micros(3));
        assert_eq!(times(&record(start, event, end)), [start, event, event, end]);
    }
}

/// The clocks' error and steps that follow each other at once explain distances of up to 60 s.
/// Nothing explains a longer distance: the caller chose the end.
#[test]
fn an_end_is_not_before_a_start_that_tach_read_unless_it_is_far_before() {
    let clock: &ManualClock = Box::leak(Box::new(ManualClock::new(UnixTime::now())));
    for before in [0, 1, 999_999, 1_000_000, 5_000_000_000, 60_000_000_000] {
        assert_eq!(
            ended(clock, before).end_time,
            SystemTime::from(clock.unix_time()),
            "{before} ns"
        );
    }
    for before in [60_000_001_000, 3_600_000_000_000] {
        let given = SystemTime::from(clock.unix_time()) - Duration::from_nanos(before);
        assert_eq!(ended(clock, before).end_time, given, "{before} ns");
    }
}

/// Returns a span whose start tach reads, and that ends `before` nanoseconds earlier.
fn ended(clock: &'static ManualClock, before: u64) -> SpanData {
    let sdk = Sdk::new();
    let tracer = Clocked::new(sdk.provider.clone()).with_clock(clock).tracer("it");
    let start = SystemTime::from(clock.unix_time());
    tracer.start("own").end_with_timestamp(start - Duration::from_nanos(before));
    let span = sdk.span("own");
    assert_eq!(span.start_time, start);
    span
}

/// Replays a parent and a child with the same start and end.
#[test]
fn a_replayed_child_is_where_its_parent_is() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked();
    for number in 0..2_000 {
        let start = SystemTime::now() - Duration::from_secs(30) + Duration::from_nanos(number);
        let end = start + Duration::from_micros(7);
        let begin = |context: &Context| {
            let builder = tracer.span_builder("replayed").with_start_time(start);
            builder.start_with_context(&tracer, context)
        };
        let parent = Context::new().with_span(begin(&Context::new()));
        let child = parent.with_span(begin(&parent));
        child.span().end_with_timestamp(end);
        parent.span().end_with_timestamp(end);
    }
    let spans = sdk.exported();
    assert_eq!(spans.len(), 4_000);
    for pair in spans.chunks(2) {
        assert_eq!(pair[0].start_time, pair[1].start_time);
        let took = pair[0].end_time.duration_since(pair[0].start_time).unwrap();
        assert_eq!((pair[0].end_time, took), (pair[1].end_time, Duration::from_micros(7)));
    }
}

#[test]
fn times_that_are_not_given_are_tach_s_and_not_before_a_start_that_is() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked();
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

/// Acts like a driver that learns of three phases when they are over.
#[test]
fn phases_that_are_reported_afterwards_keep_their_lengths_and_seams() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked();
    let micros = Duration::from_micros;
    let mut given = Vec::new();
    for _ in 0..5_000 {
        let end = SystemTime::now();
        // The driver reports two microseconds later.
        while end.elapsed().unwrap_or_default() < micros(2) {}
        let seams = [end - micros(4), end - micros(3), end - micros(1), end];
        for phase in seams.windows(2) {
            let mut span = tracer.span_builder("phase").with_start_time(phase[0]).start(&tracer);
            span.end_with_timestamp(phase[1]);
            given.push((phase[0], phase[1]));
        }
    }
    let exported: Vec<_> =
        sdk.exported().iter().map(|span| (span.start_time, span.end_time)).collect();
    assert_eq!(exported.len(), 15_000);
    let wrong = exported.iter().zip(&given).filter(|(exported, given)| exported != given).count();
    assert_eq!(wrong, 0, "of 15,000");
}

/// The times of the events were read before the span starts or while it is open, at any age.
#[test]
fn ascending_events_stay_ascending() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked();
    let mut given = Vec::new();
    for number in 0..2_000_u32 {
        let first = SystemTime::now() - number % 20 * Duration::from_micros(2);
        let mut span = tracer.start("events");
        for step in 0..19 {
            let ago = first + step * Duration::from_nanos(400);
            let time = if step % 3 == 2 { ago.max(SystemTime::now()) } else { ago };
            let time =
                given.last().copied().filter(|last| step > 0 && *last > time).unwrap_or(time);
            span.add_event_with_timestamp("event", time, vec![]);
            given.push(time);
        }
    }
    let exported = sdk.exported();
    let events = exported.iter().flat_map(|span| span.events.iter().map(|event| event.timestamp));
    let wrong = events.zip(&given).filter(|(exported, given)| exported != *given).count();
    assert_eq!((given.len(), wrong), (38_000, 0));
}

/// A clock far from the wall clock shows whether a given time was moved. With such a clock,
/// `Clocked` takes a time of up to 10 s ago for a reading of the wall clock, and moves it.
#[test]
fn only_times_of_just_now_are_moved() {
    const START: Duration = Duration::from_secs(1_700_000_000);
    let clock: &ManualClock =
        Box::leak(Box::new(ManualClock::new(UnixTime::EPOCH.saturating_add(START))));
    for (age_ms, is_moved) in [(0, true), (1_000, true), (10_100, false), (30_000, false)] {
        let sdk = Sdk::new();
        let tracer = Clocked::new(sdk.provider.clone()).with_clock(clock).tracer("it");
        let given = SystemTime::now() - Duration::from_millis(age_ms);
        tracer.start("given").end_with_timestamp(given);
        let end = sdk.span("given").end_time;
        assert_eq!(end, if is_moved { UNIX_EPOCH + START } else { given }, "{age_ms} ms");
    }
}

/// The system's clock, as a clock of its own.
struct Same;

impl Clock for Same {
    fn monotonic_now(&self) -> Instant {
        SystemClock.monotonic_now()
    }

    fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
        SystemClock.duration_between(earlier, later)
    }

    fn unix_time_at(&self, instant: Instant) -> UnixTime {
        SystemClock.unix_time_at(instant)
    }
}

/// There was no step.
#[test]
fn no_time_is_moved_by_a_clock_at_the_wall_clock() {
    for ahead_ns in [-2_000_000, -900, 0, 900, 2_000] {
        let sdk = Sdk::new();
        let tracer = Clocked::new(sdk.provider.clone()).with_clock(&Same).tracer("it");
        let mut span = tracer.start("given");
        let now = Same.unix_time().as_nanos();
        let given = SystemTime::from(UnixTime::from_nanos(now.saturating_add_signed(ahead_ns)));
        span.add_event_with_timestamp("event", given, vec![]);
        span.end_with_timestamp(given);
        let span = sdk.span("given");
        // An end is not before a start that tach read.
        assert_eq!(span.end_time, given.max(span.start_time), "{ahead_ns} ns");
        assert_eq!(span.events[0].timestamp, given, "{ahead_ns} ns");
    }
}

/// By its age, which the real wall clock measures, the time would be kept.
#[test]
fn a_time_of_the_wall_clock_is_now_on_a_line_that_is_apart() {
    let sdk = Sdk::new();
    let clock = ManualClock::new(UnixTime::now().saturating_add(100 * HOUR));
    let clock: &ManualClock = Box::leak(Box::new(clock));
    let tracer = Clocked::new(sdk.provider.clone()).with_clock(clock).tracer("it");
    let mut span = tracer.start("given");
    clock.advance(Duration::from_secs(1));
    clock.step_forward(HOUR);
    let given = SystemTime::from(clock.unix_time()) - Duration::from_nanos(500);
    span.add_event_with_timestamp("event", given, vec![]);
    span.end_with_timestamp(given);
    let span = sdk.span("given");
    assert_eq!(span.end_time, span.start_time + Duration::from_secs(1));
    assert_eq!(span.events[0].timestamp, span.end_time);
}

#[test]
fn events_of_a_span_that_starts_now_are_kept() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked();
    let ahead = SystemTime::now() + HOUR;
    let before_start = SystemTime::now() - HOUR;
    let early = Event::new("early", before_start, vec![], 0);
    let late = Event::new("late", ahead, vec![], 0);
    let before = tach_now();
    tracer.span_builder("work").with_events(vec![early, late]).start(&tracer).end();
    let after = tach_now();

    let span = sdk.span("work");
    assert!(before <= span.start_time && span.start_time <= after);
    assert_eq!([span.events[0].timestamp, span.events[1].timestamp], [before_start, ahead]);
}

#[test]
fn no_time_is_too_far_off() {
    let mut latest = UNIX_EPOCH;
    for bit in (0..63).rev() {
        latest = latest.checked_add(Duration::from_secs(1 << bit)).unwrap_or(latest);
    }
    for [start, other] in [[latest, UNIX_EPOCH], [UNIX_EPOCH, latest], [latest, latest]] {
        assert_eq!(times(&record(start, other, other)), [start, other, other, other]);
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

/// If the thread is held up for [`A_LITTLE`] between the two clock reads, the child comes out too
/// young: fewer than one in 10,000, even on a host with more threads than cores.
#[test]
fn what_is_a_little_older_than_the_parent_stays_so() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked();
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
fn events_keep_their_distance_from_the_start() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked();
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
fn times_that_are_given_and_others_keep_their_order() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked();
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
    // A given time may be before one that tach read, by the error of the two clocks.
    let error = Duration::from_millis(1);
    for spans in sdk.exported().chunks(2) {
        let [child, parent] = spans else { panic!("{spans:?}") };
        let [first, given, second, last] = &parent.events[..] else { panic!("{parent:?}") };
        let [first, given, second, last] = [first, given, second, last].map(|it| it.timestamp);
        let child = [child.start_time, child.end_time];
        let ours = [parent.start_time, first, second, child[0], last];
        assert!(ours.is_sorted(), "{ours:?}");
        for (given, next) in [(given, second), (child[1], last)] {
            assert!(given <= next + error, "{given:?}, {next:?}");
        }
        assert!(child[0] <= child[1] && first <= given + error && last <= parent.end_time + error);
    }
}
