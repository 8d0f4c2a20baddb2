//! Clocked spans and log records allocate no more than the SDK's own. In a process of its own,
//! because the allocator counts.

use core::time::Duration;

use allocation_counter::{AllocationInfo, measure};
use opentelemetry::global::BoxedTracer;
use opentelemetry::logs::{AnyValue, LogRecord, Logger, LoggerProvider};
use opentelemetry::trace::{Span as _, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, InstrumentationScope};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{LogProcessor, SdkLogRecord, SdkLoggerProvider};
use opentelemetry_sdk::trace::{SdkTracerProvider, Span, SpanData, SpanProcessor};
use tach_core::{ManualClock, UnixTime};
use tach_otel::Clocked;

/// Drops everything.
#[derive(Debug)]
struct Discard;

impl SpanProcessor for Discard {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, _: SpanData) {}

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

impl LogProcessor for Discard {
    fn emit(&self, _: &mut SdkLogRecord, _: &InstrumentationScope) {}

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Returns the number of allocations of `work` at its second run.
fn count(work: impl Fn()) -> u64 {
    work();
    let AllocationInfo { count_total, .. } = measure(work);
    count_total
}

/// Returns the allocations for each way in which services make spans.
fn spans<T>(provider: &impl TracerProvider<Tracer = T>) -> [u64; 4]
where
    T: Tracer<Span: Send + Sync + 'static> + Send + Sync + 'static,
{
    let tracer = provider.tracer("allocations");
    let boxed = BoxedTracer::new(Box::new(provider.tracer("boxed")));
    let hundred = |road: &dyn Fn()| count(|| (0..100).for_each(|_| road()));
    [
        hundred(&|| {
            let mut span = tracer.start("direct");
            span.add_event("event", vec![]);
            span.end();
        }),
        hundred(&|| boxed.start("global").end()),
        hundred(&|| {
            let root = Context::new().with_span(tracer.start("root"));
            let child = root.with_span(tracer.start_with_context("child", &root));
            child.span().add_event("event", vec![]);
            child.span().end();
        }),
        hundred(&|| tracer.in_span("outer", |_| tracer.in_span("inner", |_| ()))),
    ]
}

fn records(provider: &impl LoggerProvider) -> u64 {
    let logger = provider.logger("allocations");
    count(|| {
        for _ in 0..100 {
            let mut record = logger.create_log_record();
            record.set_body(AnyValue::from("ready".to_owned()));
            logger.emit(record);
        }
    })
}

#[test]
fn clocked_spans_allocate_no_more() {
    let plain = SdkTracerProvider::builder().with_span_processor(Discard).build();
    let own = spans(&plain);
    assert!(own.into_iter().all(|own| own >= 100), "the SDK's {own:?} are counted");
    assert_eq!(spans(&Clocked::new(plain)), own);
}

#[test]
fn clocked_log_records_allocate_no_more() {
    let plain = SdkLoggerProvider::builder().with_log_processor(Discard).build();
    let own = records(&plain);
    assert!(own >= 100, "the SDK's {own} are counted");
    assert_eq!(records(&Clocked::new(plain)), own);
}

/// The docs say 90 bytes, and 740 KB for the 8,192 spans that stay after they have ended.
#[test]
fn a_span_near_a_step_is_listed_in_ninety_bytes() {
    let clock: &ManualClock = Box::leak(Box::new(ManualClock::new(UnixTime::EPOCH)));
    let provider = SdkTracerProvider::builder().with_span_processor(Discard).build();
    let tracer = Clocked::new(provider).with_clock(clock).tracer("step");
    let start = || tracer.start("near");
    let listed = |spans: i64| {
        let list = || (0..spans).for_each(|_| _ = start().span_context());
        measure(list).bytes_current
    };
    listed(1);
    assert_eq!(listed(8192), 0, "no step");
    clock.step_forward(Duration::from_secs(3600));
    let bytes = listed(8192);
    assert!((8192 * 50..8192 * 95).contains(&bytes), "{bytes} of 8192");
    assert!(listed(1) < -bytes / 2, "those that have ended make room");
    // The limit is twice the number of open spans.
    let more = listed(100_000);
    assert!(more <= bytes, "{more} of 100,000");
}
