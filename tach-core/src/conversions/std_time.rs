//! Conversions from and to the standard library's times.

use core::hash::{Hash, Hasher};
use core::time::Duration;
use std::time::{SystemTime, SystemTimeError, UNIX_EPOCH};

use crate::unix_time::{UnixTime, UnixTimeError};

impl UnixTime {
    /// Converts to the standard library's time.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::UNIX_EPOCH;
    ///
    /// assert_eq!(tach_core::UnixTime::EPOCH.to_system_time(), UNIX_EPOCH);
    /// ```
    #[must_use]
    #[inline]
    pub fn to_system_time(self) -> SystemTime {
        UNIX_EPOCH + Duration::new(self.as_secs(), self.subsec_nanos())
    }

    /// Converts from the standard library's time. An earlier time becomes [`EPOCH`](Self::EPOCH), a
    /// later one [`MAX`](Self::MAX); `try_from` returns an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, UNIX_EPOCH};
    /// use tach_core::UnixTime;
    ///
    /// let time = UNIX_EPOCH + Duration::from_secs(1);
    /// assert_eq!(UnixTime::from_system_time(time).as_secs(), 1);
    /// ```
    #[must_use]
    #[inline]
    pub fn from_system_time(time: SystemTime) -> Self {
        since_epoch(time).map_or(Self::EPOCH, |since_epoch| Self::EPOCH.saturating_add(since_epoch))
    }
}

impl From<UnixTime> for SystemTime {
    fn from(time: UnixTime) -> Self {
        time.to_system_time()
    }
}

/// Converts from the standard library's time.
///
/// # Errors
///
/// Fails if the time is before [`UnixTime::EPOCH`] or after [`UnixTime::MAX`].
///
/// # Examples
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use tach_core::UnixTime;
///
/// assert_eq!(UnixTime::try_from(UNIX_EPOCH), Ok(UnixTime::EPOCH));
/// let error = UnixTime::try_from(UNIX_EPOCH - Duration::from_secs(1)).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the time is before 1970-01-01T00:00:00Z, the first that a UnixTime can tell",
/// );
/// ```
impl TryFrom<SystemTime> for UnixTime {
    type Error = UnixTimeError;

    fn try_from(time: SystemTime) -> Result<Self, UnixTimeError> {
        match since_epoch(time) {
            Ok(since_epoch) => Self::try_from(since_epoch),
            Err(_) => Err(UnixTimeError::BEFORE_EPOCH),
        }
    }
}

/// What `duration_since(UNIX_EPOCH)` gives, sooner: that is two calls into the standard library, which has no
/// other way to a time's fields. They are guessed from what `time` tells a hasher.
#[inline]
fn since_epoch(time: SystemTime) -> Result<Duration, SystemTimeError> {
    let mut told = Told::default();
    time.hash(&mut told);
    checked(told.guess(), time)
}

/// How long `time` is since the epoch: the `guess`, if it makes that time. So it does not matter whether the
/// standard library will always tell hashers the same.
#[inline]
fn checked(guess: Option<Duration>, time: SystemTime) -> Result<Duration, SystemTimeError> {
    match guess {
        Some(guess) if UNIX_EPOCH.checked_add(guess) == Some(time) => Ok(guess),
        _ => time.duration_since(UNIX_EPOCH),
    }
}

/// What a Unix system's time tells a hasher: the seconds since the epoch, and the nanoseconds.
#[derive(Debug, Default)]
struct Told {
    secs: i64,
    nanos: u32,
}

impl Told {
    #[inline]
    fn guess(self) -> Option<Duration> {
        let secs = u64::try_from(self.secs).ok()?;
        (cfg!(unix) && self.nanos < 1_000_000_000).then(|| Duration::new(secs, self.nanos))
    }
}

impl Hasher for Told {
    #[inline]
    fn write_i64(&mut self, secs: i64) {
        self.secs = secs;
    }

