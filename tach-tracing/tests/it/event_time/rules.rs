//! Which time an event has.

use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex};

use tach_core::{Anchor, Clock, ManualClock, UnixTime, event_time};
use tach_tracing::EventTime;
use tracing::subscriber::with_default;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::{Layer, registry};

use super::Pair;

fn clock_at(seconds: u64) -> Arc<ManualClock> {
    Arc::new(ManualClock::new(UnixTime::EPOCH + Duration::from_secs(seconds)))
}

fn text(seconds: u64) -> String {
    format!("{:.9}", UnixTime::EPOCH + Duration::from_secs(seconds))
}

struct Advance(Arc<ManualClock>);

impl<S: Subscriber> Layer<S> for Advance {
    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        self.0.advance(Duration::from_secs(1));
    }
}

#[test]
fn the_clock_is_read_when_the_event_comes() {
    let (pair, clock) = (Pair::default(), clock_at(100));
    let layers = pair.text_layer().and_then(Advance(clock.clone())).and_then(pair.json_layer());
    with_default(registry().with(EventTime::new(layers).with_clock(clock)), || {
        tracing::info!(n = 0);
        tracing::info!(n = 1);
    });
    let times = pair.assert_same(0..2);
    assert_eq!((&times[&0], &times[&1]), (&text(100), &text(101)));
}

#[test]
fn the_outermost_layer_gives_the_time() {
    let (pair, outer, inner) = (Pair::default(), clock_at(100), clock_at(200));
    let within = EventTime::new(pair.text_layer()).with_clock(inner);
    let layers = EventTime::new(within.and_then(pair.json_layer())).with_clock(outer);
    with_default(registry().with(layers), || tracing::info!(n = 0));
    assert_eq!(pair.assert_same([0])[&0], text(100));
}

#[test]
fn side_by_side_each_layer_gives_its_own_time() {
    let (pair, one, other) = (Pair::default(), clock_at(100), clock_at(200));
    let layers = EventTime::new(pair.text_layer())
        .with_clock(one)
        .and_then(EventTime::new(pair.json_layer()).with_clock(other));
    with_default(registry().with(layers), || tracing::info!(n = 0));
    assert_eq!((&pair.text_times()[&0], &pair.json_times()[&0]), (&text(100), &text(200)));
}

#[test]
fn a_time_that_was_pinned_before_is_kept() {
    let (pair, clock) = (Pair::default(), clock_at(100));
    let layers = EventTime::new(pair.text_layer().and_then(pair.json_layer()));
    let happened = clock.anchor();
    clock.advance(Duration::from_secs(100));
    with_default(registry().with(layers.with_clock(clock)), || {
        event_time::during(happened, || tracing::info!(n = 0));
        tracing::info!(n = 1);
    });
    let times = pair.assert_same(0..2);
    assert_eq!((&times[&0], &times[&1]), (&text(100), &text(200)));
}

struct Fragile;

impl<S: Subscriber> Layer<S> for Fragile {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        assert_ne!(event.metadata().target(), "fragile", "on purpose");
    }
}

#[test]
fn after_a_panic_no_time_is_pinned() {
    let (pair, clock) = (Pair::default(), clock_at(100));
    let layers = pair.text_layer().and_then(Fragile).and_then(pair.json_layer());
    let stack = registry().with(EventTime::new(layers).with_clock(clock.clone()));
    with_default(stack, || {
        let panicked = catch_unwind(AssertUnwindSafe(|| tracing::info!(target: "fragile", n = 0)));
        assert!(panicked.is_err());
        assert_eq!(event_time::current(), None);
        clock.advance(Duration::from_secs(1));
        tracing::info!(n = 1);
    });
    assert_eq!(pair.text_times()[&0], text(100));
    let json = pair.json_times();
    assert_eq!((json.get(&0), &json[&1]), (None, &text(101)));
    assert_eq!(pair.text_times()[&1], text(101));
}

#[derive(Clone, Default)]
struct Keeper(Arc<Mutex<Option<Anchor>>>);

impl<S: Subscriber> Layer<S> for Keeper {
    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        *self.0.lock().unwrap() = event_time::current();
    }
}

/// Covers also the time that the layer itself gave to an earlier event.
#[test]
fn a_kept_time_can_be_pinned_again() {
    let (pair, clock, keeper) = (Pair::default(), clock_at(100), Keeper::default());
    let layers = pair.text_layer().and_then(keeper.clone()).and_then(pair.json_layer());
    with_default(registry().with(EventTime::new(layers).with_clock(clock.clone())), || {
        tracing::info!(n = 0);
        clock.advance(Duration::from_secs(100));
        let stamp = keeper.0.lock().unwrap().unwrap();
        event_time::during(stamp, || tracing::info!(n = 1));
    });
    let times = pair.assert_same(0..2);
    assert_eq!(times[&0], times[&1]);
}
