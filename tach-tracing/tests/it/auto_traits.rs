//! Traits and size of every public type.

use core::mem::size_of;
use core::panic::UnwindSafe;
use std::sync::Arc;

use tach_core::{Clock, IncreasingClock, ManualClock, UnixTime};
use tach_tracing::{
    EventTime, FixedOffset, SpanDurations, SpanTimes, SpanTiming, Timer, UnixMillis, UnixNanos,
    Uptime, Utc,
};
use test_support::assert_implements;
use tracing_subscriber::{Layer, Registry, fmt};

assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + Copy + 'static]
    EventTime<()>,
    FixedOffset,
    SpanDurations,
    SpanTiming,
    Timer<FixedOffset>,
    Timer<UnixMillis>,
    Timer<UnixNanos>,
    Timer<Uptime>,
    Timer<Utc, &'static IncreasingClock>,
    UnixMillis,
    UnixNanos,
    Uptime,
    Utc,
);
assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + 'static]
    EventTime<fmt::Layer<Registry>, Arc<ManualClock>>,
    SpanTimes,
);
#[cfg(feature = "jiff")]
assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + Copy + 'static]
    tach_tracing::Local, Timer<tach_tracing::Local>,
);
assert_implements!(
    [Layer<Registry> + Send + Sync + 'static]
    EventTime<EventTime<Option<fmt::Layer<Registry>>>>,
    EventTime<fmt::Layer<Registry>, Arc<dyn Clock>>,
    SpanTiming,
);

#[test]
fn a_timer_is_as_large_as_its_number_of_digits() {
    assert_eq!(size_of::<Timer<Utc>>(), size_of::<usize>());
}

#[test]
fn span_timing_takes_any_clock() {
    static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    let dynamic: &'static dyn Clock = &CLOCK;
    let shared: Arc<dyn Clock> = Arc::new(ManualClock::default());
    let timing = SpanTiming::new();
    let all = [
        timing.with_clock(&CLOCK),
        timing.with_clock(dynamic),
        timing.with_clock(shared),
        timing.with_clock(ManualClock::default()),
    ];
    assert!(all.iter().all(|timing| format!("{timing:?}").contains("dyn Clock")));
}
