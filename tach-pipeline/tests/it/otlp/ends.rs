//! Spans whose ends the queue had no room for.

use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::SeqCst;
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::{io, thread};

use opentelemetry_proto::tonic::trace::v1::Span;
use tach_core::{Clock, Instant, SystemClock, UnixTime};
use tach_log::{Event, Format};
use tach_pipeline::{Builder, Durations, Guard, Pipeline, Sampling, Sink, SpanDurations, WhenFull};
use test_support::is_alone;
use test_support::receiver::Requests;
use tracing::dispatcher;

use super::{pipeline, received, run};
use crate::support::{LONG, subscriber};

fn drop_newest(builder: Builder) -> Builder {
    builder.when_full(WhenFull::DropNewest).queue_bytes(4096)
}

/// Returns a text for a field of what must find no room. The queue may have room left for other
/// records: those that filled it were longer if their callsite had no number yet, because another
/// thread was taking one.
fn too_long() -> String {
    "x".repeat(1024)
}

/// Returns a pipeline with a small queue, whose back end waits while the gate is closed.
fn gated(with: impl FnOnce(Builder) -> Builder) -> (Arc<Gate>, Requests, Guard) {
    let gate = Arc::new(Gate::default());
    let clock = Gated(Arc::clone(&gate));
    let (requests, pipeline) = pipeline(|builder| with(drop_newest(builder)).with_clock(clock));
    (gate, requests, pipeline)
}

/// The span's record is short enough to find room, and its fields are counted as lost.
#[test]
fn a_span_that_ends_while_the_queue_is_full_is_kept() {
    let (gate, requests, guard) = gated(|builder| builder);
    run(guard.pipeline(), || {
        let open = tracing::info_span!("open");
        let closed = gate.close(guard.pipeline());
        let span = tracing::info_span!("ended");
        // More events than the queue has room for.
        open.in_scope(|| (0..10_000).for_each(|number| tracing::info!(number, "event")));
        drop(span);
        drop(closed);
        for _ in 0..5 {
            guard.pipeline().flush(LONG).unwrap();
        }
        assert_eq!(received::names(&received::spans(&requests)), ["ended"]);
        assert!(guard.pipeline().stats().dropped() > 0);
        drop(open);
    });
    assert_eq!(received::names(&received::spans(&requests)), ["open"]);
}

/// While the back end waits, the queue is full. The end is kept, and what is lost is counted.
#[test]
fn what_a_full_queue_drops_is_counted_in_its_span() {
    // A record is too long if its callsite has no number, which another test may cause.
    if !is_alone(what_a_full_queue_drops_is_counted_in_its_span) {
        return;
    }
    let (gate, requests, guard) = gated(|builder| builder);
    run(guard.pipeline(), || {
        let fills = tracing::info_span!("fills");
        let lacks = tracing::info_span!("lacks", late = tracing::field::Empty);
        guard.pipeline().flush(LONG).unwrap();
        let closed = gate.close(guard.pipeline());
        fills.in_scope(|| (0..10_000).for_each(|number| tracing::info!(number, "event")));
        // The reserve is full too.
        fills.in_scope(|| (0..10_000).for_each(|_| tracing::error!("full")));
        // All links have the same length.
        for _ in 0..100 {
            fills.follows_from(&lacks);
        }
        let filler = too_long();
        lacks.record("late", &filler);
        lacks.follows_from(&fills);
        lacks.in_scope(|| (0..3).for_each(|_| tracing::error!(filler, "lost")));
        drop(lacks);
        (0..5).for_each(|_| drop(tracing::info_span!("no fields", filler)));
        let lost_at = UnixTime::now();
        drop(closed);
        guard.pipeline().flush(LONG).unwrap();
        let spans = received::spans(&requests);
        let (lacks, others): (Vec<_>, Vec<_>) = spans.iter().partition(|it| it.name == "lacks");
        assert_eq!((lacks.len(), others.len()), (1, 5));
        assert_eq!(guard.pipeline().stats().dropped_spans(), 0);
        assert!(others.iter().all(|it| it.dropped_attributes_count == 1 && !is_incomplete(it)));
        let lacks = lacks[0];
        assert!(lacks.end_time_unix_nano <= lost_at.as_nanos(), "its end is known");
        assert!(!is_incomplete(lacks));
        assert_eq!((lacks.events.len(), lacks.dropped_events_count), (0, 3));
        assert_eq!((lacks.dropped_attributes_count, lacks.dropped_links_count), (1, 1));
        assert_eq!(lacks.status.as_ref().unwrap().code, 2, "an error is among them");
        drop(fills);
    });
    let fills = received::by_name(&requests).remove("fills").unwrap();
    let all = fills.events.len() + usize::try_from(fills.dropped_events_count).unwrap();
    assert_eq!(all, 20_000);
}

