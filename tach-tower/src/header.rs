//! The value of a header with a time limit: parsed and written to the letter of its syntax.

mod decimal;
mod grpc;

use core::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

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
///
/// assert_eq!(Syntax::Grpc.parse(b"250m"), Some(Duration::from_millis(250)));
/// assert_eq!(Syntax::Seconds.parse(b"1.5"), Some(Duration::from_millis(1_500)));
/// assert_eq!(Syntax::Seconds.parse(b"soon"), None);
/// assert_eq!(Syntax::Millis.write(Duration::from_micros(1_999)), "1");
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
}

impl Syntax {
    /// Parses a header's value. Returns the time that it allows, or `None` if it is invalid.
    ///
    /// Digits beyond nanoseconds are cut off. A number that is too large for the type is the type's
    /// largest.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::Syntax;
    ///
    /// assert_eq!(Syntax::Seconds.parse(b"0.5"), Some(Duration::from_millis(500)));
    /// assert_eq!(Syntax::Seconds.parse(b"-1"), None);
    /// ```
    #[must_use]
    pub fn parse(self, value: &[u8]) -> Option<Duration> {
        match self {
            Self::Grpc => grpc::parse(value),
            Self::Millis => decimal::millis(value),
            Self::Seconds => decimal::seconds(value),
        }
    }

    /// Returns the header's value for a request that has the time `left`.
    ///
    /// Rounds down to the precision of the syntax, so that a budget never grows on its way: gRPC's
    /// syntax keeps at least the first six digits, the others keep milliseconds.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::Syntax;
    ///
    /// let left = Duration::from_nanos(1_234_567_890);
    /// assert_eq!(Syntax::Grpc.write(left), "1234567u");
    /// assert_eq!(Syntax::Seconds.write(left), "1.234");
    /// ```
    #[must_use]
    pub fn write(self, left: Duration) -> HeaderValue {
        let text = match self {
            Self::Grpc => grpc::write(left),
            Self::Millis => decimal::write_millis(left),
            Self::Seconds => decimal::write_seconds(left),
        };
        // The fallback is never used: a syntax writes only what a header can hold.
        HeaderValue::try_from(text).unwrap_or(const { HeaderValue::from_static("") })
    }
}

/// A header with a time limit.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    pub(crate) name: HeaderName,
    pub(crate) form: Form,
    /// Whether it is one of `Settings::new`.
    pub(crate) is_default: bool,
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
    pub(crate) fn parse(&self, value: &HeaderValue) -> Option<Duration> {
        match &self.form {
            Form::Known(syntax) => syntax.parse(value.as_bytes()),
            Form::Own { read, .. } => (read.0)(value.as_bytes()),
        }
    }

    /// Writes the time that is left. Returns false, and writes nothing, if it would be read as no
    /// time.
    pub(crate) fn write(&self, left: Duration, headers: &mut HeaderMap) -> bool {
        let value = match &self.form {
            Form::Known(syntax) => Some(syntax.write(left)),
            Form::Own { write, .. } => (write.0)(left),
        };
        let Some(value) = value else { return true };
        if self.parse(&value) == Some(Duration::ZERO) {
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

    const ALL: [Syntax; 3] = [Syntax::Grpc, Syntax::Millis, Syntax::Seconds];

    #[test]
    fn what_no_syntax_allows() {
        for syntax in ALL {
            for value in
                ["", " ", "-1", "+1", "1 ", " 1", "1,2", "1e3", "0x1", "\u{661}", "NaN", "inf", "."]
            {
                let parsed = syntax.parse(value.as_bytes());
                assert_eq!(parsed, None, "{syntax:?} of {value:?}");
            }
            assert_eq!(syntax.parse(b"\xff"), None);
            assert_eq!(syntax.parse(b"\x00"), None);
        }
    }

    #[test]
    fn the_longest_value_fits() {
        for syntax in ALL {
            let value = syntax.write(Duration::MAX);
            assert!(syntax.parse(value.as_bytes()).is_some(), "{value:?}");
        }
    }

    proptest! {
        /// The time that is read again is never longer, and shorter by less than the precision.
        #[test]
        fn a_written_value_never_grows(left_ns: u64, shift in 0_u32..64) {
            let left = Duration::from_nanos(left_ns >> shift);
            for syntax in ALL {
                let value = syntax.write(left);
                let read = syntax.parse(value.as_bytes()).unwrap();
                prop_assert!(read <= left, "{:?} of {:?}", value, left);
                let lost = match syntax {
                    Syntax::Grpc => left / 100_000 + Duration::from_nanos(1),
                    _ => Duration::from_millis(1),
                };
                prop_assert!(left.saturating_sub(read) <= lost, "{:?} of {:?}", value, left);
            }
        }

        #[test]
        fn no_value_panics(value: Vec<u8>) {
            for syntax in ALL {
                let _ = syntax.parse(&value);
            }
        }
    }
}
