//! The spans of a trace during which the test steps the clock.

use core::time::Duration;
use std::thread;
use std::time::SystemTime;

use opentelemetry::trace::{
    Link, Span, SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags, TraceId,
    TraceState, Tracer, TracerProvider,
};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_sdk::trace::{
    SamplingDecision, SamplingResult, SdkTracer, ShouldSample, SpanData,
};
use tach_core::{ManualClock, UnixTime};
use tach_otel::Clocked;

use crate::support::Sdk;

const SECOND: Duration = Duration::from_secs(1);
const STEPS: [fn(&ManualClock, Duration); 2] = [ManualClock::step_back, ManualClock::step_forward];

fn clocked(sdk: &Sdk) -> (&'static ManualClock, Clocked<SdkTracer, &'static ManualClock>) {
    let clock: &ManualClock = Box::leak(Box::new(ManualClock::new(
        UnixTime::EPOCH.saturating_add(1_700_000_000 * SECOND),
    )));
    let tracer = Clocked::new(sdk.provider.clone()).with_clock(clock).tracer("it");
    (clock, tracer)
}

/// Returns the start and the end of a span since `since`.
fn times(span: &SpanData, since: SystemTime) -> (Duration, Duration) {
    [span.start_time, span.end_time].map(|time| time.duration_since(since).unwrap()).into()
}

#[test]
fn children_lie_within_their_parent_whatever_the_wall_clock_does() {
    for step in STEPS {
        let sdk = Sdk::new();
        let (clock, tracer) = clocked(&sdk);
        let parent = Context::new().with_span(tracer.start("parent"));
        clock.advance(SECOND);
        step(clock, 3600 * SECOND);
        let child = parent.with_span(tracer.start_with_context("child", &parent));
        clock.advance(SECOND);
        step(clock, 3600 * SECOND);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut grandchild = tracer.start_with_context("grandchild", &child);
                clock.advance(SECOND);
                grandchild.end();
            });
        });
        clock.advance(SECOND);
        child.span().end();
        parent.span().end();

        let start = sdk.span("parent").start_time;
        assert_eq!(times(&sdk.span("parent"), start), (Duration::ZERO, 4 * SECOND));
        assert_eq!(times(&sdk.span("child"), start), (SECOND, 4 * SECOND));
        assert_eq!(times(&sdk.span("grandchild"), start), (2 * SECOND, 3 * SECOND));

        // The positive control: another trace follows the wall clock.
        let mut other = tracer.start_with_context("other", &Context::new());
        other.end();
        let other = sdk.span("other").start_time;
        assert!(other + 3600 * SECOND < start || other > start + 3600 * SECOND);
    }
}

#[test]
fn a_child_finds_the_line_when_its_parent_and_the_root_are_over() {
    let sdk = Sdk::new();
    let (clock, tracer) = clocked(&sdk);
    let root = Context::new().with_span(tracer.start("root"));
    let parent = root.with_span(tracer.start_with_context("parent", &root));
    root.span().end();
    parent.span().end();
    clock.step_back(3600 * SECOND);
    clock.advance(SECOND);
    let late = parent.with_span(tracer.start_with_context("late", &parent));
    let mut last = tracer.start_with_context("last", &late);
    last.end();

    let start = sdk.span("root").start_time;
    assert_eq!(times(&sdk.span("last"), start), (SECOND, SECOND));
}

#[test]
fn in_span_shares_the_line_and_a_link_does_not() {
    let sdk = Sdk::new();
    let (clock, tracer) = clocked(&sdk);
    tracer.in_span("outer", |outer| {
        clock.step_forward(3600 * SECOND);
        tracer.in_span("inner", |_| ());
        let linked = Link::with_context(outer.span().span_context().clone());
        let builder = tracer.span_builder("linked").with_links(vec![linked]);
        drop(tracer.build_with_context(builder, &Context::new()));
    });
    let start = sdk.span("outer").start_time;
    assert_eq!(times(&sdk.span("inner"), start), (Duration::ZERO, Duration::ZERO));
    assert_eq!(sdk.span("linked").start_time, start + 3600 * SECOND);
}

