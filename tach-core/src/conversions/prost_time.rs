//! Conversions from and to the timestamps of protobuf.

use prost_types::Timestamp;

use crate::error::Error;
use crate::unix_time::UnixTime;

const NS_PER_S: i128 = 1_000_000_000;

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

/// Converts from protobuf's timestamp. Nanoseconds that are negative or exceed a second, which
/// protobuf does not allow, are added to the seconds.
///
/// # Errors
///
/// Fails if the time is before [`UnixTime::EPOCH`] or after [`UnixTime::MAX`].
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
/// ```
impl TryFrom<Timestamp> for UnixTime {
    type Error = Error;

    fn try_from(timestamp: Timestamp) -> Result<Self, Error> {
        let nanos = i128::from(timestamp.seconds) * NS_PER_S + i128::from(timestamp.nanos);
        if nanos < 0 {
            return Err(Error::BEFORE_EPOCH);
        }
        u64::try_from(nanos).map(Self::from_nanos).map_err(|_| Error::AFTER_MAX)
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
        let early = Timestamp { seconds: 0, nanos: -1 };
        assert_eq!(UnixTime::try_from(early), Err(Error::BEFORE_EPOCH));
        for (seconds, error) in [(i64::MIN, Error::BEFORE_EPOCH), (i64::MAX, Error::AFTER_MAX)] {
            for nanos in [i32::MIN, i32::MAX] {
                assert_eq!(UnixTime::try_from(Timestamp { seconds, nanos }), Err(error));
            }
        }
    }

    #[test]
    fn nanoseconds_outside_of_a_second_are_carried() {
        for (seconds, nanos) in [(2, -1), (0, 1_999_999_999), (3, -1_000_000_001)] {
            let time = UnixTime::try_from(Timestamp { seconds, nanos });
            assert_eq!(time, Ok(UnixTime::from_nanos(1_999_999_999)), "{seconds} s, {nanos} ns");
        }
    }

    proptest! {
        #[test]
        fn every_unix_time_goes_to_protobuf_and_back(nanos: u64) {
            let time = UnixTime::from_nanos(nanos);
            let timestamp = Timestamp::from(time);
            let reference = jiff::Timestamp::from_nanosecond(nanos.into()).unwrap();
            prop_assert_eq!(timestamp.seconds, reference.as_second());
            prop_assert_eq!(timestamp.nanos, reference.subsec_nanosecond());
            prop_assert_eq!(UnixTime::try_from(timestamp), Ok(time));
        }
    }
}
