//! quanta's `Instant` over tach-core's.

use std::ops::Sub;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tach_core::coarse;

use crate::{Clock, RECENT, SCOPED};

/// A tick of tach-core's [`Instant`](tach_core::Instant), which also does the arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instant(pub(crate) u64);

impl Instant {
    pub fn now() -> Self {
        Self::scoped().unwrap_or_else(|| tach_core::Instant::now().into())
    }

    pub fn recent() -> Self {
        match Self::from(RECENT.load(Ordering::Relaxed)) {
            Self(0) => Self::scoped().unwrap_or_else(|| coarse::now().into()),
            recent => recent,
        }
    }

    /// Reads the clock of the scope, if the thread is in one.
    fn scoped() -> Option<Self> {
        SCOPED.with_borrow(|clock| clock.as_ref().map(Clock::now))
    }

    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        tach_core::Instant::from(*self).checked_add(duration).map(Self::from)
    }

    pub fn checked_sub(&self, duration: Duration) -> Option<Self> {
        tach_core::Instant::from(*self).checked_sub(duration).map(Self::from)
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        tach_core::Instant::from(self) - tach_core::Instant::from(earlier)
    }
}

impl From<tach_core::Instant> for Instant {
    fn from(instant: tach_core::Instant) -> Self {
        Self(instant.as_ticks())
    }
}

impl From<Instant> for tach_core::Instant {
    fn from(instant: Instant) -> Self {
        Self::from_ticks(instant.0)
    }
}

#[cfg(test)]
include!(concat!(env!("PEER_TESTS"), "/instant.rs"));
