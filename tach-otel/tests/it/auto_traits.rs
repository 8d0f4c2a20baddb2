//! Traits and size of every public type.

use core::mem::size_of;

use opentelemetry::Context;
use opentelemetry::trace::{TraceContextExt, Tracer, TracerProvider};
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span};
use tach_core::{Clock, ManualClock, UnixTime};
use tach_otel::{Clocked, ClockedSpan};
use test_support::assert_implements;

assert_implements!(
    [Send + Sync + Unpin + 'static]
    Clocked<SdkTracerProvider>,
    Clocked<SdkTracer>,
    ClockedSpan<Span>,
);
assert_implements!([Send + Sync + Unpin + 'static] tach_otel::EventTime);

#[test]
fn a_clocked_span_adds_six_words() {
    assert_eq!(size_of::<ClockedSpan<Span>>(), size_of::<Span>() + 48);
}

/// Returns a clock whose type is known at run time only.
fn any_clock() -> &'static dyn Clock {
    Box::leak(Box::new(ManualClock::new(UnixTime::EPOCH)))
}

#[test]
fn any_clock_will_do() {
    let provider = SdkTracerProvider::builder().build();
    let tracer = Clocked::new(provider).with_clock(any_clock()).tracer("it");
    Context::new().with_span(tracer.start("work")).span().end();
}
