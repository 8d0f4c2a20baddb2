//! Whole lines, compared byte for byte, with a clock that the test moves.

use core::time::Duration;
use std::sync::Arc;

use tach_core::{Anchor, Clock, ManualClock, UnixTime, adapter, event_time};
use tach_tracing::{Uptime, Utc};
use test_support::Captured;
use tracing::subscriber::with_default;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::time::FormatTime;

/// 2023-11-14T22:13:20Z.
const START: UnixTime = UnixTime::from_nanos(1_700_000_000_000_000_000);

fn printed(timer: impl FormatTime + Send + Sync + 'static, log: impl FnOnce()) -> String {
    let captured = Captured::default();
    let subscriber = fmt()
        .with_ansi(false)
        .with_target(false)
        .with_writer(captured.clone())
        .with_timer(timer)
        .finish();
    with_default(subscriber, log);
    captured.text()
}

#[test]
fn utc_comes_from_the_clock() {
    let clock = Arc::new(ManualClock::new(START));
    let lines = printed(Utc.with_clock(clock.clone()), || {
        tracing::info!("one");
        clock.advance(Duration::from_millis(1500));
        tracing::info!("two");
        clock.step_back(Duration::from_secs(3600));
        tracing::info!("three");
    });
    assert_eq!(
        lines,
        "2023-11-14T22:13:20.000000Z  INFO one\n\
         2023-11-14T22:13:21.500000Z  INFO two\n\
         2023-11-14T21:13:21.500000Z  INFO three\n"
    );
}

#[test]
fn uptime_counts_from_the_creation_of_the_timer_and_ignores_steps() {
    let clock = Arc::new(ManualClock::new(START));
    clock.advance(Duration::from_secs(100));
    let lines = printed(Uptime.with_clock(clock.clone()), || {
        tracing::info!("one");
        clock.advance(Duration::from_nanos(42));
        clock.step_forward(Duration::from_secs(3600));
        tracing::info!("two");
    });
    assert_eq!(lines, "   0.000000000s  INFO one\n   0.000000042s  INFO two\n");
}

#[test]
fn any_pointer_to_a_clock_is_a_clock() {
    static CLOCK: ManualClock = ManualClock::new(START);
    let dynamic: &'static dyn Clock = &CLOCK;
    let line = "2023-11-14T22:13:20Z  INFO one\n";
    assert_eq!(printed(Utc.digits(0).with_clock(&CLOCK), || tracing::info!("one")), line);
    assert_eq!(printed(Utc.digits(0).with_clock(dynamic), || tracing::info!("one")), line);
    let shared: Arc<dyn Clock> = Arc::new(ManualClock::new(START));
    assert_eq!(printed(Utc.digits(0).with_clock(shared), || tracing::info!("one")), line);
    let owned: Box<dyn Clock> = Box::new(ManualClock::new(START));
    assert_eq!(printed(Utc.digits(0).with_clock(owned), || tracing::info!("one")), line);
}

#[test]
fn timers_print_the_pinned_event_time() {
    let clock = Arc::new(ManualClock::new(START));
    let uptime = Uptime.with_clock(clock.clone());
    clock.advance(Duration::from_millis(1500));
    let stamp = clock.anchor();
    clock.advance(Duration::from_secs(3600));
    let log = || event_time::during(stamp, || tracing::info!("one"));
    let line = "2023-11-14T22:13:21.500Z  INFO one\n";
    assert_eq!(printed(Utc.digits(3).with_clock(clock.clone()), log), line);
    assert_eq!(printed(Utc.digits(3), log), line);
    assert_eq!(printed(uptime, log), "   1.500000000s  INFO one\n");

    let stamp = Anchor::now();
    let expected = adapter::uptime_at(stamp.instant());
    let line = adapter::seconds::with_text(expected, |text| format!("{text}  INFO one\n"));
    assert_eq!(printed(Uptime, || event_time::during(stamp, || tracing::info!("one"))), line);
}
