//! The value of a header with a time limit: parsed and written to the letter of its syntax.

mod absolute;
mod decimal;
mod grpc;

use core::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use tach_core::{Clock, SystemClock, UnixTime};

use crate::hook::Hook;

/// The header that a client's layer writes into gRPC requests, and that a server's layer reads.
pub(crate) const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// The header of all other requests, in seconds.
pub(crate) const REQUEST_TIMEOUT: HeaderName = HeaderName::from_static("request-timeout");

/// The syntax of a header that limits the time of a request.
///
/// No number has a sign, an exponent or whitespace around it, and no syntax allows a list. A value
/// outside its syntax is invalid. Headers of other syntaxes are for
/// [`Settings::header_by`](crate::Settings::header_by).
///
/// | header | written by | syntax |
/// |---|---|---|
/// | `grpc-timeout` | clients of gRPC | `Grpc` |
/// | `x-envoy-expected-rq-timeout-ms` | Envoy, to its upstream | `Millis` |
/// | `x-envoy-upstream-rq-timeout-ms` | clients, to Envoy | `Millis` |
/// | `connect-timeout-ms` | clients of Connect | `Millis` |
/// | `x-server-timeout` | Google's clients | `Seconds` |
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::Syntax;
/// use tach_core::UnixTime;
///
/// let now = UnixTime::now();
/// assert_eq!(Syntax::Grpc.parse(b"250m", now), Some(Duration::from_millis(250)));
/// assert_eq!(Syntax::Seconds.parse(b"1.5", now), Some(Duration::from_millis(1_500)));
/// assert_eq!(Syntax::Seconds.parse(b"soon", now), None);
/// assert_eq!(Syntax::Millis.write(Duration::from_micros(1_999), now), "1");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Syntax {
    /// One to eight digits and a unit: `H`, `M`, `S`, `m` (ms), `u` (µs) or `n` (ns), as in `250m`.
    ///
    /// gRPC (`PROTOCOL-HTTP2.md`) demands a positive number. Zero is accepted too: no time is left.
    Grpc,
    /// Whole milliseconds, as in `250`.
    Millis,
    /// Seconds with or without a fraction, as in `30` or `0.25`.
    Seconds,
    /// The time at which the request ends, by RFC 3339, as in `2026-11-23T09:30:00.25Z`.
    ///
    /// A space may replace the `T`, as RFC 3339 allows.
    ///
    /// An absolute time is exact only if the clocks of client and server agree.
    Rfc3339,
    /// The time at which the request ends, in seconds since 1970 with or without a fraction.
    UnixSeconds,
    /// The time at which the request ends, in whole milliseconds since 1970.
    UnixMillis,
}

impl Syntax {
    /// Parses a header's value. Returns the time that it allows at the time `now`, or `None` if it
    /// is invalid.
    ///
    /// An absolute time that has passed leaves no time, also if it lies before 1970. Digits beyond
    /// nanoseconds are cut off. A number that is too large for the type is the type's largest.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    /// use tach_tower::Syntax;
    ///
    /// let now = UnixTime::EPOCH + Duration::from_secs(1_000);
    /// assert_eq!(Syntax::UnixSeconds.parse(b"1000.5", now), Some(Duration::from_millis(500)));
    /// assert_eq!(Syntax::UnixSeconds.parse(b"900", now), Some(Duration::ZERO));
    /// assert_eq!(Syntax::UnixSeconds.parse(b"-1", now), None);
    /// ```
    #[must_use]
    pub fn parse(self, value: &[u8], now: UnixTime) -> Option<Duration> {
        match self {
            Self::Grpc => grpc::parse(value),
            Self::Millis => decimal::millis(value),
            Self::Seconds => decimal::seconds(value),
            Self::Rfc3339 => absolute::rfc3339(value).map(|end| absolute::until(end, now)),
            Self::UnixSeconds => decimal::seconds(value).map(|end| absolute::since_epoch(end, now)),
            Self::UnixMillis => decimal::millis(value).map(|end| absolute::since_epoch(end, now)),
        }
    }

    /// Returns the header's value for a request that has the time `left` at the time `now`.
    ///
    /// Rounds down to the precision of the syntax, so that a budget never grows on its way: gRPC's
    /// syntax keeps at least the first six digits, the others keep milliseconds.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    /// use tach_tower::Syntax;
    ///
    /// let left = Duration::from_nanos(1_234_567_890);
    /// let now = UnixTime::EPOCH + Duration::from_secs(1_000);
    /// assert_eq!(Syntax::Grpc.write(left, now), "1234567u");
    /// assert_eq!(Syntax::Seconds.write(left, now), "1.234");
    /// assert_eq!(Syntax::Rfc3339.write(left, now), "1970-01-01T00:16:41.234Z");
    /// ```
    #[must_use]
    pub fn write(self, left: Duration, now: UnixTime) -> HeaderValue {
        let text = match self {
            Self::Grpc => grpc::write(left),
            Self::Millis => decimal::write_millis(left),
            Self::Seconds => decimal::write_seconds(left),
            Self::Rfc3339 => absolute::write_rfc3339(left, now),
            Self::UnixSeconds => decimal::write_seconds(absolute::end(left, now)),
            Self::UnixMillis => decimal::write_millis(absolute::end(left, now)),
        };
        // No syntax writes what a header can't hold.
        HeaderValue::try_from(text).unwrap_or(const { HeaderValue::from_static("") })
    }

