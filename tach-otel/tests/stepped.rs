//! A step of the wall clock in the midst of a span. A process of its own, because it takes the place
//! of the C library's `clock_gettime`.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "stands in for a function of the C library")]

use core::sync::atomic::{AtomicI64, Ordering};
use core::time::Duration;

use opentelemetry::Context;
use opentelemetry::trace::{Span, TraceContextExt, Tracer, TracerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tach_otel::Clocked;

const HOUR_S: i64 = 3600;

/// How far the wall clock has been stepped, in seconds.
static STEPPED_S: AtomicI64 = AtomicI64::new(0);

/// The kernel's clock, but for the wall clock, which is ahead by [`STEPPED_S`].
///
/// # Safety
///
/// `time` must be valid for a write, as for the C library's.
// SAFETY: the name is that of a function with this signature and this contract.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(
    clock: libc::clockid_t,
    time: *mut libc::timespec,
) -> libc::c_int {
    // SAFETY: the arguments are those of the system call, and the caller vouches for `time`.
    let result = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) };
    if result != 0 {
        return -1;
    }
    if clock == libc::CLOCK_REALTIME {
        // SAFETY: the caller vouches for `time`, and the kernel has just filled it.
        let time = unsafe { &mut *time };
        // ORDERING: Relaxed, since the step is made on the thread that then reads the clock.
        time.tv_sec += STEPPED_S.load(Ordering::Relaxed);
    }
    0
}

fn step(seconds: i64) {
    // ORDERING: Relaxed, as at the load.
    STEPPED_S.fetch_add(seconds, Ordering::Relaxed);
}

/// Three spans, each with an event after the step: one is ended, one dropped, one in a context.
fn spans_over_a_step<P>(wrap: impl FnOnce(SdkTracerProvider) -> P, seconds: i64) -> Vec<SpanData>
where
    P: TracerProvider<Tracer: Tracer<Span: Send + Sync + 'static>>,
{
    let exporter = InMemorySpanExporter::default();
    let sdk = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let tracer = wrap(sdk.clone()).tracer("stepped");

    let mut ended = tracer.start("ended");
    let mut dropped = tracer.start("dropped");
    let context = Context::new().with_span(tracer.start("context"));
    step(seconds);
    ended.add_event("event", vec![]);
    ended.end();
    dropped.add_event("event", vec![]);
    drop(dropped);
    context.span().add_event("event", vec![]);
    context.span().end();
    exporter.get_finished_spans().unwrap()
}

/// Whether the step shows: as an end or event before the start, or in a duration of half its size.
fn is_bent(span: &SpanData) -> bool {
    let half = Duration::from_secs(HOUR_S.unsigned_abs() / 2);
    [span.events[0].timestamp, span.end_time]
        .into_iter()
        .any(|time| time.duration_since(span.start_time).map_or(true, |since| since > half))
}

#[test]
fn a_step_bends_the_sdk_s_spans_and_not_clocked_ones() {
    for seconds in [HOUR_S, -HOUR_S] {
        let clocked = spans_over_a_step(Clocked::new, seconds);
        assert_eq!(clocked.len(), 3);
        for span in clocked {
            assert!(!is_bent(&span), "stepped by {seconds} s: {span:?}");
        }
        // The positive control: without the wrapper every one of them is bent.
        let bare = spans_over_a_step(|sdk| sdk, seconds);
        assert_eq!(bare.iter().filter(|span| is_bent(span)).count(), 3);
    }
}
