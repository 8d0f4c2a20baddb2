//! A frozen relation between ticks and Unix time.

use crate::clock::{Clock, SystemClock};
use crate::instants::Instant;
use crate::unix_time::UnixTime;

/// A point whose Unix time is fixed once, and by which others are told by elapsed time alone.
///
/// # Guarantees
///
/// Two instants mapped by one anchor are as far apart as their duration says, to a nanosecond of
/// rounding, and in their order: no step of the wall clock between them can bend that. For the same reason the mapped times do
/// not follow a wall clock that is corrected later: take a new anchor for every trace.
///
/// # Examples
///
/// ```
/// use tach_core::{Anchor, Instant};
///
/// let anchor = Anchor::now();
/// let start = Instant::now();
/// let end = Instant::now();
/// assert!(anchor.unix_time(start) <= anchor.unix_time(end));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    tick: u64,
    time: UnixTime,
}

impl Anchor {
    /// Fixes `time` as the Unix time of `instant`: an anchor that was taken elsewhere.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::Anchor;
    ///
    /// let anchor = Anchor::now();
    /// assert_eq!(Anchor::new(anchor.instant(), anchor.time()), anchor);
    /// ```
    #[must_use]
    #[inline]
    pub fn new(instant: impl Into<Instant>, time: UnixTime) -> Self {
        Self { tick: instant.into().as_ticks(), time }
    }

    /// Fixes the Unix time of this moment.
    ///
    /// # Examples
    ///
    /// ```
    /// let anchor = tach_core::Anchor::now();
    /// ```
    #[must_use]
    #[inline]
    pub fn now() -> Self {
        Self::at(Instant::now())
    }

    /// Fixes the Unix time that `instant` has now.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Anchor, Instant};
    ///
    /// let start = Instant::now();
    /// let anchor = Anchor::at(start);
    /// assert_eq!(anchor.instant(), start);
    /// ```
    #[must_use]
    #[inline]
    pub fn at(instant: impl Into<Instant>) -> Self {
        let instant = instant.into();
        Self { tick: instant.as_ticks(), time: instant.unix_time() }
    }

    /// Fixes the Unix time that `clock` tells now, in strict order.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Anchor, Clock, SystemClock};
    ///
    /// let anchor = Anchor::with_clock(&SystemClock);
    /// ```
    #[must_use]
    #[inline]
    pub fn with_clock(clock: &(impl Clock + ?Sized)) -> Self {
        let instant = clock.monotonic_now().as_unordered();
        Self { tick: instant.as_ticks(), time: clock.unix_time_at(instant) }
    }

    /// The anchored point.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Anchor, Instant};
    ///
    /// assert!(Anchor::now().instant() <= Instant::now());
    /// ```
    #[must_use]
    pub const fn instant(&self) -> Instant {
        Instant::from_ticks(self.tick)
    }

    /// The Unix time of the anchored point.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Anchor, Instant};
    ///
    /// let start = Instant::now();
    /// assert_eq!(Anchor::at(start).time(), start.unix_time());
    /// ```
    #[must_use]
    pub const fn time(&self) -> UnixTime {
        self.time
    }

    /// The Unix time of `instant`, as far from the anchor as the two are apart.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Anchor, Instant};
    ///
    /// println!("{}", Anchor::now().unix_time(Instant::now()));
    /// ```
    #[must_use]
    #[inline]
    pub fn unix_time(&self, instant: impl Into<Instant>) -> UnixTime {
        self.unix_time_by(&SystemClock, instant)
    }

    /// The Unix time of `instant`, as far from the anchor as the two are apart by `clock`, which must
    /// be the anchor's.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::{Anchor, Clock, ManualClock, UnixTime};
    ///
    /// let clock = ManualClock::new(UnixTime::EPOCH);
    /// let anchor = Anchor::with_clock(&clock);
    /// clock.advance(Duration::from_nanos(7));
    /// clock.step_forward(Duration::from_secs(3600));
    /// assert_eq!(anchor.unix_time_by(&clock, clock.now()).as_nanos(), 7);
    /// ```
    #[must_use]
    #[inline]
    pub fn unix_time_by(
        &self,
        clock: &(impl Clock + ?Sized),
        instant: impl Into<Instant>,
    ) -> UnixTime {
        let (anchored, instant) = (self.instant(), instant.into());
        if instant >= anchored {
            self.time.saturating_add(clock.duration_between(anchored, instant))
        } else {
            self.time.saturating_sub(clock.duration_between(instant, anchored))
        }
    }
}
