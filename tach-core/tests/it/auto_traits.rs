//! Traits and size of every public type.

use core::mem::size_of;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use tach_core::{
    Anchor, AtomicInstant, BackwardStep, BoundedTime, Budget, BudgetExhausted, Clock, ForceError,
    IncreasingClock, Instant, KernelClock, ManualClock, MonotonicInstant, Order, OrderedInstant,
    Reason, Source, Status, SystemClock, TimelineStatus, UnixTime, UnixTimeError, rfc3339,
};
use test_support::assert_implements;

assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Copy + 'static]
    Anchor,
    BackwardStep,
    BoundedTime,
    Budget,
    BudgetExhausted,
    ForceError,
    Instant,
    KernelClock,
    MonotonicInstant,
    Order,
    OrderedInstant,
    Reason,
    Source,
    Status,
    SystemClock,
    TimelineStatus,
    UnixTime,
    UnixTimeError,
    rfc3339::Formatter,
    rfc3339::Offset,
    rfc3339::OffsetError,
    rfc3339::ParseError,
);
assert_implements!([Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static] AtomicInstant);
assert_implements!(
    [Clock + Send + Sync + Unpin + UnwindSafe + 'static]
    SystemClock,
    IncreasingClock,
    IncreasingClock<Arc<ManualClock>>,
    ManualClock,
    Arc<ManualClock>,
    Arc<dyn Clock>,
    &'static dyn Clock,
);
#[cfg(feature = "recalibrator")]
assert_implements!(
    [Send + Sync + Unpin + 'static] tach_core::Recalibrator, tach_core::SpawnError
);
#[cfg(feature = "coarse")]
assert_implements!(
    [Send + Sync + Unpin + 'static] tach_core::coarse::Refresher, tach_core::SpawnError
);

#[test]
fn points_in_time_are_eight_bytes_and_the_clock_is_empty() {
    assert_eq!(size_of::<AtomicInstant>(), 8);
    assert_eq!(size_of::<Instant>(), 8);
    assert_eq!(size_of::<MonotonicInstant>(), 8);
    assert_eq!(size_of::<OrderedInstant>(), 8);
    assert_eq!(size_of::<UnixTime>(), 8);
    assert_eq!(size_of::<Anchor>(), 16);
    assert_eq!(size_of::<SystemClock>(), 0);
}
