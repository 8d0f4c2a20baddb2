//! Conversions from and to the timestamps of protobuf.

use prost_types::Timestamp;

use crate::error::Error;
use crate::unix_time::UnixTime;

const NS_PER_S: i32 = 1_000_000_000;
const NANOS: [&str; 2] = ["the nanoseconds are ", ", but must be from 0 to 999999999"];

/// Converts to protobuf's timestamp. Every Unix time fits.
///
/// # Examples
///
/// ```
/// use prost_types::Timestamp;
/// use tach_core::UnixTime;
///
/// let timestamp = Timestamp::from(UnixTime::from_nanos(1_500_000_000));
/// assert_eq!(timestamp, Timestamp { seconds: 1, nanos: 500_000_000 });
/// ```
impl From<UnixTime> for Timestamp {
    fn from(time: UnixTime) -> Self {
        const FITS: &str =
            "there are 18 billion seconds at most, and less than a billion nanoseconds";
        let seconds = time.as_secs().try_into().expect(FITS);
        let nanos = time.subsec_nanos().try_into().expect(FITS);
        Self { seconds, nanos }
    }
}

/// Converts from protobuf's timestamp.
///
/// # Errors
///
/// Fails if the time is before [`UnixTime::EPOCH`] or after [`UnixTime::MAX`], and if the
/// nanoseconds are negative or exceed 999,999,999. protobuf allows neither, even before 1970, so
/// the time that the sender meant is unknown.
///
/// # Examples
///
/// ```
/// use prost_types::Timestamp;
/// use tach_core::UnixTime;
///
/// let timestamp = Timestamp { seconds: 1, nanos: 500_000_000 };
/// assert_eq!(UnixTime::try_from(timestamp), Ok(UnixTime::from_nanos(1_500_000_000)));
///
/// let before_1970 = Timestamp { seconds: -1, nanos: 0 };
/// assert!(UnixTime::try_from(before_1970).unwrap_err().is_out_of_range());
///
/// let error = UnixTime::try_from(Timestamp { seconds: 1, nanos: -1 }).unwrap_err();
/// assert_eq!(error.to_string(), "the nanoseconds are -1, but must be from 0 to 999999999");
/// ```
impl TryFrom<Timestamp> for UnixTime {
    type Error = Error;

    fn try_from(timestamp: Timestamp) -> Result<Self, Error> {
        let Timestamp { seconds, nanos } = timestamp;
        if !(0..NS_PER_S).contains(&nanos) {
            return Err(Error::number(nanos, &NANOS));
        }
        if seconds < 0 {
            return Err(Error::BEFORE_EPOCH);
        }
        let ns = i128::from(seconds) * i128::from(NS_PER_S) + i128::from(nanos);
        u64::try_from(ns).map(Self::from_nanos).map_err(|_| Error::AFTER_MAX)
    }
}

#[cfg(all(test, not(tach_same_arithmetic)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_ends_of_the_range_fit_and_the_next_nanoseconds_are_errors() {
        for time in [UnixTime::EPOCH, UnixTime::MAX] {
            assert_eq!(UnixTime::try_from(Timestamp::from(time)), Ok(time));
        }
        let mut late = Timestamp::from(UnixTime::MAX);
        late.nanos += 1;
        assert_eq!(UnixTime::try_from(late), Err(Error::AFTER_MAX));
        for (seconds, error) in [
            (i64::MIN, Error::BEFORE_EPOCH),
            (-1, Error::BEFORE_EPOCH),
            (i64::MAX, Error::AFTER_MAX),
        ] {
            for nanos in [0, 999_999_999] {
                assert_eq!(UnixTime::try_from(Timestamp { seconds, nanos }), Err(error));
            }
        }
    }

    #[test]
    fn nanoseconds_outside_of_a_second_are_an_error() {
        for seconds in [i64::MIN, -1, 0, 1, 2, i64::MAX] {
            for nanos in [i32::MIN, -1_000_000_001, -1, 1_000_000_000, 1_999_999_999, i32::MAX] {
                let time = UnixTime::try_from(Timestamp { seconds, nanos });
                assert_eq!(time, Err(Error::number(nanos, &NANOS)), "{seconds} s, {nanos} ns");
            }
        }
    }

    proptest! {
        #[test]
        fn every_unix_time_goes_to_protobuf_and_back(nanos: u64) {
            let time = UnixTime::from_nanos(nanos);
            let timestamp = Timestamp::from(time);
            let reference = jiff02::Timestamp::from_nanosecond(nanos.into()).unwrap();
            prop_assert_eq!(timestamp.seconds, reference.as_second());
            prop_assert_eq!(timestamp.nanos, reference.subsec_nanosecond());
            prop_assert_eq!(UnixTime::try_from(timestamp), Ok(time));
        }
    }
}
