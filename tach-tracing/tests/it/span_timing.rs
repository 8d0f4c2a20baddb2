//! Busy and idle times of spans, to the nanosecond.

mod threads;

use core::mem;
use core::time::Duration;
use std::sync::{Arc, Mutex};
use std::thread::sleep;

use tach_core::{Clock, Instant, ManualClock, UnixTime, event_time};
use tach_tracing::{SpanDurations, SpanTimes, SpanTiming};
use tracing::Subscriber;
use tracing::span::Id;
use tracing::subscriber::with_default;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::{LookupSpan, Registry};

const fn ns(ns: u64) -> Duration {
    Duration::from_nanos(ns)
}

#[derive(Debug, Clone, Default)]
struct Reader {
    read: Arc<Mutex<Vec<(SpanTimes, SpanDurations)>>>,
}

impl Reader {
    fn only(&self) -> SpanDurations {
        self.only_with_times().1
    }

    fn only_with_times(&self) -> (SpanTimes, SpanDurations) {
        let read = self.read.lock().unwrap();
        assert_eq!(read.len(), 1);
        read[0].clone()
    }
}

impl<S> Layer<S> for Reader
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let span = context.span(&id).unwrap();
        if let Some(times) = span.extensions().get::<SpanTimes>() {
            let durations = times.durations();
            self.read.lock().unwrap().push((times.clone(), durations));
        }
    }
}

/// Returns a subscriber that measures spans with `clock`, and the reader of their times.
fn timed(clock: impl Clock + 'static) -> (impl Subscriber + for<'a> LookupSpan<'a>, Reader) {
    let reader = Reader::default();
    let timing = SpanTiming::new().with_clock(clock);
    (Registry::default().with(timing).with(reader.clone()), reader)
}

#[track_caller]
fn assert_durations(durations: SpanDurations, age: u64, busy: u64) {
    assert_eq!(
        (durations.age, durations.busy, durations.idle),
        (ns(age), ns(busy), ns(age - busy))
    );
}

#[test]
fn a_span_is_busy_while_it_is_entered() {
    let clock = Arc::new(ManualClock::default());
    clock.advance(ns(5));
    let created = clock.monotonic_now();
    let (subscriber, reader) = timed(clock.clone());
    with_default(subscriber, || {
        let span = tracing::info_span!("span");
        clock.advance(ns(10));
        span.in_scope(|| clock.advance(ns(100)));
        clock.advance(ns(1000));
        span.in_scope(|| clock.advance(ns(10_000)));
        clock.advance(ns(100_000));
    });
    let (times, durations) = reader.only_with_times();
    assert_durations(durations, 111_110, 10_100);
    assert_eq!(times.created(), created);
}

#[test]
fn a_step_of_the_wall_clock_changes_nothing() {
    let clock = Arc::new(ManualClock::default());
    let (subscriber, reader) = timed(clock.clone());
    with_default(subscriber, || {
        tracing::info_span!("span").in_scope(|| {
            clock.advance(ns(7));
            clock.step_forward(Duration::from_secs(3600));
        });
    });
    assert_durations(reader.only(), 7, 7);
}

#[test]
fn entering_again_counts_once() {
    let clock = Arc::new(ManualClock::default());
    let (subscriber, reader) = timed(clock.clone());
    with_default(subscriber, || {
        let span = tracing::info_span!("span");
        span.in_scope(|| {
            clock.advance(ns(1));
            span.in_scope(|| clock.advance(ns(10)));
            clock.advance(ns(100));
        });
        clock.advance(ns(1000));
    });
    assert_durations(reader.only(), 1111, 111);
}

/// `FmtSpan::CLOSE` counts a span that is closed while entered as idle.
#[test]
fn a_span_that_is_closed_while_entered_was_busy() {
    let clock = Arc::new(ManualClock::default());
    let (subscriber, reader) = timed(clock.clone());
    with_default(subscriber, || {
        let span = tracing::info_span!("span");
        mem::forget(span.enter());
        clock.advance(ns(10));
    });
    assert_durations(reader.only(), 10, 10);
}

#[test]
fn the_layer_may_be_there_twice() {
    let clock = Arc::new(ManualClock::default());
    let (subscriber, reader) = timed(clock.clone());
    let subscriber = subscriber.with(SpanTiming::new().with_clock(clock.clone()));
    with_default(subscriber, || {
        let span = tracing::info_span!("span");
        span.in_scope(|| clock.advance(ns(10)));
        clock.advance(ns(100));
    });
    assert_durations(reader.only(), 110, 10);
}

#[test]
fn a_span_that_was_never_entered_was_idle() {
    let clock = Arc::new(ManualClock::default());
    let (subscriber, reader) = timed(clock.clone());
    with_default(subscriber, || {
        let _span = tracing::info_span!("span");
        clock.advance(ns(10));
    });
    assert_durations(reader.only(), 10, 0);
}

