//! Events that are logged while another one is handled. Only the global subscriber receives them,
//! so this test is a process of its own.

use core::fmt;
use core::time::Duration;
use std::panic::catch_unwind;

use tach_core::{Anchor, Clock, ManualClock, UnixTime, event_time};
use tach_tracing::{EventTime, Utc};
use test_support::Captured;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::prelude::*;

static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);

/// A value that takes two seconds to write, and logs an event in between.
struct Slow;

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        CLOCK.advance(Duration::from_secs(1));
        tracing::info!("nested");
        CLOCK.advance(Duration::from_secs(1));
        f.write_str("slow")
    }
}

struct Fragile;

impl fmt::Display for Fragile {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        CLOCK.advance(Duration::from_secs(1));
        tracing::info!("nested");
        panic!("on purpose")
    }
}

struct Replayed(Anchor);

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        event_time::during(self.0, || tracing::info!("replayed"));
        f.write_str("later")
    }
}

/// A value that logs an event with the time of the event that contains it.
struct SameTime;

impl fmt::Display for SameTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stamp = event_time::current().unwrap();
        CLOCK.advance(Duration::from_secs(1));
        event_time::during(stamp, || tracing::info!("replayed"));
        f.write_str("later")
    }
}

#[test]
fn nested_events_have_their_own_time_and_the_outer_event_keeps_its_time() {
    let (one, other) = (Captured::default(), Captured::default());
    let [one_layer, other_layer] = [&one, &other].map(|captured| {
        let layer = layer().with_ansi(false).with_target(false).with_timer(Utc.digits(0));
        layer.with_writer(captured.clone())
    });
    let layers = one_layer.and_then(other_layer);
    tracing_subscriber::registry().with(EventTime::new(layers).with_clock(&CLOCK)).init();

    tracing::info!("outer {Slow}");
    // Each layer writes the field, and so logs a nested event, which both layers print.
    let nested = ["1970-01-01T00:00:01Z  INFO nested\n", "1970-01-01T00:00:03Z  INFO nested\n"];
    let outer = "1970-01-01T00:00:00Z  INFO outer slow\n";
    assert_eq!(one.text(), [nested[0], outer, nested[1]].concat());
    assert_eq!(other.text(), [nested[0], nested[1], outer].concat());

    let stamp = CLOCK.anchor();
    CLOCK.advance(Duration::from_secs(1));
    tracing::info!("outer {}", Replayed(stamp));
    let replayed = "1970-01-01T00:00:04Z  INFO replayed\n";
    let outer = "1970-01-01T00:00:05Z  INFO outer later\n";
    assert!(one.text().ends_with(&[replayed, outer, replayed].concat()), "{}", one.text());

    tracing::info!("outer {SameTime}");
    let [replayed, outer] = ["replayed", "outer later"]
        .map(|message| format!("1970-01-01T00:00:05Z  INFO {message}\n"));
    assert!(one.text().ends_with(&[&*replayed, &outer, &replayed].concat()), "{}", one.text());

    assert!(catch_unwind(|| tracing::info!("outer {Fragile}")).is_err());
    assert_eq!(event_time::current(), None);
    assert!(one.text().ends_with("1970-01-01T00:00:08Z  INFO nested\n"), "{}", one.text());
}
