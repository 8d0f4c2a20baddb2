//! Arithmetic on [`UnixTime`] and [`Duration`].

use core::ops::{Add, AddAssign, Sub, SubAssign};
use core::time::Duration;

use super::UnixTime;

impl UnixTime {
    /// Returns the time since `earlier`; `None` if `earlier` is later.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    ///
    /// let later = UnixTime::from_nanos(7);
    /// assert_eq!(later.checked_duration_since(UnixTime::EPOCH), Some(Duration::from_nanos(7)));
    /// assert_eq!(UnixTime::EPOCH.checked_duration_since(later), None);
    /// ```
    #[must_use]
    pub const fn checked_duration_since(self, earlier: Self) -> Option<Duration> {
        match self.nanos.checked_sub(earlier.nanos) {
            Some(nanos) => Some(Duration::from_nanos(nanos)),
            None => None,
        }
    }

    /// Returns this time plus `duration`; `None` if that is after [`MAX`](Self::MAX).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    ///
    /// let time = UnixTime::EPOCH.checked_add(Duration::from_micros(1));
    /// assert_eq!(time, Some(UnixTime::from_nanos(1_000)));
    /// assert_eq!(UnixTime::MAX.checked_add(Duration::from_nanos(1)), None);
    /// ```
    #[must_use]
    #[inline]
    pub const fn checked_add(self, duration: Duration) -> Option<Self> {
        match checked_nanos(duration) {
            Some(nanos) => match self.nanos.checked_add(nanos) {
                Some(nanos) => Some(Self { nanos }),
                None => None,
            },
            None => None,
        }
    }

    /// Returns this time minus `duration`; `None` if that is before [`EPOCH`](Self::EPOCH).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    ///
    /// let time = UnixTime::from_nanos(5_000);
    /// assert_eq!(time.checked_sub(Duration::from_micros(5)), Some(UnixTime::EPOCH));
    /// assert_eq!(time.checked_sub(Duration::from_micros(6)), None);
    /// ```
    #[must_use]
    #[inline]
    pub const fn checked_sub(self, duration: Duration) -> Option<Self> {
        match checked_nanos(duration) {
            Some(nanos) => match self.nanos.checked_sub(nanos) {
                Some(nanos) => Some(Self { nanos }),
                None => None,
            },
            None => None,
        }
    }

    /// Returns this time plus `duration`, at most [`MAX`](Self::MAX).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    ///
    /// assert_eq!(UnixTime::EPOCH.saturating_add(Duration::from_micros(1)).as_nanos(), 1_000);
    /// assert_eq!(UnixTime::EPOCH.saturating_add(Duration::MAX), UnixTime::MAX);
    /// ```
    #[must_use]
    #[inline]
    pub const fn saturating_add(self, duration: Duration) -> Self {
        match self.checked_add(duration) {
            Some(time) => time,
            None => Self::MAX,
        }
    }

    /// Returns this time minus `duration`, at least [`EPOCH`](Self::EPOCH).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    ///
    /// let time = UnixTime::from_nanos(5_000);
    /// assert_eq!(time.saturating_sub(Duration::from_micros(1)).as_nanos(), 4_000);
    /// assert_eq!(time.saturating_sub(Duration::MAX), UnixTime::EPOCH);
    /// ```
    #[must_use]
    #[inline]
    pub const fn saturating_sub(self, duration: Duration) -> Self {
        match self.checked_sub(duration) {
            Some(time) => time,
            None => Self::EPOCH,
        }
    }
}

/// Returns the duration in ns; `None` if it is longer than `u64::MAX` ns (584 years).
pub(super) const fn checked_nanos(duration: Duration) -> Option<u64> {
    let nanos = duration.as_nanos();
    if nanos > u64::MAX as u128 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "just compared")]
    Some(nanos as u64)
}

impl Add<Duration> for UnixTime {
    type Output = Self;

    /// # Panics
    ///
    /// If the sum is after [`UnixTime::MAX`]; see [`checked_add`](UnixTime::checked_add).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    ///
    /// assert_eq!(UnixTime::EPOCH + Duration::from_nanos(7), UnixTime::from_nanos(7));
    /// ```
    #[track_caller]
    fn add(self, duration: Duration) -> Self {
        self.checked_add(duration).expect("overflow when adding duration to instant")
    }
}

