//! Conversions from and to the timestamps of jiff, for each of its major versions.

use crate::error::Error;
use crate::unix_time::UnixTime;

/// Implements and tests the conversions for the version of jiff that is named `$jiff`.
macro_rules! impl_jiff {
    ($jiff:ident) => {
        /// Converts to jiff's time. Every Unix time fits.
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("# use ", stringify!($jiff), " as jiff;")]
        /// use jiff::Timestamp;
        /// use tach_core::UnixTime;
        ///
        /// assert_eq!(Timestamp::from(UnixTime::EPOCH), Timestamp::UNIX_EPOCH);
        /// ```
        impl From<UnixTime> for ::$jiff::Timestamp {
            fn from(time: UnixTime) -> Self {
                Self::from_nanosecond(time.as_nanos().into())
                    .expect("Unix times end in the year 2554, and jiff's in 9999")
            }
        }

        /// Converts from jiff's time.
        ///
        /// # Errors
        ///
        /// Fails if the time is before [`UnixTime::EPOCH`] or after [`UnixTime::MAX`].
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("# use ", stringify!($jiff), " as jiff;")]
        /// use jiff::Timestamp;
        /// use tach_core::UnixTime;
        ///
        /// assert_eq!(UnixTime::try_from(Timestamp::UNIX_EPOCH), Ok(UnixTime::EPOCH));
        /// assert!(UnixTime::try_from(Timestamp::MIN).unwrap_err().is_out_of_range());
        /// ```
        impl TryFrom<::$jiff::Timestamp> for UnixTime {
            type Error = Error;

            fn try_from(timestamp: ::$jiff::Timestamp) -> Result<Self, Error> {
                let nanos = timestamp.as_nanosecond();
                if nanos < 0 {
                    return Err(Error::BEFORE_EPOCH);
                }
                u64::try_from(nanos).map(Self::from_nanos).map_err(|_| Error::AFTER_MAX)
            }
        }

        #[cfg(all(test, not(tach_same_arithmetic)))]
        mod $jiff {
            use ::$jiff::{SignedDuration, Timestamp};
            use proptest::prelude::*;

            use super::*;

            #[test]
            fn the_first_and_the_last_unix_time_fit_in_jiffs() {
                for time in [UnixTime::EPOCH, UnixTime::MAX] {
                    let timestamp = Timestamp::from(time);
                    assert_eq!(timestamp.as_nanosecond(), i128::from(time.as_nanos()));
                    assert_eq!(UnixTime::try_from(timestamp), Ok(time));
                }
            }

            #[test]
            fn timestamps_outside_of_unix_times_are_errors() {
                let ns = SignedDuration::from_nanos(1);
                for early in [Timestamp::MIN, Timestamp::from(UnixTime::EPOCH) - ns] {
                    assert_eq!(UnixTime::try_from(early), Err(Error::BEFORE_EPOCH));
                }
                for late in [Timestamp::MAX, Timestamp::from(UnixTime::MAX) + ns] {
                    assert_eq!(UnixTime::try_from(late), Err(Error::AFTER_MAX));
                }
            }

            proptest! {
                #[test]
                fn every_unix_time_goes_to_jiff_and_back(nanos: u64) {
                    let time = UnixTime::from_nanos(nanos);
                    let timestamp = Timestamp::from(time);
                    prop_assert_eq!(time.to_string(), format!("{timestamp:.9}"));
                    prop_assert_eq!(UnixTime::try_from(timestamp), Ok(time));
                }
            }
        }
    };
}

#[cfg(feature = "jiff02")]
impl_jiff!(jiff02);
#[cfg(feature = "jiff1")]
impl_jiff!(jiff1);
