//! Parsing the text of a scale.

use core::str::FromStr;

use super::TickScale;
use crate::error::{Error, Fault};

/// Parses the text that [`Display`](core::fmt::Display) writes.
///
/// The time may have any form that [`UnixTime`](tach_core::UnixTime#impl-FromStr-for-UnixTime)
/// parses.
///
/// # Errors
///
/// If one of the three fields is missing, misplaced or invalid.
///
/// # Examples
///
/// ```
/// use tach_tracing::TickScale;
///
/// let error = "tick=7 time=now ns_per_tick=1".parse::<TickScale>().unwrap_err();
/// assert_eq!(error.to_string(), "in the time at byte 12: expected a digit at byte 0");
/// ```
impl FromStr for TickScale {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut fields = Fields { rest: text, position: 0 };
        let tick = fields.value("tick=", " ", |value| value.parse().map_err(|_| Fault::Tick))?;
        // A blank does not end the time: it may stand in place of the `T`.
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

/// The text that is not parsed yet, and its position.
struct Fields<'a> {
    rest: &'a str,
    position: usize,
}

impl Fields<'_> {
    /// Parses the value after `name`, up to `end` or the end of the text, with `parse`.
    fn value<T>(
        &mut self,
        name: &'static str,
        end: &str,
        parse: impl FnOnce(&str) -> Result<T, Fault>,
    ) -> Result<T, Error> {
        let value = self.rest.strip_prefix(name).ok_or_else(|| self.error(Fault::Missing(name)))?;
        self.position += name.len();
        let (value, rest) = value.split_at(value.find(end).unwrap_or(value.len()));
        let result = parse(value).map_err(|fault| self.error(fault))?;
        self.position += value.len();
        self.rest = rest;
        Ok(result)
    }

    fn end(&self) -> Result<(), Error> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.error(Fault::NoEnd)) }
    }

    fn error(&self, fault: Fault) -> Error {
        Error::new(fault, self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_may_have_every_form_of_a_unix_time() {
        let scale: TickScale =
            "tick=7 time=1970-01-01T00:00:01.5Z ns_per_tick=0.25".parse().unwrap();
        for time in ["1970-01-01 00:00:01.5z", "1970-01-01t01:00:01.5000000009+01:00"] {
            assert_eq!(format!("tick=7 time={time} ns_per_tick=2.5e-1").parse(), Ok(scale));
        }
    }

    #[test]
    fn messages_have_the_position_of_the_fault() {
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
