//! Spans that begin and end where a lock or a borrow might be held. Each case runs in a process of
//! its own, which is ended if it hangs.

use core::cell::RefCell;
use core::fmt;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, OnceLock};
use std::{env, thread};

#[cfg(unix)]
use tach_pipeline::SpanExt as _;
use tach_pipeline::{Guard, Otlp, Pipeline, Signal, Sink, SinkStats, kind};
use test_support::assert_test_passes;
use tracing::span::{Id, Span};
use tracing::subscriber::set_global_default;
use tracing::{dispatcher, info, info_span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry;

use crate::exits::end_unless_done;
use crate::support::{LONG, subscriber};

const WAY: &str = "TACH_PIPELINE_REENTRANCE";

/// Not a test: the child process.
#[test]
#[ignore = "may hang"]
fn child() {
    let Ok(way) = env::var(WAY) else { return };
    end_unless_done();
    let guard = build(Sink::otlp(
        Otlp::new().endpoint(&test_support::receiver::serve().0).signals([Signal::Traces]),
    ));
    match &*way {
        "a value opens spans and logs" => values(guard.pipeline()),
        "a value flushes" => flushes(guard.pipeline()),
        "a thread ends" => thread_ends(guard.pipeline()),
        "a sink traces" => sink_traces(),
        "twice in a subscriber" => twice(guard.pipeline()),
        "a span ends another one" => ends_another(guard.pipeline()),
        #[cfg(unix)]
        "fork with open spans" => forks(guard.pipeline()),
        way => panic!("no such way: {way}"),
    }
}

macro_rules! cases {
    ($($(#[$attribute:meta])* $name:ident: $way:literal;)*) => {
        $(
            $(#[$attribute])*
            #[test]
            fn $name() {
                assert_test_passes("reentrance::child", &[(WAY, $way)]);
            }
        )*
    };
}

cases! {
    a_value_may_open_spans_and_log: "a value opens spans and logs";
    a_value_may_flush: "a value flushes";
    a_thread_that_ends_may_open_spans_and_log: "a thread ends";
    a_sink_may_trace: "a sink traces";
    a_subscriber_may_have_the_pipeline_twice: "twice in a subscriber";
    a_span_that_ends_may_end_another: "a span ends another one";
    #[cfg(unix)]
    a_process_with_open_spans_may_fork: "fork with open spans";
}

fn build(spans: Sink<kind::OneFormat>) -> Guard {
    Pipeline::builder().sink(spans).sink(Sink::writer("events", io::sink())).build().unwrap()
}

/// Asserts that so many spans and events have been written.
#[track_caller]
fn assert_written(pipeline: &Pipeline, spans: u64, events: u64) {
    pipeline.flush(LONG).unwrap();
    let stats = pipeline.stats();
    let written: Vec<_> = stats.sinks().iter().map(SinkStats::written).collect();
    assert_eq!(written, [spans, events], "{stats:?}");
    assert_eq!(stats.dropped() + stats.sinks()[0].dropped() + stats.sinks()[1].dropped(), 0);
}

/// A value that calls a function when it is printed.
struct Calls<F>(F);

impl<F: Fn()> fmt::Debug for Calls<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)();
        f.write_str("called")
    }
}

/// The spans of [`traces`].
const SPANS: u64 = 2;
/// The events of [`traces`].
const EVENTS: u64 = 2;

/// Opens spans within spans, and logs.
fn traces() {
    let _outer = info_span!("outer", nested = ?Calls(|| info!("deep"))).entered();
    info_span!("inner").in_scope(|| info!("within"));
}

/// Prints a value in each place that a span or an event has for one.
fn in_each_place(value: &dyn fmt::Debug) {
    let span = info_span!("of the start", value = ?value, later = tracing::field::Empty);
    span.record("later", tracing::field::debug(value));
    span.in_scope(|| info!(value = ?value, "{value:?}"));
}

fn values(pipeline: &Pipeline) {
    dispatcher::set_global_default(subscriber(pipeline)).unwrap();
    in_each_place(&Calls(traces));
    // The later value of the span is printed for spans and again for events, the others once.
    assert_written(pipeline, 5 * SPANS + 1, 5 * EVENTS + 1);
}

fn flushes(pipeline: &Pipeline) {
    dispatcher::set_global_default(subscriber(pipeline)).unwrap();
    let handle = pipeline.clone();
    in_each_place(&Calls(move || handle.flush(LONG).unwrap()));
    assert_written(pipeline, 1, 1);
}

/// One value opens spans and logs when the thread's memory is dropped. The other one logs after the
/// memory of the pipeline and of the registry was dropped: a registry has no spans then.
fn thread_ends(pipeline: &Pipeline) {
    struct Drops(fn());
    impl Drop for Drops {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    thread_local! {
        static FIRST: RefCell<Option<Drops>> = const { RefCell::new(None) };
        static LAST: RefCell<Option<Drops>> = const { RefCell::new(None) };
    }
    static PIPELINE: OnceLock<Pipeline> = OnceLock::new();
    PIPELINE.set(pipeline.clone()).unwrap();
    dispatcher::set_global_default(subscriber(pipeline)).unwrap();
    let thread = thread::spawn(|| {
        // The memory of a thread is dropped in reverse order.
        FIRST.set(Some(Drops(|| crate::support::info(PIPELINE.get().unwrap(), "at the end"))));
        traces();
        LAST.set(Some(Drops(traces)));
    });
    thread.join().unwrap();
    assert_written(pipeline, 2 * SPANS, 2 * EVENTS + 1);
}

/// A sink of the user's that opens spans and logs while it writes, a bounded number of times.
fn sink_traces() {
    struct Traces(u32);
    impl io::Write for Traces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 > 0 {
                self.0 -= 1;
                traces();
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let spans = Sink::otlp(
        Otlp::new().endpoint(&test_support::receiver::serve().0).signals([Signal::Traces]),
    );
    let events = Sink::writer("traces", Traces(50));
    let guard = Pipeline::builder().sink(spans).sink(events).build().unwrap();
    dispatcher::set_global_default(subscriber(guard.pipeline())).unwrap();
    traces();
    while guard.pipeline().stats().sinks()[1].written() < 51 * EVENTS {
        guard.pipeline().flush(LONG).unwrap();
    }
    assert_written(guard.pipeline(), 51 * SPANS, 51 * EVENTS);
}

/// Each layer sends the spans and the events.
fn twice(pipeline: &Pipeline) {
    let layer = || pipeline.clone();
    set_global_default(registry().with(layer()).with(layer())).unwrap();
    info_span!("outer").in_scope(|| info_span!("inner").in_scope(|| info!("within")));
    assert_written(pipeline, 2 * 2, 2);
}

/// A layer that keeps another span for each span, and drops it when the span ends.
#[derive(Clone, Default)]
struct Keeps(Arc<Mutex<HashMap<Id, Span>>>);

impl Keeps {
    fn keep(&self, with: &Span, kept: Span) {
        self.0.lock().unwrap().insert(with.id().unwrap(), kept);
    }
}

impl<S: tracing::Subscriber> Layer<S> for Keeps {
    fn on_close(&self, id: Id, _context: Context<'_, S>) {
        let kept = self.0.lock().unwrap().remove(&id);
        drop(kept);
    }
}

fn ends_another(pipeline: &Pipeline) {
    static KEEPS: OnceLock<[Keeps; 2]> = OnceLock::new();
    let [below, above] = KEEPS.get_or_init(Default::default);
    let subscriber = registry().with(below.clone()).with(pipeline.clone());
    set_global_default(subscriber.with(above.clone())).unwrap();
    for keeps in [below, above] {
        let chain: Vec<_> = (0..100).map(|_| info_span!("link")).collect();
        let mut chain = chain.into_iter();
        let first = chain.next().unwrap();
        let mut with = first.clone();
        for next in chain {
            keeps.keep(&with, next.clone());
            with = next;
        }
        drop(with);
        first.in_scope(traces);
    }
    assert_written(pipeline, 2 * (100 + SPANS), 2 * EVENTS);
}

/// Returns whether a propagator would write a header.
#[cfg(all(unix, feature = "opentelemetry"))]
fn is_valid(span: &Span) -> bool {
    use opentelemetry::trace::TraceContextExt as _;
    use tach_pipeline::OpenTelemetrySpanExt;
    OpenTelemetrySpanExt::context(span).span().span_context().is_valid()
}

/// The child ends the parent's spans, which it does not send and which are not lost here, and opens
/// its own.
#[cfg(unix)]
fn forks(pipeline: &Pipeline) {
    dispatcher::set_global_default(subscriber(pipeline)).unwrap();
    let outer = info_span!("outer");
    let entered = outer.enter();
    let mut inner = Some(info_span!("inner").entered());
    info!("before");
    crate::exits::fork::in_child(|| {
        info!("in the child");
        drop(inner.take());
        traces();
        let span = info_span!("in the child");
        let (own, of_parent) = (span.trace_context().is_some(), outer.trace_context().is_some());
        #[cfg(feature = "opentelemetry")]
        let (own, of_parent) = (own && is_valid(&span), of_parent || is_valid(&outer));
        own && !of_parent
    });
    info!("after");
    // The control.
    assert!(outer.trace_context().is_some());
    #[cfg(feature = "opentelemetry")]
    assert!(is_valid(&outer));
    drop((inner, entered));
    drop(outer);
    assert_written(pipeline, 2, 2);
}