/// A request to this service from elsewhere follows the wall clock, whoever sent it.
#[test]
fn a_child_of_a_remote_parent_follows_the_wall_clock() {
    let sdk = Sdk::new();
    let (clock, tracer) = clocked(&sdk);
    let client = Context::new().with_span(tracer.start("client"));
    let sent = client.span().span_context().clone();
    let (trace, span, flags) = (sent.trace_id(), sent.span_id(), sent.trace_flags());
    let received = SpanContext::new(trace, span, flags, true, sent.trace_state().clone());
    let remote = Context::new().with_remote_span_context(received);
    tracer.start_with_context("server", &remote).end();
    clock.step_forward(3600 * SECOND);
    tracer.start_with_context("afterwards", &remote).end();
    client.span().end();

    let start = sdk.span("client").start_time;
    assert_eq!(sdk.span("server").start_time, start);
    assert_eq!(sdk.span("afterwards").start_time, start + 3600 * SECOND);
}

/// Returns a parent in another process.
fn remote(trace: u128) -> Context {
    let (trace, span) = (TraceId::from(trace), SpanId::from(7));
    let context = SpanContext::new(trace, span, TraceFlags::SAMPLED, true, TraceState::default());
    Context::new().with_remote_span_context(context)
}

/// Asserts that `child` lies within `parent`.
fn assert_within(sdk: &Sdk, child: &str, parent: &str) {
    let (child, parent) = (sdk.span(child), sdk.span(parent));
    let is_within = parent.start_time <= child.start_time && child.end_time <= parent.end_time;
    assert!(is_within, "{child:?} in {parent:?}");
}

/// A trace has two requests, and a third after the end of the first and a step.
#[test]
fn requests_of_one_trace_keep_their_own_lines() {
    let sdk = Sdk::new();
    let (clock, tracer) = clocked(&sdk);
    let caller = remote(0xABCD_EF12_3456);
    let request = |name| Context::new().with_span(tracer.start_with_context(name, &caller));
    let (first, second) = (request("first"), request("second"));
    clock.advance(SECOND);
    first.span().end();
    clock.step_back(3600 * SECOND);
    let third = request("third");
    let mut child = tracer.start_with_context("child", &second);
    clock.advance(SECOND);
    child.end();
    second.span().end();
    third.span().end();
    assert_within(&sdk, "child", "second");
    // The positive control.
    assert!(sdk.span("third").start_time < sdk.span("second").start_time);
}

/// Both requests have a line before either of them is listed.
#[test]
fn requests_that_start_at_once_keep_their_own_lines() {
    let sdk = Sdk::new();
    let (clock, tracer) = clocked(&sdk);
    let caller = remote(0xABCD_EF12_3457);
    let first = tracer.start_with_context("first", &caller);
    clock.step_forward(3600 * SECOND);
    let second = tracer.start_with_context("second", &caller);
    let [second, first] = [second, first].map(|span| Context::new().with_span(span));
    for (parent, child) in [(&second, "of the second"), (&first, "of the first")] {
        let mut child = tracer.start_with_context(child, parent);
        clock.advance(SECOND);
        child.end();
    }
    second.span().end();
    first.span().end();
    assert_within(&sdk, "of the second", "second");
    assert_within(&sdk, "of the first", "first");
}

/// Work continues after the root, and a remote span of the trace calls back.
#[test]
fn detached_work_keeps_its_line() {
    let sdk = Sdk::new();
    let (clock, tracer) = clocked(&sdk);
    let root = Context::new().with_span(tracer.start("root"));
    let work = root.with_span(tracer.start_with_context("work", &root));
    let sent = root.span().span_context().clone();
    root.span().end();
    clock.advance(SECOND);
    clock.step_back(3600 * SECOND);
    let (trace, span, flags) = (sent.trace_id(), sent.span_id(), sent.trace_flags());
    let back = SpanContext::new(trace, span, flags, true, TraceState::default());
    let back = Context::new().with_remote_span_context(back);
    let callback = Context::new().with_span(tracer.start_with_context("callback", &back));
    let mut child = tracer.start_with_context("child", &work);
    clock.advance(SECOND);
    child.end();
    callback.span().end();
    work.span().end();
    assert_within(&sdk, "child", "work");
}

