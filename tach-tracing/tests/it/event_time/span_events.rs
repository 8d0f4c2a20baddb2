//! The times of span events.

use core::cell::Cell;
use core::fmt::{Display, Formatter, Result};
use core::time::Duration;
use std::sync::Arc;

use tach_core::{Anchor, Clock, ManualClock, UnixTime, event_time};
use tach_tracing::{EventTime, Utc};
use test_support::Captured;
use tracing::subscriber::with_default;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

use super::Boxed;

/// Returns the times of 400 lines about spans, for each of two layers.
fn times(around: impl FnOnce(Boxed) -> Boxed) -> [Vec<String>; 2] {
    let captured = <[Captured; 2]>::default();
    let [one, other] = captured.each_ref().map(|captured| {
        let layer = fmt::layer().with_ansi(false).with_writer(captured.clone());
        layer.with_span_events(FmtSpan::FULL).with_timer(Utc.digits(9))
    });
    with_default(registry().with(around(one.and_then(other).boxed())), || {
        for _ in 0..100 {
            tracing::info_span!("span").in_scope(|| ());
        }
    });
    captured.map(|captured| {
        let time = |line: &str| line.split_once(' ').unwrap().0.to_owned();
        captured.text().lines().map(time).collect()
    })
}

#[test]
fn with_span_events_they_have_one_time() {
    let [one, other] = times(|layers| EventTime::new(layers).with_span_events().boxed());
    assert_eq!(one, other);
    assert_eq!(one.len(), 400);
    assert!(one.iter().collect::<std::collections::BTreeSet<_>>().len() > 100);
}

#[test]
fn nested_layers_give_one_time_too() {
    let [one, other] = times(|layers| {
        let within = EventTime::new(layers).with_span_events();
        EventTime::new(within).with_span_events().boxed()
    });
    assert_eq!(one, other);
}

#[test]
fn by_default_they_have_several_times() {
    let [one, other] = times(|layers| EventTime::new(layers).boxed());
    assert_ne!(one, other);
}

struct Closing {
    span: Cell<Option<tracing::Span>>,
    clock: Arc<ManualClock>,
}

impl Display for Closing {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.clock.advance(Duration::from_secs(1));
        drop(self.span.take());
        f.write_str("closing")
    }
}

/// Returns the lines of a span that closes while an event is handled.
fn closed_within(
    around: impl FnOnce(EventTime<Boxed>) -> EventTime<Boxed>,
    pinned: Option<Anchor>,
) -> String {
    let (captured, clock) = (Captured::default(), Arc::new(ManualClock::new(UnixTime::EPOCH)));
    let layer = fmt::layer().with_ansi(false).with_target(false).with_writer(captured.clone());
    let layer = layer.with_span_events(FmtSpan::CLOSE);
    // Busy and idle times come from the standard library's clock.
    let layer = layer.with_timer(Utc.digits(0).with_clock(clock.clone())).boxed();
    let layers = around(EventTime::new(layer)).with_clock(clock.clone());
    with_default(registry().with(layers), || {
        let closing = Closing { span: Cell::new(Some(tracing::info_span!("span"))), clock };
        match pinned {
            None => tracing::info!("{closing}"),
            Some(stamp) => event_time::during(stamp, || tracing::info!("{closing}")),
        }
    });
    let text = captured.text();
    let without_times = |line: &'_ str| line.split(" time.").next().unwrap().to_owned();
    text.lines().map(without_times).collect::<Vec<_>>().join("\n")
}

#[test]
fn during_an_event_they_do_not_have_its_time() {
    let own = "1970-01-01T00:00:01Z  INFO span: close\n1970-01-01T00:00:00Z  INFO closing";
    assert_eq!(closed_within(|layers| layers, None), own);
    assert_eq!(closed_within(EventTime::with_span_events, None), own);
}

#[test]
fn a_time_that_was_pinned_before_is_theirs_too() {
    let pinned = "1970-01-01T00:01:40Z  INFO span: close\n1970-01-01T00:01:40Z  INFO closing";
    let stamp = ManualClock::new(UnixTime::EPOCH + Duration::from_secs(100)).anchor();
    assert_eq!(closed_within(|layers| layers, Some(stamp)), pinned);
    assert_eq!(closed_within(EventTime::with_span_events, Some(stamp)), pinned);
}

#[test]
fn an_inner_layer_keeps_the_time_of_the_outer_one() {
    let [one, other] = times(|layers| {
        let within = EventTime::new(layers);
        EventTime::new(within).with_span_events().boxed()
    });
    assert_eq!(one, other);
}
