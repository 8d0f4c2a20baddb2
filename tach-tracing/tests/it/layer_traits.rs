//! Size and thread safety of the layers.

use core::panic::UnwindSafe;
use std::sync::Arc;

use tach_core::{Clock, ManualClock};
use tach_tracing::{CloseTimes, EventTime, SpanDurations, SpanTimes, SpanTiming};
use tracing_subscriber::{Layer, Registry, fmt};

fn assert_shared<T: Send + Sync + Unpin + UnwindSafe + 'static>() {}
fn assert_free<T: Send + Sync + Unpin + UnwindSafe + Copy + 'static>() {}
fn assert_layer<L: Layer<Registry> + Send + Sync + 'static>() {}

#[test]
fn all_can_be_sent_and_shared() {
    assert_free::<SpanDurations>();
    assert_free::<SpanTiming>();
    assert_free::<EventTime<()>>();
    assert_free::<CloseTimes<()>>();
    assert_shared::<SpanTimes>();
    assert_shared::<SpanTiming<Arc<dyn Clock>>>();
    assert_shared::<EventTime<fmt::Layer<Registry>, Arc<ManualClock>>>();
}

#[test]
fn layers_are_layers_by_any_clock() {
    assert_layer::<SpanTiming>();
    assert_layer::<SpanTiming<&'static dyn Clock>>();
    assert_layer::<EventTime<fmt::Layer<Registry>, Arc<dyn Clock>>>();
    assert_layer::<CloseTimes<EventTime<Option<fmt::Layer<Registry>>>>>();
    assert_eq!(size_of::<SpanTiming>(), 0);
}
