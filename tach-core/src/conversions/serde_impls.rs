//! Unix times in serde's formats.

use core::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::unix_time::UnixTime;
use crate::unix_time::rfc3339::Formatter;

/// As RFC 3339 text with nine digits of fraction in formats that people read, such as JSON, and as
/// nanoseconds since the epoch, a `u64`, in those that they don't.
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
            serializer.serialize_str(Formatter::new().format::<9>(*self))
        } else {
            serializer.serialize_u64(self.as_nanos())
        }
    }
}

/// From the text or the number that `Serialize` writes; the text may be any that
/// [`FromStr`](UnixTime#impl-FromStr-for-UnixTime) reads.
///
/// A number is not taken in place of text, since it could as well be seconds or milliseconds. *Not*
/// promised, therefore: to be read from a binary format within an enum that is untagged or has its
/// tag inside, or within a field that is flattened. There serde's derive keeps a copy of the data
/// that passes for human-readable, so that text is asked for and the number is an error.
///
/// # Errors
///
/// If it is not of that type, or with the message of the
/// [`ParseError`](crate::rfc3339::ParseError) if the text can't be read.
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

/// Takes RFC 3339 text and nothing else.
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

    /// The most bytes that postcard writes for a `u64`.
    const MAX_BYTES: usize = 10;

    fn json_error(json: &str) -> String {
        serde_json::from_str::<UnixTime>(json).unwrap_err().to_string()
    }

    #[test]
    fn json_errors_are_those_of_the_text() {
        assert_eq!(
            json_error(r#""1970-01-01_00:00:00Z""#),
            "expected \"T\" or a space at byte 10 at line 1 column 22"
        );
        assert_eq!(
            json_error(r#""1969-12-31T23:59:59Z""#),
            "the time is before 1970-01-01T00:00:00Z, the first that a UnixTime can tell \
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
    fn json_may_have_a_space_for_the_t_and_digits_that_are_cut() {
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
