//! Steps of the wall clock during a span. In a process of its own, because it replaces the C
//! library's `clock_gettime`.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "stands in for a function of the C library")]

use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use core::time::Duration;
use std::collections::HashMap;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant as StdInstant, SystemTime};
use std::{env, fs, thread};

use opentelemetry::Context;
use opentelemetry::global::BoxedTracer;
use opentelemetry::trace::{Span, SpanId, TraceContextExt, Tracer, TracerProvider};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    InMemorySpanExporter, SdkTracerProvider, Span as SdkSpan, SpanData, SpanProcessor,
};
use tach_core::{Anchor, Config, Instant, Source, UnixTime, event_time};
use tach_otel::Clocked;
use tracing_subscriber::layer::SubscriberExt;

const HOUR_S: i64 = 3600;
const SECOND_NS: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;

/// The longest duration of a span without a step in it.
const MOST: Duration = Duration::from_secs(HOUR_S.unsigned_abs() / 2);

/// The sum of the wall clock's steps.
static STEPPED_NS: AtomicI64 = AtomicI64::new(0);

/// Held by the test that steps the wall clock, which all tests share.
static WALL_CLOCK: Mutex<()> = Mutex::new(());

/// Reads the kernel's clock, and adds [`STEPPED_NS`] to the wall clock.
///
/// # Safety
///
/// `time` must be valid for a write.
// SAFETY: the C library's function of this name has this signature and this contract.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(
    clock: libc::clockid_t,
    time: *mut libc::timespec,
) -> libc::c_int {
    // SAFETY: the system call has these arguments, and the caller guarantees that `time` is valid.
    let result = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) };
    if result != 0 {
        return -1;
    }
    if clock == libc::CLOCK_REALTIME {
        // SAFETY: the caller guarantees that `time` is valid, and the kernel has just filled it.
        let time = unsafe { &mut *time };
        // ORDERING: Relaxed, because the reading thread either made the step, or may see it at any
        // time.
        let ns = STEPPED_NS.load(Ordering::Relaxed) + time.tv_nsec;
        time.tv_sec += ns.div_euclid(SECOND_NS);
        time.tv_nsec = ns.rem_euclid(SECOND_NS);
    }
    0
}

fn step(seconds: i64) {
    step_ns(seconds * SECOND_NS);
}

fn step_ns(ns: i64) {
    // ORDERING: Relaxed: see the load in `clock_gettime`.
    STEPPED_NS.fetch_add(ns, Ordering::Relaxed);
}

/// Returns whether tach has yet to notice a step. Reads an instant, as spans do: `UnixTime::now`
/// reads the OS clock itself if that is the source, and says nothing about the times of instants.
fn is_apart() -> bool {
    let (tach, wall) = (Instant::now().unix_time(), UnixTime::from_system_time(SystemTime::now()));
    tach.as_nanos().abs_diff(wall.as_nanos()) > 500_000
}

/// Locks the wall clock, and waits until tach has followed the steps of the previous test.
fn alone() -> MutexGuard<'static, ()> {
    let guard = WALL_CLOCK.lock().unwrap_or_else(PoisonError::into_inner);
    keep_counter();
    while is_apart() {
        thread::yield_now();
    }
    guard
}

/// Keeps the counter that the kernel trusts. [`clock_gettime`] is a system call here. On a host
/// that slows its CPUs down, tach would conclude that the kernel no longer uses the counter, and
/// would stop using it too. `TACH_SOURCE=os` runs the same tests with the OS clock as the source.
fn keep_counter() {
    const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let is_trusted = fs::read_to_string(CLOCKSOURCE).is_ok_and(|source| source.trim() == "tsc");
    if is_trusted && env::var_os("TACH_SOURCE").is_none() {
        // Only the first test of the process can install a configuration, and the others use it
        // too.
        let _installed = Config::new().force_source(Source::Counter).install();
    }
}

/// Returns three spans with an event after the step: one is ended, one dropped, one in a context.
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

/// Returns whether the end or an event is before the start, or after it by more than half a step.
fn is_bent(span: &SpanData) -> bool {
    [span.events[0].timestamp, span.end_time]
        .into_iter()
        .any(|time| time.duration_since(span.start_time).map_or(true, |since| since > MOST))
}

#[test]
fn a_step_bends_the_sdk_s_spans_and_not_clocked_ones() {
    let _alone = alone();
    for seconds in [HOUR_S, -HOUR_S] {
        let clocked = spans_over_a_step(Clocked::new, seconds);
        assert_eq!(clocked.len(), 3);
        for span in clocked {
            assert!(!is_bent(&span), "stepped by {seconds} s: {span:?}");
        }
        // The positive control: without the wrapper all three are bent.
        let bare = spans_over_a_step(|sdk| sdk, seconds);
        assert_eq!(bare.iter().filter(|span| is_bent(span)).count(), 3);
    }
}

