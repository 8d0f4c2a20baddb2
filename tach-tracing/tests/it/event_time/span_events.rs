//! What happens to spans.

use tach_tracing::{EventTime, Utc};
use tracing::subscriber::with_default;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

use super::Boxed;
use crate::support::Captured;

/// The times of 400 lines about spans: those of one layer, and of another.
fn times(around: impl FnOnce(Boxed) -> Boxed) -> [Vec<String>; 2] {
    let captured = <[Captured; 2]>::default();
    let [one, other] = captured.each_ref().map(|captured| {
        let layer = fmt::layer().with_ansi(false).with_writer(captured.clone());
        layer.with_span_events(FmtSpan::FULL).with_timer(Utc::<9>)
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
    // Each is a moment of its own.
    assert!(one.iter().collect::<std::collections::BTreeSet<_>>().len() > 100);
}

#[test]
fn several_within_each_other_give_one_time_too() {
    let [one, other] = times(|layers| {
        let within = EventTime::new(layers).with_span_events();
        EventTime::new(within).with_span_events().boxed()
    });
    assert_eq!(one, other);
}

#[test]
fn unless_asked_for_they_are_left_alone() {
    let [one, other] = times(|layers| EventTime::new(layers).boxed());
    assert_ne!(one, other);
}