    /// Reads the time of day if the value is a point in time.
    fn now(self, clock: Option<&dyn Clock>) -> UnixTime {
        if matches!(self, Self::Grpc | Self::Millis | Self::Seconds) {
            return UnixTime::EPOCH;
        }
        clock.unwrap_or(&SystemClock).unix_time()
    }
}

/// A header with a time limit.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    pub(crate) name: HeaderName,
    pub(crate) form: Form,
    /// `Some(true)` for gRPC alone, `Some(false)` for all others, `None` for both.
    pub(crate) is_for_grpc: Option<bool>,
}

/// How a header's value is read and written.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    Known(Syntax),
    Own { read: Hook<Read>, write: Hook<Write> },
}

pub(crate) type Read = dyn Fn(&[u8]) -> Option<Duration> + Send + Sync;
pub(crate) type Write = dyn Fn(Duration) -> Option<HeaderValue> + Send + Sync;

impl Header {
    /// Returns whether the peer knows the header.
    #[inline]
    pub(crate) fn is_for(&self, is_grpc: bool) -> bool {
        self.is_for_grpc.is_none_or(|is_for_grpc| is_for_grpc == is_grpc)
    }

    pub(crate) fn parse(&self, value: &HeaderValue, clock: Option<&dyn Clock>) -> Option<Duration> {
        match &self.form {
            Form::Known(syntax) => syntax.parse(value.as_bytes(), syntax.now(clock)),
            Form::Own { read, .. } => (read.0)(value.as_bytes()),
        }
    }

    /// Writes the time that is left. Returns false, and writes nothing, if it would be read as no
    /// time.
    pub(crate) fn write(
        &self,
        left: Duration,
        headers: &mut HeaderMap,
        clock: Option<&dyn Clock>,
    ) -> bool {
        let value = match &self.form {
            Form::Known(syntax) => Some(syntax.write(left, syntax.now(clock))),
            Form::Own { write, .. } => (write.0)(left),
        };
        let Some(value) = value else { return true };
        if self.parse(&value, clock) == Some(Duration::ZERO) {
            return false;
        }
        headers.insert(self.name.clone(), value);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Syntax; 6] = [
        Syntax::Grpc,
        Syntax::Millis,
        Syntax::Seconds,
        Syntax::Rfc3339,
        Syntax::UnixSeconds,
        Syntax::UnixMillis,
    ];

    #[test]
    fn what_no_syntax_allows() {
        for syntax in ALL {
            for value in
                ["", " ", "-1", "+1", "1 ", " 1", "1,2", "1e3", "0x1", "\u{661}", "NaN", "inf", "."]
            {
                let parsed = syntax.parse(value.as_bytes(), UnixTime::EPOCH);
                assert_eq!(parsed, None, "{syntax:?} of {value:?}");
            }
            assert_eq!(syntax.parse(b"\xff", UnixTime::EPOCH), None);
            assert_eq!(syntax.parse(b"\x00", UnixTime::EPOCH), None);
        }
    }

    #[test]
    fn the_longest_value_fits() {
        for syntax in ALL {
            let value = syntax.write(Duration::MAX, UnixTime::MAX);
            assert!(syntax.parse(value.as_bytes(), UnixTime::EPOCH).is_some(), "{value:?}");
        }
    }

    proptest! {
        /// The time that is read again is never longer, and shorter by less than the precision.
        #[test]
        fn a_written_value_never_grows(left_ns: u64, shift in 0_u32..64, now_ns in 0..u64::MAX / 2) {
            let left = Duration::from_nanos(left_ns >> shift);
            let now = UnixTime::from_nanos(now_ns);
            for syntax in ALL {
                let value = syntax.write(left, now);
                let read = syntax.parse(value.as_bytes(), now).unwrap();
                prop_assert!(read <= left, "{:?} of {:?}", value, left);
                let lost = match syntax {
                    Syntax::Grpc => left / 100_000 + Duration::from_nanos(1),
                    // The end lies beyond the last time that can be written.
                    Syntax::Rfc3339 if now.checked_add(left).is_none() => left,
                    _ => Duration::from_millis(1),
                };
                prop_assert!(left.saturating_sub(read) <= lost, "{:?} of {:?}", value, left);
            }
        }

        #[test]
        fn no_value_panics(value: Vec<u8>, now_ns: u64) {
            for syntax in ALL {
                let _ = syntax.parse(&value, UnixTime::from_nanos(now_ns));
            }
        }
    }
}