/// Counts the spans that end before they start.
#[derive(Debug, Clone, Default)]
struct Count {
    spans: Arc<AtomicU64>,
    negative: Arc<AtomicU64>,
}

impl SpanProcessor for Count {
    fn on_start(&self, _: &mut SdkSpan, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        // ORDERING: Relaxed, because the thread that ends the spans reads the counts.
        self.spans.fetch_add(1, Ordering::Relaxed);
        let is_negative = span.end_time < span.start_time
            || span.events.iter().any(|event| event.timestamp < span.start_time);
        self.negative.fetch_add(u64::from(is_negative), Ordering::Relaxed);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Steps the wall clock by up to ten seconds in both directions until `stop` is set.
fn keep_stepping(stop: &AtomicBool) {
    let (mut random, mut stepped) = (0x2545_F491_4F6C_DD1D_u64, 0);
    // ORDERING: Relaxed, because it may stop at any time.
    while !stop.load(Ordering::Relaxed) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let next = i64::try_from(random % 21).unwrap_or(0) - 10;
        step(next - stepped);
        stepped = next;
    }
    step(-stepped);
}

/// Returns how many of `spans` spans with an event are negative while the wall clock is stepped.
fn negative_under_steps<P>(spans: u64, wrap: impl FnOnce(Count) -> P) -> u64
where
    P: TracerProvider<Tracer: Tracer<Span: Send + Sync + 'static>>,
{
    let count = Count::default();
    let tracer = wrap(count.clone()).tracer("stepped");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| keep_stepping(&stop));
        for number in 0..spans {
            let mut span = tracer.start("work");
            span.add_event("event", vec![]);
            match number % 3 {
                0 => span.end(),
                1 => drop(span),
                _ => Context::new().with_span(span).span().end(),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(count.spans.load(Ordering::Relaxed), spans);
    count.negative.load(Ordering::Relaxed)
}

fn provider(processor: impl SpanProcessor + 'static) -> SdkTracerProvider {
    SdkTracerProvider::builder().with_span_processor(processor).build()
}

#[test]
fn no_clocked_span_of_a_million_is_negative_under_random_steps() {
    let _alone = alone();
    let clocked = negative_under_steps(1_000_000, |count| Clocked::new(provider(count)));
    // The positive control.
    let plain = negative_under_steps(100_000, provider);
    // `eprintln` would show it only if the test fails.
    let told = format!("negative spans: {clocked} of 1,000,000 clocked, {plain} of 100,000 plain");
    writeln!(io::stderr(), "{told}").unwrap();
    assert_eq!(clocked, 0);
    assert!(plain > 0);
}

/// Counts bent spans: negative, too long, with an event outside, or outside their parents. Each
/// root has one child.
#[derive(Debug, Clone, Default)]
struct Bent {
    spans: Arc<AtomicU64>,
    wrong: Arc<AtomicU64>,
    /// The times of children, by their parents.
    children: Arc<Mutex<HashMap<SpanId, (SystemTime, SystemTime)>>>,
}

impl SpanProcessor for Bent {
    fn on_start(&self, _: &mut SdkSpan, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        let (start, end) = (span.start_time, span.end_time);
        let lasted = end.duration_since(start);
        let mut is_bent = lasted.is_err() || lasted.is_ok_and(|it| it > Duration::from_secs(1));
        is_bent |= span.events.iter().any(|event| !(start..=end).contains(&event.timestamp));
        let mut children = self.children.lock().unwrap();
        if let Some(child) = children.remove(&span.span_context.span_id()) {
            is_bent |= child.0 < start || child.1 > end;
        }
        if span.parent_span_id != SpanId::INVALID {
            children.insert(span.parent_span_id, (start, end));
        }
        // ORDERING: Relaxed, because the threads that end spans are joined before the reads.
        self.spans.fetch_add(1, Ordering::Relaxed);
        self.wrong.fetch_add(u64::from(is_bent), Ordering::Relaxed);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Steps the wall clock, in turn by hours and by milliseconds to seconds, until `stop` is set, and
/// counts the steps. Before each next step, waits until tach has noticed the last one and spans
/// have started since.
fn step_now_and_then(stop: &AtomicBool, steps: &AtomicU64, bent: &Bent) {
    let (mut random, mut stepped) = (0x9E37_79B9_7F4A_7C15_u64, 0);
    // ORDERING: Relaxed, because it may stop at any time.
    while !stop.load(Ordering::Relaxed) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        while is_apart() {
            thread::yield_now();
        }
        let ended = bent.spans.load(Ordering::Relaxed);
        while bent.spans.load(Ordering::Relaxed) < ended + 10 && !stop.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_micros(random % 1000));
        }
        let next = if steps.fetch_add(1, Ordering::Relaxed) % 2 == 0 {
            let hours = stepped / (HOUR_S * SECOND_NS);
            (hours + 1 + i64::try_from(random % 8).unwrap_or(0)) % 9 * HOUR_S * SECOND_NS
        } else {
            let ms = [3, -3, 50, -50, 2000, -2000, 9000, -9000];
            stepped + ms[usize::try_from(random % 8).unwrap()] * MS
        };
        step_ns(next - stepped);
        stepped = next;
    }
    step_ns(-stepped);
}

/// Runs a root and a child with an event in one of the ways in which services make spans.
fn take_road<T>(road: u32, tracer: &T, boxed: &BoxedTracer)
where
    T: Tracer<Span: Send + Sync + 'static>,
{
    let root = Context::new();
    match road {
        0 => {
            let root = root.with_span(tracer.start_with_context("direct", &root));
            let mut child = tracer.start_with_context("child", &root);
            child.add_event("event", vec![]);
            child.end();
        }
        1 => {
            let root = root.with_span(boxed.start_with_context("global", &root));
            let mut child = boxed.start_with_context("child", &root);
            child.add_event("event", vec![]);
            child.end();
            root.span().end();
        }
        2 => {
            let root = root.with_span(tracer.start_with_context("context", &root));
            let child = root.with_span(tracer.start_with_context("child", &root));
            child.span().add_event("event", vec![]);
            child.span().end();
            root.span().end();
        }
        3 => tracer.in_span("in_span", |_| {
            tracer.in_span("child", |context| context.span().add_event("event", vec![]));
        }),
        _ => tracing::info_span!("layer")
            .in_scope(|| tracing::info_span!("child").in_scope(|| tracing::info!("event"))),
    }
}

/// Returns how many spans there are on each road, and how many are bent, while the wall clock is
/// stepped ten times or more.
fn bent_on_roads<P, T>(least: u64, wrap: impl Fn(Bent) -> P) -> [(u64, u64); 5]
where
    P: TracerProvider<Tracer = T>,
    T: Tracer<Span: Send + Sync + 'static> + Send + Sync + 'static,
{
    [0, 1, 2, 3, 4].map(|road| {
        let bent = Bent::default();
        let provider = wrap(bent.clone());
        let boxed = BoxedTracer::new(Box::new(provider.tracer("boxed")));
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("layer"));
        let subscriber = tracing_subscriber::registry().with(layer);
        let tracer = provider.tracer("stepped");
        let (stop, steps) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            scope.spawn(|| step_now_and_then(&stop, &steps, &bent));
            tracing::subscriber::with_default(subscriber, || {
                while steps.load(Ordering::Relaxed) < 20
                    || bent.spans.load(Ordering::Relaxed) < least
                {
                    take_road(road, &tracer, &boxed);
                }
            });
            stop.store(true, Ordering::Relaxed);
        });
        (bent.wrong.load(Ordering::Relaxed), bent.spans.load(Ordering::Relaxed))
    })
}

