//! Size and thread safety of the layers.

use core::panic::UnwindSafe;
use std::sync::Arc;

use tach_core::{Clock, ManualClock, UnixTime};
use tach_tracing::{CloseTimes, EventTime, SpanDurations, SpanTimes, SpanTiming};
use tracing_subscriber::{Layer, Registry, fmt};

fn assert_shared<T: Send + Sync + Unpin + UnwindSafe + 'static>() {}
fn assert_free<T: Send + Sync + Unpin + UnwindSafe + Copy + 'static>() {}
fn assert_layer<L: Layer<Registry> + Send + Sync + 'static>() {}
fn assert_is_layer<L: Layer<Registry> + Send + Sync + 'static>(_: L) {}

#[test]
fn all_can_be_sent_and_shared() {
    assert_free::<SpanDurations>();
    assert_free::<EventTime<()>>();
    assert_free::<CloseTimes<()>>();
    assert_shared::<SpanTimes>();
    assert_shared::<SpanTiming>();
    assert_shared::<EventTime<fmt::Layer<Registry>, Arc<ManualClock>>>();
}

#[test]
fn layers_are_layers_with_any_clock() {
    static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    let dynamic: &'static dyn Clock = &CLOCK;
    let shared: Arc<dyn Clock> = Arc::new(ManualClock::default());
    assert_is_layer(SpanTiming::new());
    assert_is_layer(SpanTiming::new().with_clock(&CLOCK));
    assert_is_layer(SpanTiming::new().with_clock(dynamic));
    assert_is_layer(SpanTiming::new().with_clock(shared));
    assert_layer::<EventTime<fmt::Layer<Registry>, Arc<dyn Clock>>>();
    assert_layer::<CloseTimes<EventTime<Option<fmt::Layer<Registry>>>>>();
}
