//! Serialization of Unix times with serde.

use core::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::unix_time::UnixTime;
use crate::unix_time::rfc3339::Formatter;

/// Serializes the time as RFC 3339 text with nine decimals in human-readable formats such as JSON,
/// and otherwise as nanoseconds since the epoch, a `u64`.
///
/// # Examples
///
/// ```
/// use tach_core::UnixTime;
///
/// let json = serde_json::to_string(&UnixTime::EPOCH)?;
/// assert_eq!(json, r#""1970-01-01T00:00:00.000000000Z""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
impl Serialize for UnixTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(Formatter::new().format_digits(*self, 9))
        } else {
            serializer.serialize_u64(self.as_nanos())
        }
    }
}

/// Deserializes the output of `Serialize`, or any text that
/// [`FromStr`](UnixTime#impl-FromStr-for-UnixTime) reads.
///
/// A number in place of text is refused, since it could be seconds or milliseconds. *Not* promised,
/// therefore: that a binary format works within an enum that is untagged or internally tagged, or
/// within a flattened field. For these, serde's derive buffers the data and reports the buffer as
/// human-readable, so text is expected and the number is an error.
///
/// # Errors
///
/// Fails if the type is wrong or, with the message of the
/// [`Error`](crate::Error), if the text can't be read.
///
/// # Examples
///
/// ```
/// use tach_core::UnixTime;
///
/// let time: UnixTime = serde_json::from_str(r#""1970-01-01T01:00:00.5+01:00""#)?;
/// assert_eq!(time, UnixTime::from_nanos(500_000_000));
/// # Ok::<(), serde_json::Error>(())
/// ```
impl<'de> Deserialize<'de> for UnixTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(Text)
        } else {
            u64::deserialize(deserializer).map(Self::from_nanos)
        }
    }
}

/// A visitor that accepts only RFC 3339 text.
struct Text;

impl Visitor<'_> for Text {
    type Value = UnixTime;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RFC 3339 text such as \"2026-11-21T09:30:00Z\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<UnixTime, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(all(test, not(tach_same_arithmetic)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The maximum size of a `u64` in postcard.
    const MAX_BYTES: usize = 10;

    fn json_error(json: &str) -> String {
        serde_json::from_str::<UnixTime>(json).unwrap_err().to_string()
    }

    #[test]
    fn json_errors_hold_the_errors_of_the_text() {
        assert_eq!(
            json_error(r#""1970-01-01_00:00:00Z""#),
            "expected \"T\" or a space at byte 10 at line 1 column 22"
        );
        assert_eq!(
            json_error(r#""1969-12-31T23:59:59Z""#),
            "the time is before 1970-01-01T00:00:00Z, the first that a UnixTime can hold \
             at line 1 column 22"
        );
    }

    #[test]
    fn json_of_another_type_is_an_error() {
        assert_eq!(
            json_error("7"),
            "invalid type: integer `7`, expected RFC 3339 text such as \"2026-11-21T09:30:00Z\" \
             at line 1 column 1"
        );
        assert!(json_error("null").starts_with("invalid type: null, expected RFC 3339 text"));
    }

    #[test]
    fn json_may_have_a_space_for_the_t_and_surplus_digits() {
        let time: UnixTime = serde_json::from_str(r#""1970-01-01 00:00:01.0000000079z""#).unwrap();
        assert_eq!(time, UnixTime::from_nanos(1_000_000_007));
    }

    #[test]
    fn text_with_escapes_and_in_values_is_read() {
        let time = UnixTime::from_nanos(1_000_000_000);
        let escaped: UnixTime = serde_json::from_str(r#""1970-01-01\u005400:00:01Z""#).unwrap();
        assert_eq!(escaped, time);
        let value = serde_json::to_value(time).unwrap();
        assert_eq!(value, "1970-01-01T00:00:01.000000000Z");
        assert_eq!(serde_json::from_value::<UnixTime>(value).unwrap(), time);
    }

    #[test]
    fn a_binary_time_that_is_cut_off_is_an_error() {
        let mut buffer = [0; MAX_BYTES];
        let bytes = postcard::to_slice(&UnixTime::MAX, &mut buffer).unwrap();
        let cut = &bytes[..bytes.len() - 1];
        let error = postcard::from_bytes::<UnixTime>(cut).unwrap_err();
        assert_eq!(error, postcard::Error::DeserializeUnexpectedEnd);
    }

    proptest! {
        #[test]
        fn unix_times_survive_json(nanos: u64) {
            let time = UnixTime::from_nanos(nanos);
            let json = serde_json::to_string(&time).unwrap();
            prop_assert_eq!(&json, &format!("\"{time}\""));
            prop_assert_eq!(serde_json::from_str::<UnixTime>(&json).unwrap(), time);
        }

        #[test]
        fn unix_times_are_plain_integers_in_binary(nanos: u64) {
            let time = UnixTime::from_nanos(nanos);
            let (mut ours, mut plain) = ([0; MAX_BYTES], [0; MAX_BYTES]);
            let ours = postcard::to_slice(&time, &mut ours).unwrap();
            let plain = postcard::to_slice(&nanos, &mut plain).unwrap();
            prop_assert_eq!(&ours, &plain);
            prop_assert_eq!(postcard::from_bytes::<UnixTime>(ours).unwrap(), time);
        }
    }
}
