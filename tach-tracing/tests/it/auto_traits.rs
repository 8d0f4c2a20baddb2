//! Size and thread safety of the timers.

use core::mem::size_of;
use core::panic::UnwindSafe;

use tach_core::IncreasingClock;
use tach_tracing::{
    Error, FixedOffset, TickScale, Ticks, UnixMicros, UnixMillis, UnixNanos, UnixSeconds, Uptime,
    Utc, WithClock,
};

#[test]
fn every_timer_is_a_plain_value() {
    fn assert_free<T: Send + Sync + Unpin + UnwindSafe + Copy + 'static>() {}
    assert_free::<FixedOffset>();
    assert_free::<Ticks>();
    assert_free::<TickScale>();
    assert_free::<UnixMicros>();
    assert_free::<UnixMillis>();
    assert_free::<UnixNanos>();
    assert_free::<UnixSeconds>();
    assert_free::<Uptime>();
    assert_free::<Utc>();
    assert_free::<WithClock<Utc, &'static IncreasingClock>>();
    assert_eq!(size_of::<Utc>(), 0);
    #[cfg(feature = "jiff")]
    assert_free::<tach_tracing::Local>();
}

#[test]
fn patterns_and_errors_can_be_shared_by_threads() {
    fn assert_shared<T: Send + Sync + Unpin + UnwindSafe + 'static>() {}
    assert_shared::<Error>();
    #[cfg(feature = "jiff")]
    assert_shared::<tach_tracing::Strftime>();
}
