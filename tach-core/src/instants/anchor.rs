//! An instant and its Unix time.

use crate::instants::Instant;
use crate::system;
use crate::unix_time::UnixTime;

/// An instant and the Unix time at that instant.
///
/// An anchor serves two purposes:
///
/// - It is the time of an event. Every line, span or record that is written about the event uses
///   the same anchor; see [`event_time`](crate::event_time).
/// - It maps other instants to Unix time by elapsed time alone
///   ([`unix_time_at`](Self::unix_time_at)), for example all spans of one trace.
///
/// # Guarantees
///
/// Times mapped by one anchor are in the order of their instants, and as far apart to within a
/// nanosecond of rounding. A step of the wall clock does not change them. For the same reason they
/// do not follow a later correction of the wall clock: take a new anchor for every trace.
///
/// # Examples
///
/// ```
/// use tach_core::{Anchor, Instant};
///
/// let anchor = Anchor::now();
/// let start = Instant::now();
/// let end = Instant::now();
/// assert!(anchor.unix_time_at(start) <= anchor.unix_time_at(end));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Anchor {
    instant: Instant,
    unix_time: UnixTime,
}

impl Anchor {
    /// Creates an anchor from an instant and the Unix time at that instant.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Anchor, Instant, UnixTime};
    ///
    /// let anchor = Anchor::new(Instant::now(), UnixTime::EPOCH);
    /// assert_eq!(anchor.unix_time(), UnixTime::EPOCH);
    /// ```
    #[must_use]
    #[inline]
    pub fn new(instant: impl Into<Instant>, unix_time: UnixTime) -> Self {
        Self::at(instant.into(), unix_time)
    }

    #[inline]
    pub(crate) const fn at(instant: Instant, unix_time: UnixTime) -> Self {
        Self { instant, unix_time }
    }

    /// Reads the system's clock once and returns the instant and its Unix time.
    ///
    /// For another clock see [`Clock::anchor`](crate::Clock::anchor).
    ///
    /// # Cost
    ///
    /// One counter read and one conversion.
    ///
    /// # Examples
    ///
    /// ```
    /// let anchor = tach_core::Anchor::now();
    /// ```
    #[must_use]
    #[inline]
    pub fn now() -> Self {
        let instant = Instant::now();
        let unix_ns = system::unix_ns_at_present(instant.as_ticks());
        Self { instant, unix_time: UnixTime::from_nanos(unix_ns) }
    }

    /// Returns the instant, which belongs to the clock that made the anchor.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Anchor, Instant};
    ///
    /// assert!(Anchor::now().instant() <= Instant::now());
    /// ```
    #[must_use]
    #[inline]
    pub const fn instant(self) -> Instant {
        self.instant
    }

    /// Returns the Unix time at the anchor's instant.
    ///
    /// # Examples
    ///
    /// ```
    /// println!("{}", tach_core::Anchor::now().unix_time());
    /// ```
    #[must_use]
    #[inline]
    pub const fn unix_time(self) -> UnixTime {
        self.unix_time
    }

    /// Returns the Unix time at `instant`: the anchor's time plus or minus the time between the two
    /// instants. Both instants must belong to the system's clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Anchor, Instant};
    ///
    /// println!("{}", Anchor::now().unix_time_at(Instant::now()));
    /// ```
    #[must_use]
    #[inline]
    pub fn unix_time_at(self, instant: impl Into<Instant>) -> UnixTime {
        let instant = instant.into();
        if instant >= self.instant {
            self.unix_time.saturating_add(instant.duration_since(self.instant))
        } else {
            self.unix_time.saturating_sub(self.instant.duration_since(instant))
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn an_anchor_moves_instants_by_their_distance_both_ways() {
        let time = UnixTime::from_nanos(1_700_000_000_000_000_000);
        let anchor = Anchor::new(Instant::now(), time);
        let minute = Duration::from_secs(60);
        assert_eq!(anchor.unix_time_at(anchor.instant()), time);
        let later = anchor.unix_time_at(anchor.instant() + minute);
        let earlier = anchor.unix_time_at(anchor.instant() - minute);
        for distance in [later - time, time - earlier] {
            // An instant is a whole number of ticks.
            assert!(distance.abs_diff(minute) <= Duration::from_nanos(2), "{distance:?}");
        }
    }
}
