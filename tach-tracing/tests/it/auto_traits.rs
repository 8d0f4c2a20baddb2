//! Traits and size of every public type.

use core::mem::size_of;
use core::panic::UnwindSafe;
use std::sync::Arc;

use tach_core::{Clock, IncreasingClock, ManualClock, UnixTime};
use tach_tracing::{
    CloseTimes, EventTime, FixedOffset, SpanDurations, SpanTimes, SpanTiming, UnixMicros,
    UnixMillis, UnixNanos, UnixSeconds, Uptime, Utc, WithClock,
};
use test_support::assert_implements;
use tracing_subscriber::{Layer, Registry, fmt};

assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + Copy + 'static]
    CloseTimes<()>,
    EventTime<()>,
    FixedOffset,
    SpanDurations,
    UnixMicros,
    UnixMillis,
    UnixNanos,
    UnixSeconds,
    Uptime,
    Utc,
    WithClock<Utc, &'static IncreasingClock>,
);
assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + 'static]
    EventTime<fmt::Layer<Registry>, Arc<ManualClock>>,
    SpanTimes,
    SpanTiming,
);
#[cfg(feature = "tree")]
assert_implements!([Send + Sync + Unpin + UnwindSafe + Copy + 'static] tach_tracing::Tree<Utc>);
#[cfg(feature = "jiff")]
assert_implements!([Send + Sync + Unpin + UnwindSafe + Copy + 'static] tach_tracing::Local);
#[cfg(feature = "jiff")]
assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + 'static]
    tach_tracing::Error, tach_tracing::Strftime,
);
assert_implements!(
    [Layer<Registry> + Send + Sync + 'static]
    CloseTimes<EventTime<Option<fmt::Layer<Registry>>>>,
    EventTime<fmt::Layer<Registry>, Arc<dyn Clock>>,
    SpanTiming,
);

#[test]
fn utc_is_empty() {
    assert_eq!(size_of::<Utc>(), 0);
}

#[test]
fn span_timing_takes_any_clock() {
    static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    let dynamic: &'static dyn Clock = &CLOCK;
    let shared: Arc<dyn Clock> = Arc::new(ManualClock::default());
    let timing = SpanTiming::new();
    let all = [
        timing.clone().with_clock(&CLOCK),
        timing.clone().with_clock(dynamic),
        timing.clone().with_clock(shared),
        timing.with_clock(ManualClock::default()),
    ];
    assert!(all.iter().all(|timing| format!("{timing:?}").contains("dyn Clock")));
}
