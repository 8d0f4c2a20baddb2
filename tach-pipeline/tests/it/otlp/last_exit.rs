//! When a span ends: when it is left for the last time, or at its close if it was never entered.

use core::time::Duration;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use opentelemetry_proto::tonic::trace::v1::Span;
use tach_core::{ManualClock, UnixTime};
use tach_pipeline::{Durations, FlightFormat, FlightRecorder, Incident, Tail};

use super::received;
use super::{pipeline, run, spans};
use crate::support::{Folder, LONG, subscriber};

const START: UnixTime = UnixTime::from_nanos(1_700_000_000_000_000_000);
const MS: Duration = Duration::from_millis(1);

fn manual() -> &'static ManualClock {
    Box::leak(Box::new(ManualClock::new(START)))
}

fn took(span: &Span) -> Duration {
    Duration::from_nanos(span.end_time_unix_nano - span.start_time_unix_nano)
}

/// The durations, the tail, the flight recorder and the collector have the same end.
#[test]
fn a_job_does_not_lengthen_the_request_that_spawned_it() {
    for is_slow in [false, true] {
        let (clock, folder) = (manual(), Folder::new("last-exit"));
        let (incident, incidents) = mpsc::channel();
        let incident = Mutex::new(incident);
        let recorder = FlightRecorder::new()
            .folder(folder.path("flight"), FlightFormat::trace_events())
            .span_slower_than("request", 100 * MS);
        // The job's own trace decides about nothing.
        let tail = Tail::ratio(0.0).span_slower_than("request", 100 * MS);
        let (requests, guard) = pipeline(|builder| {
            let builder = builder.with_clock(clock).durations(Durations::new());
            builder.tail(tail).flight_recorder(recorder).on_incident(move |it| {
                if let Incident::Recorded { .. } = it {
                    incident.lock().unwrap().send(()).unwrap();
                }
            })
        });
        let in_handler = if is_slow { 100 * MS } else { 6 * MS };
        run(guard.pipeline(), || {
            let request = tracing::info_span!("request");
            let job = request.in_scope(|| {
                clock.advance(in_handler);
                tracing::info_span!("job")
            });
            drop(request);
            job.in_scope(|| clock.advance(1_500 * MS));
        });
        let durations = guard.pipeline().durations();
        let request = durations.iter().find(|spans| spans.name() == "request").unwrap();
        assert_eq!((request.count(), request.sum()), (1, in_handler));
        let spans = received::by_name(&requests);
        assert_eq!(spans.len(), if is_slow { 2 } else { 0 }, "the tail keeps slow requests");
        if is_slow {
            assert_eq!(took(&spans["request"]), in_handler);
            incidents.recv_timeout(LONG).unwrap();
        } else {
            // A flush waits for the file of a slow span.
            assert!(incidents.try_recv().is_err(), "no span was slow");
        }
    }
}

/// By the counter, whose ticks the call stores.
#[test]
fn a_span_ends_when_it_is_left_for_the_last_time() {
    let mark = |name| drop(tracing::info_span!(parent: None, "mark", otel.name = name));
    let spans = spans(|| {
        let [once, again, never, nested, late] = [
            tracing::info_span!("once"),
            tracing::info_span!("again"),
            tracing::info_span!("never"),
            tracing::info_span!("nested"),
            tracing::info_span!("late"),
        ];
        once.in_scope(|| again.in_scope(|| nested.in_scope(|| nested.in_scope(|| ()))));
        mark("first");
        again.in_scope(|| nested.in_scope(|| mark("within")));
        mark("second");
        // What is recorded later belongs to the span, and does not lengthen it.
        once.record("late", 1);
        late.in_scope(|| mark("of late"));
        mark("third");
        drop((once, again, never, nested, late));
        mark("last");
    });
    let ends_between = |name: &str, after: &str, before: &str| {
        let end = spans[name].end_time_unix_nano;
        let (after, before) = (&spans[after], &spans[before]);
        assert!(after.end_time_unix_nano <= end, "{name}");
        assert!(end <= before.start_time_unix_nano, "{name}");
    };
    assert!(spans["once"].end_time_unix_nano <= spans["first"].start_time_unix_nano);
    ends_between("again", "within", "second");
    ends_between("nested", "within", "second");
    ends_between("late", "of late", "third");
    ends_between("never", "third", "last");
}

/// A thread stays in the span for longer than the thread that entered it last, and a third thread
/// closes the span.
#[test]
fn threads_leave_a_span_in_any_order() {
    let clock = manual();
    let (requests, guard) = pipeline(|builder| builder.with_clock(clock));
    let dispatch = subscriber(guard.pipeline());
    let span = tracing::dispatcher::with_default(&dispatch, || tracing::info_span!("shared"));
    let span = Arc::new(span);
    let (entered, has_entered) = mpsc::channel();
    let (leave, may_leave) = mpsc::channel::<()>();
    let inner = Arc::clone(&span);
    let long = thread::spawn(move || {
        let within = inner.enter();
        entered.send(()).unwrap();
        may_leave.recv().unwrap();
        clock.advance(5 * MS);
        drop(within);
    });
    has_entered.recv().unwrap();
    let other = Arc::clone(&span);
    thread::spawn(move || other.in_scope(|| clock.advance(MS))).join().unwrap();
    leave.send(()).unwrap();
    long.join().unwrap();
    clock.advance(1_000 * MS);
    thread::spawn(move || drop(span)).join().unwrap();
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(took(&received::by_name(&requests)["shared"]), 6 * MS);
}

/// The span's first task was polled before a pause of an hour.
#[test]
fn a_span_that_is_entered_after_a_pause_lasts_until_then() {
    let clock = manual();
    let (requests, guard) = pipeline(|builder| builder.with_clock(clock));
    run(guard.pipeline(), || {
        let span = tracing::info_span!("socket");
        for _ in 0..2 {
            span.in_scope(|| clock.advance(MS));
            clock.advance(3_600_000 * MS);
        }
    });
    assert_eq!(took(&received::by_name(&requests)["socket"]), 3_600_002 * MS);
}