/// `TACH_SPANS` is the least number of spans on each road.
#[test]
fn no_clocked_span_is_bent_on_any_road() {
    let _alone = alone();
    let least = env::var("TACH_SPANS").map_or(0, |number| number.parse().unwrap());
    let clocked = bent_on_roads(least, |bent| Clocked::new(provider(bent)));
    // The positive control.
    let plain = bent_on_roads(0, provider);
    writeln!(io::stderr(), "bent, of spans: clocked {clocked:?}, plain {plain:?}").unwrap();
    // tracing-opentelemetry reads its starts long before it gives them. A start that was read
    // before a step that tach has noticed since looks like a start that the caller chose.
    let ([roads @ .., layer], [.., plain_layer]) = (clocked, plain);
    assert!(roads.iter().all(|(bent, _)| *bent == 0));
    assert!(layer.0 * plain_layer.1 < plain_layer.0 * layer.1);
    assert!(plain.iter().all(|(bent, _)| *bent > 0));
}

const OPEN: Duration = Duration::from_millis(60);

/// OpenTelemetry's own code reads the wall clock and then gives the time.
#[test]
fn a_step_between_a_read_and_the_call_shortens_no_span() {
    let _alone = alone();
    for ms in [5, 50, 2_000, 9_000, 3_600_000, -5, -2_000] {
        let exporter = InMemorySpanExporter::default();
        let sdk = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let mut span = Clocked::new(sdk.clone()).tracer("stepped").start("work");
        thread::sleep(OPEN);
        let read = SystemTime::now();
        step_ns(ms * MS);
        span.add_event_with_timestamp("event", read, vec![]);
        span.end_with_timestamp(read);
        let span = &exporter.get_finished_spans().unwrap()[0];
        for time in [span.events[0].timestamp, span.end_time] {
            assert!(time.duration_since(span.start_time).unwrap() >= OPEN, "{ms} ms");
        }
        step_ns(-ms * MS);
        while is_apart() {
            thread::yield_now();
        }
    }
}