#[test]
fn an_open_span_has_durations_until_now() {
    let clock = Arc::new(ManualClock::default());
    let (subscriber, reader) = timed(clock.clone());
    let dispatch = tracing::Dispatch::new(subscriber);
    tracing::dispatcher::with_default(&dispatch, || {
        let so_far = |span: &tracing::Span| {
            let registry = dispatch.downcast_ref::<Registry>().unwrap();
            let data = registry.span(&span.id().unwrap()).unwrap();
            let times = data.extensions().get::<SpanTimes>().unwrap().clone();
            times.durations()
        };
        let span = tracing::info_span!("span");
        clock.advance(ns(10));
        assert_durations(so_far(&span), 10, 0);
        span.in_scope(|| {
            clock.advance(ns(100));
            assert_durations(so_far(&span), 110, 100);
            clock.advance(ns(1000));
        });
    });
    assert_durations(reader.only(), 1110, 1100);
}

#[test]
fn layers_before_it_read_the_same() {
    let clock = Arc::new(ManualClock::default());
    let before = Reader::default();
    let (timing, after) = (SpanTiming::new().with_clock(clock.clone()), before.clone());
    with_default(Registry::default().with(before.clone()).with(timing).with(after), || {
        tracing::info_span!("span").in_scope(|| clock.advance(ns(10)));
    });
    let read = before.read.lock().unwrap();
    assert_eq!(read.len(), 2);
    assert_eq!(read[0].1, read[1].1);
    assert_durations(read[0].1, 10, 10);
}

/// The event time may belong to an event during which the span closes.
#[test]
fn a_pinned_event_time_changes_nothing() {
    let clock = Arc::new(ManualClock::default());
    let (subscriber, reader) = timed(clock.clone());
    with_default(subscriber, || {
        let span = tracing::info_span!("span");
        let stamp = clock.anchor();
        span.in_scope(|| clock.advance(ns(10)));
        clock.advance(ns(100));
        event_time::during(stamp, || drop(span));
    });
    assert_durations(reader.only(), 110, 10);
}

#[test]
fn busy_and_idle_agree_with_another_clock() {
    let (subscriber, reader) = timed(tach_core::SystemClock);
    let pause = Duration::from_millis(20);
    let (mut most, mut busy, mut most_busy) = <(Duration, Duration, Duration)>::default();
    with_default(subscriber, || {
        let start = std::time::Instant::now();
        let span = tracing::info_span!("span");
        let outside = std::time::Instant::now();
        span.in_scope(|| {
            let inside = std::time::Instant::now();
            sleep(pause);
            busy = inside.elapsed();
        });
        most_busy = outside.elapsed();
        sleep(pause);
        drop(span);
        most = start.elapsed();
    });
    let durations = reader.only();
    assert_within(durations.busy, busy, most_busy);
    assert_within(durations.idle, pause, most.saturating_sub(busy));
}

/// Asserts that a duration lies between those that the standard library's clock measured inside and
/// around it. At first the rates of the clocks may differ by up to a thousandth.
#[track_caller]
fn assert_within(duration: Duration, least: Duration, most: Duration) {
    let error = most / 1000 + ns(1000);
    let range = least.saturating_sub(error)..=most + error;
    assert!(range.contains(&duration), "{duration:?} is not in {range:?}");
}

#[test]
fn a_span_older_than_the_layer_has_no_times() {
    let reader = Reader::default();
    let (layer, handle) = tracing_subscriber::reload::Layer::new(None::<SpanTiming>);
    with_default(Registry::default().with(layer).with(reader.clone()), || {
        let span = tracing::info_span!("from before");
        let entered = span.enter();
        handle.reload(SpanTiming::new()).unwrap();
        drop(entered);
        span.in_scope(|| ());
        drop(span);
        assert!(reader.read.lock().unwrap().is_empty());
        tracing::info_span!("after").in_scope(|| ());
    });
    reader.only();
}

/// A clock with the given reads, in ticks of half a nanosecond. Unlike a correct clock, it rounds
/// durations up.
#[derive(Debug)]
struct Scripted(Mutex<Vec<u64>>);

impl Scripted {
    /// Returns the durations of a span that is created, then entered and left repeatedly, then
    /// read.
    fn durations(ticks: &[u64]) -> SpanDurations {
        let reversed = ticks.iter().rev().copied().collect();
        let (subscriber, reader) = timed(Arc::new(Self(Mutex::new(reversed))));
        with_default(subscriber, || {
            let span = tracing::info_span!("span");
            (0..(ticks.len() - 2) / 2).for_each(|_| span.in_scope(|| ()));
        });
        reader.only()
    }
}

impl Clock for Scripted {
    fn monotonic_now(&self) -> Instant {
        Instant::from_ticks(self.0.lock().unwrap().pop().unwrap())
    }

    fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
        ns(later.as_ticks().saturating_sub(earlier.as_ticks()).div_ceil(2))
    }

    fn unix_time_at(&self, _: Instant) -> UnixTime {
        UnixTime::EPOCH
    }
}

/// The counters of two CPUs that are not synchronized give such reads.
#[test]
fn reads_in_the_wrong_order_count_as_no_time() {
    assert_durations(Scripted::durations(&[100, 90, 80, 70]), 0, 0);
    assert_durations(Scripted::durations(&[100, 200, 150, 160, 220, 240]), 70, 10);
}

#[test]
fn parts_that_are_rounded_up_do_not_exceed_the_whole() {
    assert_durations(Scripted::durations(&[0, 0, 1, 1, 2, 2, 3, 3]), 2, 2);
}
