//! The number of reads of tach's clock.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::Context;
use opentelemetry::trace::{Span, SpanBuilder, TraceContextExt, Tracer, TracerProvider};
use tach_core::{Clock, Instant, ManualClock, UnixTime};
use tach_otel::Clocked;

use crate::support::Sdk;

/// A clock that counts its reads.
#[derive(Debug)]
struct Counting {
    clock: ManualClock,
    reads: AtomicU64,
}

impl Clock for Counting {
    fn monotonic_now(&self) -> Instant {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.clock.monotonic_now()
    }

    fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
        self.clock.duration_between(earlier, later)
    }

    fn unix_time_at(&self, instant: Instant) -> UnixTime {
        self.clock.unix_time_at(instant)
    }
}

#[test]
fn a_span_reads_the_clock_once_for_each_time_and_twice_for_one_that_is_given() {
    let sdk = Sdk::new();
    let clock = Counting { clock: ManualClock::new(UnixTime::EPOCH), reads: AtomicU64::new(0) };
    let clock: &Counting = Box::leak(Box::new(clock));
    let tracer = Clocked::new(sdk.provider.clone()).with_clock(clock).tracer("it");
    let assert_reads = |expected: u64, what: &str| {
        assert_eq!(clock.reads.swap(0, Ordering::Relaxed), expected, "{what}");
    };
    let given = || SpanBuilder::from_name("given").with_start_time(SystemTime::now());

    assert_reads(1, "the clock's lines");
    let root = Context::new().with_span(tracer.start_with_context("root", &Context::new()));
    assert_reads(1, "a root");
    drop(tracer.start_with_context("child", &root));
    assert_reads(2, "a child from start to end");
    for parent in [&Context::new(), &root] {
        let mut span = tracer.build_with_context(given(), parent);
        assert_reads(2, "a start that is given far from the clock");
        span.add_event_with_timestamp("given", UNIX_EPOCH, vec![]);
        assert_reads(1, "an event whose given time is the clock's");
        span.add_event_with_timestamp("given", SystemTime::now(), vec![]);
        assert_reads(2, "an event whose given time is not");
        span.end_with_timestamp(SystemTime::now());
        assert_reads(2, "an end that is given");
    }
}
