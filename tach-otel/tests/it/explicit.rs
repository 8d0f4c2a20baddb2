//! The SDK never reads the clock: a tracer records which calls have a time.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use opentelemetry::trace::{
    Span, SpanBuilder, SpanContext, Status, TraceContextExt, Tracer, TracerProvider,
};
use opentelemetry::{Context, InstrumentationScope, KeyValue};
use tach_otel::Clocked;

use crate::support::tach_now;

/// A call, and its time if it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Call {
    Start(Option<SystemTime>),
    Event(Option<SystemTime>),
    End(Option<SystemTime>),
}

/// A provider and tracer whose spans record each call for which the SDK would read the clock.
#[derive(Debug, Clone, Default)]
struct Witness {
    calls: Arc<Mutex<Vec<Call>>>,
    sampled_out: bool,
}

impl Witness {
    fn record(&self, call: Call) {
        self.calls.lock().unwrap().push(call);
    }

    fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// Returns the calls for which the SDK would have read the clock.
    fn timeless(&self) -> Vec<Call> {
        let mut calls = self.calls();
        calls
            .retain(|call| matches!(call, Call::Start(None) | Call::Event(None) | Call::End(None)));
        calls
    }
}

impl TracerProvider for Witness {
    type Tracer = Self;

    fn tracer_with_scope(&self, _: InstrumentationScope) -> Self {
        self.clone()
    }
}

impl Tracer for Witness {
    type Span = WitnessSpan;

    fn build_with_context(&self, builder: SpanBuilder, _: &Context) -> WitnessSpan {
        self.record(Call::Start(builder.start_time));
        WitnessSpan { witness: self.clone(), recording: !self.sampled_out }
    }
}

struct WitnessSpan {
    witness: Witness,
    recording: bool,
}

impl Span for WitnessSpan {
    fn add_event<T: Into<Cow<'static, str>>>(&mut self, _: T, _: Vec<KeyValue>) {
        self.witness.record(Call::Event(None));
    }

    fn add_event_with_timestamp<T>(&mut self, _: T, timestamp: SystemTime, _: Vec<KeyValue>)
    where
        T: Into<Cow<'static, str>>,
    {
        self.witness.record(Call::Event(Some(timestamp)));
    }

    fn span_context(&self) -> &SpanContext {
        &SpanContext::NONE
    }

    fn is_recording(&self) -> bool {
        self.recording
    }

    fn set_attribute(&mut self, _: KeyValue) {}

    fn set_status(&mut self, _: Status) {}

    fn update_name<T: Into<Cow<'static, str>>>(&mut self, _: T) {}

    fn add_link(&mut self, _: SpanContext, _: Vec<KeyValue>) {}

    fn end(&mut self) {
        self.recording = false;
        self.witness.record(Call::End(None));
    }

    fn end_with_timestamp(&mut self, timestamp: SystemTime) {
        self.recording = false;
        self.witness.record(Call::End(Some(timestamp)));
    }
}

impl Drop for WitnessSpan {
    fn drop(&mut self) {
        if self.recording {
            self.end();
        }
    }
}

/// Uses spans in all ways without a given time.
fn use_all_ways(provider: &impl TracerProvider<Tracer: Tracer<Span: Send + Sync + 'static>>) {
    let tracer = provider.tracer("it");
    let mut ended = tracer.start("ended");
    ended.add_event("event", vec![]);
    ended.record_error(&core::fmt::Error);
    ended.end();
    ended.end();
    drop(tracer.span_builder("dropped").start(&tracer));
    let scoped = provider.tracer_with_scope(InstrumentationScope::default());
    scoped.in_span("closure", |context| context.span().add_event("event", vec![]));
    let context = Context::new().with_span(tracer.start_with_context("context", &Context::new()));
    context.span().end();
}

#[test]
fn every_start_event_and_end_brings_a_time() {
    let witness = Witness::default();
    use_all_ways(&Clocked::new(witness.clone()));
    assert_eq!(witness.timeless(), []);

    let count = |wanted: fn(&Call) -> bool| witness.calls().into_iter().filter(wanted).count();
    assert_eq!(count(|call| matches!(call, Call::Start(_))), 4);
    assert_eq!(count(|call| matches!(call, Call::Event(_))), 3);
    assert_eq!(count(|call| matches!(call, Call::End(_))), 4, "each span ends once");
}

/// The positive control: without the wrapper the SDK would have read the clock for all three.
#[test]
fn without_the_wrapper_times_are_missing() {
    let witness = Witness::default();
    use_all_ways(&witness);
    let timeless = witness.timeless();
    for call in [Call::Start(None), Call::Event(None), Call::End(None)] {
        assert!(timeless.contains(&call), "{call:?} is missed");
    }
}

#[test]
fn the_times_are_tach_s_and_never_go_back() {
    let witness = Witness::default();
    let before = tach_now();
    let mut span = Clocked::new(witness.clone()).start("work");
    let after = tach_now();
    span.add_event("event", vec![]);
    drop(span);

    let [Call::Start(Some(start)), Call::Event(Some(event)), Call::End(Some(end))] =
        witness.calls()[..]
    else {
        panic!("{:?}", witness.calls())
    };
    assert!(before <= start && start <= after);
    assert!(start <= event && event <= end);
}

#[test]
fn a_span_that_is_sampled_out_is_started_and_then_left_alone() {
    let witness = Witness { sampled_out: true, ..Witness::default() };
    use_all_ways(&Clocked::new(witness.clone()));
    let calls = witness.calls();
    assert_eq!(calls.len(), 4);
    assert!(calls.iter().all(|call| matches!(call, Call::Start(Some(_)))), "{calls:?}");
}
