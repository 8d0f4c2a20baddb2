//! A pipeline that is a layer of several subscribers, whose registries number their spans alike.

use core::mem;
use std::env;
use std::sync::{Arc, Mutex};

use log::Log as _;
use tach_pipeline::{Durations, Guard, Pipeline, Sink};
use test_support::assert_test_passes;
use tracing::dispatcher::with_default;
use tracing::field::Empty;
use tracing::{Dispatch, Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry;

use crate::support::{LONG, Memory};

/// Returns a pipeline that counts spans by their names and numbers.
fn build() -> Guard {
    let durations = Durations::new().attribute("number");
    let sink = Sink::writer("nothing", std::io::sink());
    Pipeline::builder().sink(sink).durations(durations).build().unwrap()
}

fn subscriber(pipeline: &Pipeline) -> Dispatch {
    Dispatch::new(registry().with(pipeline.clone()))
}

/// Returns the names and numbers of the spans that have ended, sorted.
fn ended(pipeline: &Pipeline) -> Vec<String> {
    pipeline.flush(LONG).unwrap();
    let mut ended = Vec::new();
    for spans in pipeline.durations() {
        let number = spans.attributes().map(|(_, value)| value).next().unwrap_or("without");
        ended.extend((0..spans.count()).map(|_| format!("{} {number}", spans.name())));
    }
    ended.sort();
    ended
}

#[test]
fn a_scoped_subscriber_does_not_mix_its_spans_with_those_around_it() {
    let guard = build();
    let [global, scoped] = [(); 2].map(|()| subscriber(guard.pipeline()));
    with_default(&global, || {
        let main = tracing::info_span!("main", number = Empty);
        let entered = main.enter();
        with_default(&scoped, || {
            let sub = tracing::info_span!("sub", number = Empty);
            assert_eq!(sub.id(), main.id(), "the registries number their spans alike");
            sub.in_scope(|| drop(tracing::info_span!("child of sub")));
            sub.record("number", 1);
        });
        assert_eq!(ended(guard.pipeline()), ["child of sub without", "sub 1"]);
        main.record("number", 2);
        drop(entered);
    });
    assert_eq!(ended(guard.pipeline()), ["child of sub without", "main 2", "sub 1"]);
}

/// Keeps the callsite of the last event.
#[derive(Clone, Default)]
struct Callsite(Arc<Mutex<Option<&'static Metadata<'static>>>>);

impl<S: Subscriber> Layer<S> for Callsite {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        *self.0.lock().unwrap() = Some(event.metadata());
    }
}

/// Whether callsites have numbers.
const NUMBERS: &str = "TACH_PIPELINE_NUMBERS";

fn connected() {
    tracing::info!(attempt = 2, "connected");
}

/// In processes of their own, since callsites have their numbers for all of the process.
#[test]
fn a_copy_of_an_event_is_not_logged_again() {
    // Without numbers the callsites are as those that find no room in their table.
    for numbers in ["with numbers", "without numbers"] {
        assert_test_passes("subscribers::copies", &[(NUMBERS, numbers)]);
    }
}

/// With tracing's feature `log-always`, each macro also logs such a record. (The feature would be
/// on in all tests.)
#[test]
#[ignore = "the child of the test above"]
fn copies() {
    let callsite = Callsite::default();
    with_default(&registry().with(callsite.clone()).into(), connected);
    let metadata = callsite.0.lock().unwrap().unwrap();
    let memory = Memory::default();
    let builder = || match env::var(NUMBERS).as_deref() {
        Ok("without numbers") => Pipeline::builder().copy_texts(),
        _ => Pipeline::builder(),
    };
    let guard = builder().sink(memory.json()).build().unwrap();
    let log_by = |pipeline: &Pipeline, line| {
        let args = format_args!("connected attempt=2");
        let mut record = log::Record::builder();
        record.file(metadata.file()).module_path(metadata.module_path()).line(line);
        pipeline.log(&record.target(metadata.target()).args(args).build());
    };
    let log = |line| log_by(guard.pipeline(), line);
    let count = || {
        guard.pipeline().flush(LONG).unwrap();
        memory.messages().len()
    };
    for subscriber in [subscriber(guard.pipeline()), Dispatch::new(guard.pipeline().subscriber())] {
        let before = count();
        with_default(&subscriber, || {
            connected();
            log(metadata.line());
        });
        assert_eq!(count() - before, 1);
        // Another record, and one whose event went to another subscriber.
        with_default(&subscriber, || log(Some(1)));
        log(metadata.line());
        with_default(&registry().into(), || log(metadata.line()));
        with_default(&self::subscriber(build().pipeline()), || log(metadata.line()));
        assert_eq!(count() - before, 5);
    }
    // A copy of an event over the limit is over it too.
    let limited = Memory::default();
    let guard = builder().sink(limited.json()).rate_limit(1).build().unwrap();
    let pipeline = guard.pipeline();
    with_default(&Dispatch::new(pipeline.subscriber()), || {
        for _ in 0..1_000 {
            connected();
            log_by(pipeline, metadata.line());
        }
    });
    pipeline.flush(LONG).unwrap();
    let written = limited.messages().into_iter().filter(|it| it == "connected").count();
    assert_eq!(limited.messages().iter().filter(|it| it.contains("attempt")).count(), 0);
    assert!(written < 100, "{written}: a few seconds");
}

/// As in tests that have a subscriber each.
#[test]
fn a_span_that_a_former_subscriber_left_open_is_no_other_span() {
    let guard = build();
    let [former, latter] = [(); 2].map(|()| subscriber(guard.pipeline()));
    let left = with_default(&former, || tracing::info_span!("left"));
    let id = left.id();
    mem::forget(left);
    with_default(&latter, || {
        let request = tracing::info_span!("request", number = 1);
        assert_eq!(request.id(), id);
        drop(request);
        (2..4).for_each(|number| drop(tracing::info_span!("request", number)));
    });
    assert_eq!(ended(guard.pipeline()), ["request 1", "request 2", "request 3"]);
}

#[cfg(feature = "otlp")]
#[test]
fn methods_of_a_span_find_the_ids_of_its_own_subscriber() {
    use tach_pipeline::{Otlp, Signal, SpanExt as _};
    let sink = Sink::otlp(
        Otlp::new().endpoint(&test_support::receiver::serve().0).signals([Signal::Traces]),
    );
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    let [former, latter] = [(); 2].map(|()| subscriber(guard.pipeline()));
    let start = |subscriber| with_default(subscriber, || tracing::info_span!("span"));
    let [one, other] = [&former, &latter].map(start);
    let ids = [&one, &other].map(|span| span.trace_context().unwrap().span_id());
    assert_ne!(ids[0], ids[1]);
    let within = one.in_scope(|| with_default(&latter, || tracing::info_span!("within")));
    let traces = [&one, &within].map(|span| span.trace_context().unwrap().trace_id());
    assert_eq!(traces[0], traces[1], "a thread is in the spans of all subscribers");
    drop(one);
    assert_eq!(other.trace_context().unwrap().span_id(), ids[1]);
}