impl AddAssign<Duration> for UnixTime {
    /// # Panics
    ///
    /// If the sum is after [`UnixTime::MAX`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    ///
    /// let mut time = UnixTime::EPOCH;
    /// time += Duration::from_nanos(7);
    /// assert_eq!(time, UnixTime::from_nanos(7));
    /// ```
    #[track_caller]
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for UnixTime {
    type Output = Self;

    /// # Panics
    ///
    /// If the difference is before [`UnixTime::EPOCH`]; see
    /// [`checked_sub`](UnixTime::checked_sub).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    ///
    /// assert_eq!(UnixTime::from_nanos(7) - Duration::from_nanos(7), UnixTime::EPOCH);
    /// ```
    #[track_caller]
    fn sub(self, duration: Duration) -> Self {
        self.checked_sub(duration).expect("overflow when subtracting duration from instant")
    }
}

impl SubAssign<Duration> for UnixTime {
    /// # Panics
    ///
    /// If the difference is before [`UnixTime::EPOCH`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    ///
    /// let mut time = UnixTime::from_nanos(7);
    /// time -= Duration::from_nanos(7);
    /// assert_eq!(time, UnixTime::EPOCH);
    /// ```
    #[track_caller]
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl Sub for UnixTime {
    type Output = Duration;

    /// Returns the time from `earlier` to this; zero if `earlier` is later.
    ///
    /// Never panics, since the real-time clock may be set back between two reads. If the order
    /// matters, use [`checked_duration_since`](UnixTime::checked_duration_since).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    ///
    /// let later = UnixTime::from_nanos(7);
    /// assert_eq!(later - UnixTime::EPOCH, Duration::from_nanos(7));
    /// assert_eq!(UnixTime::EPOCH - later, Duration::ZERO);
    /// ```
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanos.saturating_sub(earlier.nanos))
    }
}

#[cfg(all(test, not(tach_same_arithmetic)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NS: Duration = Duration::from_nanos(1);

    #[test]
    #[should_panic(expected = "overflow when adding duration to instant")]
    fn unix_addition_past_the_last_time_panics() {
        let _ = UnixTime::MAX + NS;
    }

    #[test]
    #[should_panic(expected = "overflow when adding duration to instant")]
    fn unix_addition_in_place_past_the_last_time_panics() {
        let mut time = UnixTime::MAX;
        time += NS;
    }

    #[test]
    #[should_panic(expected = "overflow when subtracting duration from instant")]
    fn unix_subtraction_past_the_first_time_panics() {
        let _ = UnixTime::EPOCH - NS;
    }

    #[test]
    #[should_panic(expected = "overflow when subtracting duration from instant")]
    fn unix_subtraction_in_place_past_the_first_time_panics() {
        let mut time = UnixTime::EPOCH;
        time -= NS;
    }

    #[test]
    fn the_ends_are_reached() {
        let span = Duration::from_nanos(u64::MAX);
        assert_eq!(UnixTime::EPOCH + span, UnixTime::MAX);
        assert_eq!(UnixTime::MAX - span, UnixTime::EPOCH);
        assert_eq!(UnixTime::MAX - UnixTime::EPOCH, span);
        assert_eq!(UnixTime::EPOCH.checked_add(span + NS), None);
        assert_eq!(UnixTime::MAX.checked_sub(span + NS), None);
    }

    /// Generates durations, some of them too long for u64 ns.
    fn durations() -> impl Strategy<Value = Duration> {
        prop_oneof![
            any::<u64>().prop_map(Duration::from_nanos),
            (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(s, ns)| Duration::new(s, ns)),
            (18_446_744_072..18_446_744_076_u64, 0..1_000_000_000_u32)
                .prop_map(|(s, ns)| Duration::new(s, ns)),
        ]
    }

    proptest! {
        #[test]
        fn unix_arithmetic_is_that_of_wide_integers(a: u64, b: u64, duration in durations()) {
            let (time, other) = (UnixTime::from_nanos(a), UnixTime::from_nanos(b));
            let narrow = |wide: i128| u64::try_from(wide).ok().map(UnixTime::from_nanos);
            let wide = i128::try_from(duration.as_nanos()).unwrap();
            let (sum, difference) = (narrow(i128::from(a) + wide), narrow(i128::from(a) - wide));
            prop_assert_eq!(time.checked_add(duration), sum);
            prop_assert_eq!(time.saturating_add(duration), sum.unwrap_or(UnixTime::MAX));
            prop_assert_eq!(time.checked_sub(duration), difference);
            prop_assert_eq!(time.saturating_sub(duration), difference.unwrap_or(UnixTime::EPOCH));

            let since = narrow(i128::from(a) - i128::from(b)).map(|time| Duration::from_nanos(time.as_nanos()));
            prop_assert_eq!(time.checked_duration_since(other), since);
            prop_assert_eq!(time - other, since.unwrap_or_default());
        }
    }
}
