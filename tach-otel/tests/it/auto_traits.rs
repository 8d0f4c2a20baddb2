//! Size and thread safety of every public type.

use core::mem::size_of;

use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span};
use tach_otel::{Clocked, ClockedSpan, Incoming};

fn assert_shared<T: Send + Sync + Unpin + 'static>() {}

fn assert_free<T: Send + Sync + Unpin + Copy + 'static>() {}

#[test]
fn every_type_can_be_shared() {
    assert_shared::<Clocked<SdkTracerProvider>>();
    assert_shared::<Clocked<SdkTracer>>();
    assert_shared::<ClockedSpan<Span>>();
    assert_free::<Incoming>();
}

#[test]
fn a_clocked_span_adds_an_anchor_a_time_and_a_policy() {
    assert_eq!(size_of::<Incoming>(), 1);
    // 44 bytes, and what their alignment makes of them.
    assert!(size_of::<ClockedSpan<Span>>() <= size_of::<Span>() + 64);
}
