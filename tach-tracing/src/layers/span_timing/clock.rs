//! The clock that measures spans.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use tach_core::{Clock, Instant, SystemClock};

/// The system's clock or another one. Each span keeps it, to measure its durations.
#[derive(Clone, Default)]
pub(in crate::layers) struct SpanClock {
    other: Option<Arc<dyn Clock>>,
}

impl SpanClock {
    pub(in crate::layers) const SYSTEM: Self = Self { other: None };

    pub(super) fn new(clock: impl Clock + 'static) -> Self {
        Self { other: Some(Arc::new(clock)) }
    }

    #[inline]
    pub(super) fn monotonic_now(&self) -> Instant {
        self.other.as_ref().map_or_else(|| SystemClock.monotonic_now(), Clock::monotonic_now)
    }

    #[inline]
    pub(super) fn now(&self) -> Instant {
        self.other.as_ref().map_or_else(Instant::now, Clock::now)
    }

    #[inline]
    pub(super) fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
        match &self.other {
            None => SystemClock.duration_between(earlier, later),
            Some(clock) => clock.duration_between(earlier, later),
        }
    }
}

impl fmt::Debug for SpanClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.other.is_none() { "SystemClock" } else { "dyn Clock" })
    }
}