    #[inline]
    fn write_u32(&mut self, nanos: u32) {
        self.nanos = nanos;
    }

    fn write(&mut self, _: &[u8]) {}

    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The step of Windows's time, the coarsest of all systems.
    const STEP: Duration = Duration::from_nanos(100);

    #[test]
    fn system_times_convert_both_ways_at_the_ends_of_the_range() {
        let times = [UnixTime::EPOCH, UnixTime::from_nanos(1_700_000_000_123_456_700)];
        for time in times {
            assert_eq!(UnixTime::try_from(time.to_system_time()), Ok(time));
        }
        let last = UnixTime::MAX.to_system_time();
        assert_eq!(UnixTime::try_from(last), Ok(UnixTime::from_system_time(last)));
    }

    #[test]
    fn distances_from_the_epoch_equal_the_standard_librarys() {
        for nanos in [0, 1, 100, 500_000_000, 999_999_900, 999_999_999] {
            for secs in
                [0, 1, 1_700_000_000, 18_446_744_073, 18_446_744_074, 1 << 40, u64::MAX >> 1]
            {
                let since = Duration::new(secs, nanos);
                // Not every system can represent all of them.
                let times = [UNIX_EPOCH.checked_add(since), UNIX_EPOCH.checked_sub(since)];
                for time in times.into_iter().flatten() {
                    let [ours, theirs] = [since_epoch(time), time.duration_since(UNIX_EPOCH)]
                        .map(|since| since.map_err(|error| error.duration()));
                    assert_eq!(ours, theirs, "{time:?}");
                }
            }
        }
    }

    #[test]
    fn a_guess_counts_only_if_it_is_right() {
        let since = Duration::from_secs(5);
        let [wrong, far] = [since + STEP, Duration::MAX];
        for guess in [None, Some(since), Some(wrong), Some(far)] {
            let known = checked(guess, UNIX_EPOCH + since).unwrap();
            assert_eq!(known, since, "{guess:?}");
            assert!(checked(guess, UNIX_EPOCH - since).is_err(), "{guess:?}");
        }
    }

    #[test]
    fn what_a_time_tells_a_hasher_makes_a_guess() {
        for (secs, nanos, expected) in [
            (1, 2, Some(Duration::new(1, 2))),
            (i64::MAX, 999_999_999, Some(Duration::new(i64::MAX.unsigned_abs(), 999_999_999))),
            (i64::MAX, 1_000_000_000, None),
            (-1, 0, None),
        ] {
            let expected = expected.filter(|_| cfg!(unix));
            assert_eq!(Told { secs, nanos }.guess(), expected, "{secs}, {nanos}");
        }
    }

    /// Else every conversion takes the long way, which no result shows: a standard library that this fails with asks for
    /// another guess.
    #[test]
    fn the_guess_is_right_on_unix() {
        let (since, mut told) = (Duration::new(1_700_000_000, 5_000), Told::default());
        (UNIX_EPOCH + since).hash(&mut told);
        assert_eq!(told.guess(), cfg!(unix).then_some(since));
    }

    #[test]
    fn a_system_time_keeps_whole_steps() {
        use crate::adapter::system_time_step_ns;
        for ns in 1_700_000_000_123_456_700..1_700_000_000_123_457_000 {
            let kept = UnixTime::from_system_time(UnixTime::from_nanos(ns).to_system_time());
            assert_eq!(kept.as_nanos(), ns - ns % system_time_step_ns());
        }
    }

    #[test]
    fn system_times_outside_of_unix_times_are_errors() {
        let early = UnixTime::try_from(UNIX_EPOCH - STEP).unwrap_err();
        assert!(early.is_before_epoch() && !early.is_after_max());
        let late = UnixTime::try_from(UnixTime::MAX.to_system_time() + STEP).unwrap_err();
        assert!(late.is_after_max() && !late.is_before_epoch());
    }
}