/// No line begins for a step this small, but ending a span by its context gives it the wall clock's
/// time.
#[test]
fn a_step_of_less_than_a_millisecond_bends_no_span_that_is_ended_by_its_context() {
    const MOST: Duration = Duration::from_micros(70);
    let _alone = alone();
    let sdk = SdkTracerProvider::builder();
    let exporter = InMemorySpanExporter::default();
    let sdk = sdk.with_simple_exporter(exporter.clone()).build();
    let is_right = |tracer: &dyn Fn() -> Context| {
        let outer = StdInstant::now();
        let context = tracer();
        let inner = StdInstant::now();
        thread::sleep(Duration::from_millis(1));
        let least = inner.elapsed();
        context.span().end();
        let most = outer.elapsed();
        let span = exporter.get_finished_spans().unwrap().pop().unwrap();
        exporter.reset();
        let lasted = span.end_time.duration_since(span.start_time).unwrap_or_default();
        (least.saturating_sub(MOST)..=most + MOST).contains(&lasted)
    };
    let tracer = Clocked::new(sdk.clone()).tracer("stepped");
    let clocked = || Context::new().with_span(tracer.start("context"));
    for us in [100, 400, -100, -400] {
        clocked().span().end();
        step_ns(us * 1_000);
        // A thread may be held up between the reads of the two clocks.
        assert!((0..20).any(|_| is_right(&clocked)), "{us} us");
        step_ns(us * -1_000);
        while is_apart() {
            thread::yield_now();
        }
    }
    // The positive control.
    let plain = sdk.tracer("plain");
    let stepped = || {
        let context = Context::new().with_span(plain.start("context"));
        step_ns(400_000);
        context
    };
    assert!((0..20).all(|_| !is_right(&stepped)));
    step_ns(20 * -400_000);
}

/// The event time is the wall clock's, which the span's line does not follow.
#[test]
fn an_event_time_after_a_step_back_bends_no_event() {
    let _alone = alone();
    let exporter = InMemorySpanExporter::default();
    let sdk = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let mut span = Clocked::new(sdk.clone()).tracer("stepped").start("work");
    thread::sleep(OPEN);
    step_ns(-5 * MS);
    while is_apart() {
        thread::yield_now();
    }
    span.add_event("without", vec![]);
    event_time::during(Anchor::now(), || {
        span.add_event("within", vec![]);
        span.add_event_with_timestamp("given", SystemTime::now(), vec![]);
    });
    span.end();
    step_ns(5 * MS);
    let span = &exporter.get_finished_spans().unwrap()[0];
    let events = span.events.iter().map(|event| event.timestamp);
    let times: Vec<_> = events.chain([span.end_time]).collect();
    assert!(times.is_sorted(), "{times:?}");
}

/// No span has started since the step, but tach has looked at the wall clock.
#[test]
fn a_time_from_before_a_step_is_kept_though_no_span_has_started_since() {
    let _alone = alone();
    let exporter = InMemorySpanExporter::default();
    let sdk = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let mut span = Clocked::new(sdk.clone()).tracer("stepped").start("work");
    thread::sleep(4 * OPEN);
    let read = SystemTime::now();
    thread::sleep(OPEN / 3);
    step_ns(50 * MS);
    while is_apart() {
        thread::yield_now();
    }
    thread::sleep(OPEN / 3);
    span.add_event_with_timestamp("before", read, vec![]);
    span.end();
    step_ns(-50 * MS);
    assert_eq!(exporter.get_finished_spans().unwrap()[0].events[0].timestamp, read);
}

#[test]
fn the_moment_of_a_step_is_known() {
    let _alone = alone();
    let elapsed = || tach_core::adapter::monotonic_ns_at(tach_core::Instant::now());
    let before = elapsed();
    step(HOUR_S);
    while is_apart() {
        thread::yield_now();
    }
    let seen = tach_core::adapter::last_wall_step_ns();
    assert!((before..=elapsed()).contains(&seen.unwrap()), "{before} {seen:?}");
}