#[test]
fn clocks_are_not_mixed() {
    let sdk = Sdk::new();
    let (clock, tracer) = clocked(&sdk);
    let (other_clock, other_tracer) = clocked(&sdk);
    other_clock.advance(60 * SECOND);
    clock.step_back(3600 * SECOND);
    let parent = Context::new().with_span(tracer.start("parent"));
    drop(other_tracer.start_with_context("child", &parent));
    parent.span().end();
    let start = sdk.span("parent").start_time;
    assert_eq!(sdk.span("child").start_time, start + 3660 * SECOND);
}

/// A sampler that drops the spans with this name.
#[derive(Debug, Clone)]
struct AllBut(&'static str);

impl ShouldSample for AllBut {
    fn should_sample(
        &self,
        _: Option<&Context>,
        _: TraceId,
        name: &str,
        _: &SpanKind,
        _: &[KeyValue],
        _: &[Link],
    ) -> SamplingResult {
        let decision =
            if name == self.0 { SamplingDecision::Drop } else { SamplingDecision::RecordAndSample };
        SamplingResult { decision, attributes: vec![], trace_state: TraceState::default() }
    }
}

#[test]
fn a_span_that_is_not_sampled_passes_on_its_line() {
    let sdk = Sdk::with_sampler(AllBut("between"));
    let (clock, tracer) = clocked(&sdk);
    let root = Context::new().with_span(tracer.start("root"));
    let between = root.with_span(tracer.start_with_context("between", &root));
    clock.step_forward(3600 * SECOND);
    tracer.start_with_context("child", &between).end();
    root.span().end();
    assert_eq!(sdk.span("child").start_time, sdk.span("root").start_time);
}

#[test]
fn a_span_that_ended_before_it_was_shown_shares_its_line() {
    let sdk = Sdk::new();
    let (clock, tracer) = clocked(&sdk);
    let mut parent = tracer.start("parent");
    parent.end();
    let parent = Context::new().with_span(parent);
    clock.step_forward(3600 * SECOND);
    tracer.start_with_context("child", &parent).end();
    assert_eq!(sdk.span("child").start_time, sdk.span("parent").start_time);
}

fn step_attribute(span: &SpanData) -> Option<i64> {
    let found = span.attributes.iter().find(|it| it.key.as_str() == "tach.clock.step_ns")?;
    let Value::I64(ns) = found.value else { panic!("{found:?}") };
    Some(ns)
}

/// A root from before the clock was set: requests below it follow the clock ten seconds later, and
/// each is whole.
#[test]
fn spans_below_an_old_root_follow_the_wall_clock() {
    for (step, ahead_ns) in STEPS.into_iter().zip([-3_600_000_000_000, 3_600_000_000_000]) {
        let sdk = Sdk::new();
        let (clock, tracer) = clocked(&sdk);
        let root = Context::new().with_span(tracer.start("root"));
        let open = root.with_span(tracer.start_with_context("open", &root));
        clock.advance(SECOND);
        step(clock, 3600 * SECOND);
        for (after, name) in
            [(0, "at once"), (9, "9 s after"), (1, "10 s after"), (50, "1 min after")]
        {
            clock.advance(after * SECOND);
            let request = root.with_span(tracer.start_with_context(name, &root));
            tracer.start_with_context(format!("in {name}"), &request).end();
            request.span().end();
        }
        tracer.start_with_context("below open", &open).end();
        open.span().end();
        root.span().end();

        let start = sdk.span("root").start_time;
        let wall = |seconds: u32| {
            let ahead = Duration::from_secs(3600);
            let start = if ahead_ns > 0 { start + ahead } else { start - ahead };
            start + seconds * SECOND
        };
        for (name, expected) in [
            ("at once", start + SECOND),
            ("9 s after", start + 10 * SECOND),
            ("10 s after", wall(11)),
            ("1 min after", wall(61)),
        ] {
            assert_eq!(sdk.span(name).start_time, expected, "{name}");
            assert_eq!(sdk.span(&format!("in {name}")).start_time, expected, "{name}");
        }
        for name in ["root", "open", "at once", "9 s after"] {
            assert_eq!(step_attribute(&sdk.span(name)), Some(ahead_ns), "{name}");
        }
        for name in ["10 s after", "below open"] {
            assert_eq!(step_attribute(&sdk.span(name)), None, "{name}");
        }
        assert_eq!(sdk.span("below open").start_time, wall(61));
    }
}

/// A span that started near a step is not a request that is current an hour later.
#[test]
fn children_of_a_long_span_follow_the_wall_clock_after_every_step() {
    let sdk = Sdk::new();
    let (clock, tracer) = clocked(&sdk);
    let root = Context::new().with_span(tracer.start("root"));
    clock.step_forward(3600 * SECOND);
    let worker = tracer.start_with_context("worker", &root);
    clock.advance(600 * SECOND);
    let worker = root.with_span(worker);
    clock.step_forward(60 * SECOND);
    tracer.start_with_context("at once", &worker).end();
    clock.advance(10 * SECOND);
    tracer.start_with_context("10 s after", &worker).end();
    drop((worker, root));

    let start = sdk.span("root").start_time;
    let since = |name| times(&sdk.span(name), start).0;
    assert_eq!(since("at once"), 4200 * SECOND, "on the line before the last step");
    assert_eq!(since("10 s after"), 4270 * SECOND);
    assert_eq!(since("worker"), Duration::ZERO);
}

/// For an old root the ten seconds after a step end. A request that the last step divided has ten
/// seconds of its own.
#[test]
fn steps_in_a_series_hold_no_children_back() {
    let sdk = Sdk::new();
    let (clock, tracer) = clocked(&sdk);
    let root = Context::new().with_span(tracer.start("root"));
    clock.step_forward(3600 * SECOND);
    let request = root.with_span(tracer.start_with_context("request", &Context::new()));
    clock.advance(9 * SECOND);
    clock.step_forward(60 * SECOND);
    tracer.start_with_context("9 s after", &root).end();
    clock.advance(SECOND);
    tracer.start_with_context("10 s after", &root).end();
    clock.advance(5 * SECOND);
    tracer.start_with_context("of the request", &request).end();
    clock.advance(4 * SECOND);
    tracer.start_with_context("of the request, later", &request).end();
    for _ in 0..10 {
        clock.step_forward(60 * SECOND);
        tracer.start("tick").end();
        clock.advance(9 * SECOND);
    }
    tracer.start_with_context("last", &root).end();
    tracer.start_with_context("last of the request", &request).end();
    drop((request, root));

    let start = sdk.span("root").start_time;
    let since = |name| times(&sdk.span(name), start).0;
    assert_eq!(since("9 s after"), 9 * SECOND);
    assert_eq!(since("10 s after"), 3670 * SECOND);
    assert_eq!(since("of the request"), 3615 * SECOND);
    assert_eq!(since("of the request, later"), 3679 * SECOND);
    assert_eq!(since("last"), 4369 * SECOND);
    assert_eq!(since("last of the request"), 4369 * SECOND);
}

#[test]
fn a_millisecond_makes_a_step() {
    for (ns, is_step) in [(999_999, false), (1_000_000, true)] {
        let sdk = Sdk::new();
        let (clock, tracer) = clocked(&sdk);
        let root = tracer.start("root");
        clock.step_forward(Duration::from_nanos(ns));
        tracer.start("other").end();
        drop(root);
        let expected = if is_step { Duration::from_nanos(ns) } else { Duration::ZERO };
        assert_eq!(times(&sdk.span("other"), sdk.span("root").start_time).0, expected);
        assert_eq!(step_attribute(&sdk.span("root")).is_some(), is_step);
    }
}

#[test]
fn the_sdk_receives_what_a_span_is_given() {
    let sdk = Sdk::new();
    let (_, tracer) = clocked(&sdk);
    let mut span = tracer.start("first name");
    let linked = tracer.start("linked").span_context().clone();
    span.set_attribute(KeyValue::new("one", 1));
    span.set_attributes([KeyValue::new("two", 2), KeyValue::new("three", 3)]);
    span.set_status(Status::error("failed"));
    span.update_name("last name");
    span.add_link(linked.clone(), vec![KeyValue::new("why", "cause")]);
    span.end();
    let span = sdk.span("last name");
    let numbers = [("one", 1), ("two", 2), ("three", 3)];
    assert_eq!(span.attributes, numbers.map(|(key, number)| KeyValue::new(key, number)));
    assert_eq!(span.status, Status::error("failed"));
    let [link] = &span.links.links[..] else { panic!("{:?}", span.links) };
    assert_eq!((&link.span_context, link.attributes.len()), (&linked, 1));
}
