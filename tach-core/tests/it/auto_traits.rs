//! The size and thread safety of every public type.

use core::mem::size_of;
use core::panic::UnwindSafe;
use std::sync::Arc;

use tach_core::{
    Anchor, AtomicInstant, Budget, BudgetExhausted, Clock, ForceError, IncreasingClock, Instant,
    ManualClock, MonotonicInstant, Order, OrderedInstant, Reason, Source, Status, SystemClock,
    TimelineStatus, UnixTime, UnixTimeError,
    rfc3339::{Formatter, Offset, OffsetError, ParseError},
};

fn assert_free<T: Send + Sync + Unpin + UnwindSafe + Copy + 'static>() {}
fn assert_shared<T: Send + Sync + Unpin + 'static>() {}

#[test]
fn every_type_is_a_plain_value() {
    assert_free::<Anchor>();
    assert_free::<Budget>();
    assert_free::<BudgetExhausted>();
    assert_free::<ForceError>();
    assert_free::<Formatter>();
    assert_free::<Instant>();
    assert_free::<MonotonicInstant>();
    assert_free::<Offset>();
    assert_free::<OffsetError>();
    assert_free::<Order>();
    assert_free::<OrderedInstant>();
    assert_free::<ParseError>();
    assert_free::<Reason>();
    assert_free::<Source>();
    assert_free::<Anchor>();
    assert_free::<Status>();
    assert_free::<SystemClock>();
    assert_free::<TimelineStatus>();
    assert_free::<UnixTime>();
    assert_free::<UnixTimeError>();
}

#[test]
fn clocks_are_shared_by_threads() {
    fn assert_clock<C: Clock + Send + Sync + Unpin + UnwindSafe + 'static>() {}
    assert_clock::<SystemClock>();
    assert_clock::<IncreasingClock>();
    assert_clock::<IncreasingClock<Arc<ManualClock>>>();
    assert_clock::<ManualClock>();
    assert_clock::<Arc<ManualClock>>();
    assert_clock::<Arc<dyn Clock>>();
    assert_clock::<&'static dyn Clock>();
    assert_eq!(size_of::<SystemClock>(), 0);
}

#[test]
fn the_atomic_can_be_sent_and_shared() {
    assert_shared::<AtomicInstant>();
}

#[cfg(feature = "recalibrator")]
#[test]
fn the_recalibrator_and_its_error_can_be_sent_and_shared() {
    assert_shared::<tach_core::Recalibrator>();
    assert_shared::<tach_core::SpawnError>();
}

#[cfg(feature = "coarse")]
#[test]
fn the_refresher_and_its_error_can_be_sent_and_shared() {
    assert_shared::<tach_core::coarse::Refresher>();
    assert_shared::<tach_core::SpawnError>();
}

#[test]
fn points_in_time_are_eight_bytes() {
    assert_eq!(size_of::<AtomicInstant>(), 8);
    assert_eq!(size_of::<Instant>(), 8);
    assert_eq!(size_of::<MonotonicInstant>(), 8);
    assert_eq!(size_of::<OrderedInstant>(), 8);
    assert_eq!(size_of::<UnixTime>(), 8);
    assert_eq!(size_of::<Anchor>(), 16);
    assert_eq!(size_of::<Anchor>(), 16);
}