/// A span is one record, so nothing else of it is left.
#[test]
fn spans_without_room_are_lost_whole_and_counted() {
    const SPANS: usize = 3_000;
    for when_full in [WhenFull::DropNewest, WhenFull::DropOldest] {
        let (gate, requests, guard) = gated(|builder| builder.when_full(when_full));
        run(guard.pipeline(), || {
            let spans: Vec<_> = (0..SPANS).map(|_| tracing::info_span!("span")).collect();
            // The event comes before its span.
            spans.iter().step_by(500).for_each(|span| {
                span.in_scope(|| tracing::info!("event"));
            });
            guard.pipeline().flush(LONG).unwrap();
            assert_eq!(guard.pipeline().stats().dropped(), 0);
            let closed = gate.close(guard.pipeline());
            drop(spans);
            drop(closed);
            for _ in 0..5 {
                guard.pipeline().flush(LONG).unwrap();
            }
            let spans = received::spans(&requests);
            let stats = guard.pipeline().stats();
            assert!(!spans.is_empty() && spans.len() < SPANS, "{}", spans.len());
            assert!(!spans.iter().any(is_incomplete), "{when_full:?}");
            let lost = u64::try_from(SPANS - spans.len()).unwrap();
            assert_eq!((stats.dropped(), stats.dropped_spans()), (lost, lost), "{when_full:?}");
            let events: usize = spans.iter().map(|span| span.events.len()).sum();
            assert_eq!(events as u64 + stats.spanless_records(), 6, "{when_full:?}");
        });
    }
}

/// A full queue may drop more than can be counted span by span, while spans stay open.
#[test]
fn an_unfinished_span_may_be_incomplete_too() {
    for loses in [true, false] {
        let (gate, requests, guard) = gated(Builder::unfinished_spans);
        dispatcher::with_default(&subscriber(guard.pipeline()), || {
            let [one, other] =
                ["one", "other"].map(|name| tracing::info_span!("span", otel.name = name));
            guard.pipeline().flush(LONG).unwrap();
            let closed = gate.close(guard.pipeline());
            // The counts of two spans in turn need a record each.
            for _ in 0..if loses { 2_000 } else { 1 } {
                one.in_scope(|| tracing::info!("event"));
                other.in_scope(|| tracing::info!("event"));
            }
            drop(closed);
            drop(guard);
            let spans = received::spans(&requests);
            assert_eq!(received::names(&spans), ["one", "other"]);
            for span in &spans {
                assert!(has(span, "tach.unfinished"));
                assert_eq!(is_incomplete(span), loses);
            }
        });
    }
}

