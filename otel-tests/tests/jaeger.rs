//! Traces at the real Jaeger, during which the wall clock is stepped.

use std::process::Command;
use std::thread;
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry::trace::{Span as _, TraceContextExt, TraceId, Tracer, TracerProvider};
use otel_tests::{Jaeger, Span, program};
use tach_core::{ManualClock, UnixTime};
use tach_otel::Clocked;

/// Returns the spans that don't lie within their parents, or end before they start.
fn bent(spans: &[Span]) -> Vec<&Span> {
    let is_bent = |span: &&Span| {
        let parent = (!span.parent.is_empty()).then(|| {
            let found = spans.iter().find(|parent| parent.id == span.parent);
            found.unwrap_or_else(|| panic!("the parent of {span:?} is not among {spans:?}"))
        });
        let sticks_out =
            parent.is_some_and(|it| span.start_ns < it.start_ns || it.end_ns < span.end_ns);
        sticks_out || span.end_ns < span.start_ns
    };
    spans.iter().filter(is_bent).collect()
}

#[test]
fn a_trace_of_several_threads_is_whole_by_a_clock_that_is_stepped() {
    const THREADS: u64 = 4;
    const CHILDREN: u64 = 10;
    let Some(jaeger) = Jaeger::start() else { return };
    let provider = jaeger.tracer_provider();
    let clock: &ManualClock =
        Box::leak(Box::new(ManualClock::new(UnixTime::from_nanos(1_700_000_000_123_456_789))));
    let tracer = Clocked::new(provider.clone()).with_clock(clock).tracer("jaeger");

    let root = Context::new().with_span(tracer.start("root"));
    let trace = root.span().span_context().trace_id();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let branch = root.with_span(tracer.start_with_context("branch", &root));
                for number in 0..CHILDREN {
                    let mut leaf = tracer.start_with_context("leaf", &branch);
                    clock.advance(Duration::from_micros(3));
                    if number % 2 == 0 {
                        clock.step_back(Duration::from_secs(10));
                    } else {
                        clock.step_forward(Duration::from_secs(7));
                    }
                    leaf.end();
                }
                branch.span().end();
            });
        }
    });
    root.span().end();
    provider.force_flush().unwrap();

    let count = 1 + THREADS * (1 + CHILDREN);
    let spans = jaeger.trace(trace, usize::try_from(count).unwrap());
    assert_eq!(bent(&spans), [] as [&Span; 0]);
    let root = spans.iter().find(|span| span.parent.is_empty()).unwrap();
    assert_eq!(root.end_ns - root.start_ns, THREADS * CHILDREN * 3_000);
    provider.shutdown().unwrap();
}

/// Libfaketime steps the wall clock of a process. The plain SDK's trace is bent, the clocked one is
/// not.
#[test]
fn a_trace_is_whole_in_a_process_whose_wall_clock_is_stepped() {
    let Some(faketime) = program("FAKETIME_LIB") else { return };
    let Some(jaeger) = Jaeger::start() else { return };
    let setting = jaeger.folder().join("faketime");
    std::fs::write(&setting, "+0").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_stepped"))
        .arg(&setting)
        .env("LD_PRELOAD", faketime)
        .env("FAKETIME_TIMESTAMP_FILE", &setting)
        .env("FAKETIME_NO_CACHE", "1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", jaeger.endpoint())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let traces: Vec<_> = said.lines().map(|id| TraceId::from_hex(id).unwrap()).collect();
    let [plain, clocked] = traces[..] else { panic!("two traces, not {said:?}") };

    let clocked = jaeger.trace(clocked, 4);
    assert_eq!(bent(&clocked), [] as [&Span; 0]);
    let longest = clocked.iter().map(|span| span.end_ns - span.start_ns).max().unwrap();
    assert!(longest < 1_000_000_000_000, "a step of an hour shows: {longest} ns");
    let plain = jaeger.trace(plain, 4);
    assert_ne!(bent(&plain), [] as [&Span; 0], "the positive control: {plain:?}");
}
