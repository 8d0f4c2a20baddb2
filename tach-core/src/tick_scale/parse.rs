//! From text to a scale.

use core::error::Error;
use core::fmt;
use core::str::FromStr;

use super::TickScale;
use crate::unix_time::rfc3339::ParseError;

/// Parses the text that [`Display`](fmt::Display) writes. The time may have any form that
/// [`UnixTime`](crate::UnixTime#impl-FromStr-for-UnixTime) parses, and the rate any number of
/// digits.
///
/// # Errors
///
/// If one of the three fields is missing, not in its place or not what it should be.
///
/// # Examples
///
/// ```
/// use tach_core::TickScale;
///
/// let error = "tick=7 time=now ns_per_tick=1".parse::<TickScale>().unwrap_err();
/// assert_eq!(error.to_string(), "in the time at byte 12: expected a digit at byte 0");
/// ```
impl FromStr for TickScale {
    type Err = TickScaleError;

    fn from_str(text: &str) -> Result<Self, TickScaleError> {
        let mut fields = Fields { rest: text, position: 0 };
        let tick = fields.value("tick=", " ", |value| value.parse().map_err(|_| Fault::Tick))?;
        // A blank does not end the time: it may have one in place of its `T`.
        let time = fields.value(" time=", RATE, |value| value.parse().map_err(Fault::Time))?;
        let ns_per_tick = fields.value(RATE, " ", |value| {
            let rate = value.parse().ok();
            rate.filter(|rate: &f64| rate.is_finite() && *rate > 0.0).ok_or(Fault::Rate)
        })?;
        fields.end()?;
        Ok(Self { tick, time, ns_per_tick })
    }
}

const RATE: &str = " ns_per_tick=";

/// What is still to be read.
struct Fields<'a> {
    rest: &'a str,
    position: usize,
}

impl Fields<'_> {
    /// Reads the value after `name`, up to `end` or the end of the text, by `read`.
    fn value<T>(
        &mut self,
        name: &'static str,
        end: &str,
        read: impl FnOnce(&str) -> Result<T, Fault>,
    ) -> Result<T, TickScaleError> {
        let value = self.rest.strip_prefix(name).ok_or(self.error(Fault::Missing(name)))?;
        self.position += name.len();
        let (value, rest) = value.split_at(value.find(end).unwrap_or(value.len()));
        let result = read(value).map_err(|fault| self.error(fault))?;
        self.position += value.len();
        self.rest = rest;
        Ok(result)
    }

    fn end(&self) -> Result<(), TickScaleError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.error(Fault::NoEnd)) }
    }

    fn error(&self, fault: Fault) -> TickScaleError {
        TickScaleError { fault, position: self.position }
    }
}

/// The error of reading a [`TickScale`] from text. Its message says what is wrong, where, and what would be
/// right.
///
/// # Examples
///
/// ```
/// use tach_core::TickScale;
///
/// let error = "scale".parse::<TickScale>().unwrap_err();
/// assert_eq!(error.to_string(), "expected \"tick=\" at byte 0");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TickScaleError {
    fault: Fault,
    position: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Missing(&'static str),
    Tick,
    Time(ParseError),
    Rate,
    NoEnd,
}

impl TickScaleError {
    /// Where the fault is, in bytes from the start of the text: where a field should begin, or where the
    /// value begins that is wrong.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::TickScale;
    ///
    /// assert_eq!("tick=x".parse::<TickScale>().unwrap_err().position(), 5);
    /// ```
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }
}

impl fmt::Display for TickScaleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = self.position;
        match self.fault {
            Fault::Missing(name) => write!(f, "expected \"{name}\" at byte {position}"),
            Fault::Tick => write!(f, "the tick at byte {position} must be a number below 2^64"),
            Fault::Time(error) => write!(f, "in the time at byte {position}: {error}"),
            Fault::Rate => write!(f, "the rate at byte {position} must be a number above 0"),
            Fault::NoEnd => write!(f, "expected the end of the text at byte {position}"),
        }
    }
}

impl Error for TickScaleError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.fault {
            Fault::Time(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_may_have_all_forms_that_a_unix_time_has() {
        let scale: TickScale =
            "tick=7 time=1970-01-01T00:00:01.5Z ns_per_tick=0.25".parse().unwrap();
        for time in ["1970-01-01 00:00:01.5z", "1970-01-01t01:00:01.5000000009+01:00"] {
            assert_eq!(format!("tick=7 time={time} ns_per_tick=2.5e-1").parse(), Ok(scale));
        }
    }

    #[test]
    fn faults_are_told_with_their_places() {
        for (text, message) in [
            ("", "expected \"tick=\" at byte 0"),
            ("tick=-1", "the tick at byte 5 must be a number below 2^64"),
            ("tick=18446744073709551616", "the tick at byte 5 must be a number below 2^64"),
            ("tick=1", "expected \" time=\" at byte 6"),
            (
                "tick=1 time=1970-01-01T00:00:00",
                "in the time at byte 12: \
                 the text ends at byte 19, where \".\", \"Z\" or an offset is expected",
            ),
            ("tick=1 time=1970-01-01T00:00:00Z", "expected \" ns_per_tick=\" at byte 32"),
            ("tick=1 time=1970-01-01 00:00:00Z", "expected \" ns_per_tick=\" at byte 32"),
            (
                "tick=1 time=1970-01-01T00:00:00Z rate=1",
                "in the time at byte 12: expected the end of the text at byte 20",
            ),
        ] {
            assert_eq!(text.parse::<TickScale>().unwrap_err().to_string(), message);
        }
        let start = "tick=1 time=1970-01-01T00:00:00Z ns_per_tick=";
        for rate in ["", "0", "-1", "NaN", "inf", "fast"] {
            let error = format!("{start}{rate}").parse::<TickScale>().unwrap_err();
            assert_eq!(error.to_string(), "the rate at byte 45 must be a number above 0", "{rate}");
        }
        let error = format!("{start}1 x").parse::<TickScale>().unwrap_err();
        assert_eq!(error.to_string(), "expected the end of the text at byte 46");
    }
}