/// The back end reads the loss of a thread's first queue after it has taken the end of the span,
/// and before it passes the span on.
#[test]
fn a_loss_that_is_read_in_the_last_round_marks_the_span() {
    let held = Arc::new(Mutex::new(()));
    let (reached, is_reached) = mpsc::channel();
    let format = Held { message: "held", reached, until: Arc::clone(&held) };
    let sink = Sink::writer("held", io::sink()).format(format);
    let (gate, requests, guard) = gated(|builder| builder.sink(sink));
    let dispatch = subscriber(guard.pipeline());
    dispatcher::with_default(&dispatch, || {
        let [ends, one, other] =
            ["ends", "one", "other"].map(|name| tracing::info_span!("span", otel.name = name));
        guard.pipeline().flush(LONG).unwrap();
        let (closed, waits) = (gate.close(guard.pipeline()), held.lock().unwrap());
        tracing::info!("held");
        drop(ends);
        drop(closed);
        is_reached.recv_timeout(LONG).unwrap();
        // These are more counts than the remains have room for.
        let lose = || {
            for _ in 0..2_000 {
                one.in_scope(|| tracing::info!("lost"));
                other.in_scope(|| tracing::info!("lost"));
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| dispatcher::with_default(&dispatch, lose));
        });
        drop(waits);
        guard.pipeline().flush(LONG).unwrap();
        let spans = received::by_name(&requests);
        assert_eq!(spans.len(), 1);
        assert!(is_incomplete(&spans["ends"]));
    });
}

/// A format that waits at one message.
struct Held {
    message: &'static str,
    reached: mpsc::Sender<()>,
    until: Arc<Mutex<()>>,
}

impl Format for Held {
    fn write(&self, event: &Event<'_>, _: &mut Vec<u8>) -> io::Result<()> {
        if event.message() == self.message {
            self.reached.send(()).unwrap();
            drop(self.until.lock());
        }
        Ok(())
    }
}

fn is_incomplete(span: &Span) -> bool {
    has(span, "tach.incomplete")
}

fn has(span: &Span, key: &str) -> bool {
    span.attributes.iter().any(|attribute| attribute.key == key)
}

#[derive(Default)]
struct Gate {
    closed: Mutex<()>,
    is_reached: AtomicBool,
}

impl Gate {
    /// Returns once the back end waits: the round that it was in could make room in the queue.
    fn close(&self, pipeline: &Pipeline) -> MutexGuard<'_, ()> {
        self.is_reached.store(false, SeqCst);
        let closed = self.closed.lock().unwrap();
        while !self.is_reached.load(SeqCst) {
            // The flush wakes the back end.
            let _late = pipeline.flush(Duration::from_millis(1));
        }
        closed
    }

    fn pass(&self) {
        if self.closed.try_lock().is_err() {
            self.is_reached.store(true, SeqCst);
            drop(self.closed.lock());
        }
    }
}

/// A clock at which the back end waits.
struct Gated(Arc<Gate>);

impl Clock for Gated {
    fn monotonic_now(&self) -> Instant {
        if thread::current().name() == Some("tach-pipeline") {
            self.0.pass();
        }
        SystemClock.monotonic_now()
    }

    fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
        SystemClock.duration_between(earlier, later)
    }

    fn unix_time_at(&self, instant: Instant) -> UnixTime {
        SystemClock.unix_time_at(instant)
    }
}

/// Each span is counted once: by its duration, or as dropped.
#[test]
fn lost_spans_are_not_guessed() {
    const SPANS: u64 = 200_000;
    let (gate, _requests, guard) =
        gated(|builder| builder.sampling(Sampling::ratio(0.5)).durations(Durations::new()));
    let log = |spans| (0..spans).for_each(|_| drop(tracing::info_span!("span")));
    run(guard.pipeline(), || {
        // More than the queue has room for. Then the back end races with the calls.
        let closed = gate.close(guard.pipeline());
        log(SPANS / 100);
        drop(closed);
        log(SPANS - SPANS / 100);
    });
    // The back end finds some rounds later which ends were dropped.
    (0..10).for_each(|_| guard.pipeline().flush(LONG).unwrap());
    let dropped = guard.pipeline().stats().dropped();
    let count: u64 = guard.pipeline().durations().iter().map(SpanDurations::count).sum();
    assert!(dropped > 0, "the control: the queue was never full");
    assert_eq!(count + dropped, SPANS);
}
