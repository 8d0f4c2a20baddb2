//! A frozen relation between ticks and Unix time.

use crate::{Instant, UnixTime, system};

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
        let tick = instant.into().as_ticks();
        if tick >= self.tick {
            self.time.saturating_add(system::between(self.tick, tick))
        } else {
            self.time.saturating_sub(system::between(tick, self.tick))
        }
    }
}
