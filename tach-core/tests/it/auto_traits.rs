//! Traits and size of every public type.

use core::mem::size_of;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use tach_core::{
    Anchor, AtomicInstant, BootInstant, BoundedTime, Budget, Clock, Config, Error, IncreasingClock,
    Instant, KernelClock, ManualClock, MonotonicInstant, Offset, Order, OrderedInstant, Reason,
    Source, Status, SystemClock, TimelineStatus, UnixTime,
};
use test_support::assert_implements;

assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Copy + 'static]
    Anchor,
    BootInstant,
    BoundedTime,
    Budget,
    Config,
    Error,
    Instant,
    KernelClock,
    MonotonicInstant,
    Offset,
    Order,
    OrderedInstant,
    Reason,
    Source,
    Status,
    SystemClock,
    TimelineStatus,
    UnixTime,
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
    [Send + Sync + Unpin + 'static] tach_core::Recalibrator
);
#[cfg(feature = "thread-cpu")]
assert_implements!(
    [Copy + Unpin + UnwindSafe + RefUnwindSafe + 'static] tach_core::ThreadCpuInstant
);
#[cfg(feature = "coarse")]
assert_implements!(
    [Send + Sync + Unpin + 'static] tach_core::coarse::Refresher
);

#[test]
fn points_in_time_are_eight_bytes_and_the_clock_is_empty() {
    assert_eq!(size_of::<AtomicInstant>(), 8);
    assert_eq!(size_of::<BootInstant>(), 8);
    assert_eq!(size_of::<Instant>(), 8);
    assert_eq!(size_of::<MonotonicInstant>(), 8);
    assert_eq!(size_of::<OrderedInstant>(), 8);
    assert_eq!(size_of::<UnixTime>(), 8);
    assert_eq!(size_of::<Anchor>(), 16);
    assert_eq!(size_of::<SystemClock>(), 0);
}

#[test]
fn an_error_is_small() {
    assert!(size_of::<Error>() <= 3 * size_of::<u64>());
}
