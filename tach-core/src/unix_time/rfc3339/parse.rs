//! Parses RFC 3339 text.

#[cfg(all(test, not(tach_same_arithmetic)))]
mod tests;

use core::str::FromStr;
use core::time::Duration;

use super::error::{Expected, Fault, ParseError};
use super::{Offset, SECONDS_PER_DAY, civil_from_days};
use crate::unix_time::{UnixTime, UnixTimeError};

/// Parses RFC 3339 text: `2026-11-21T09:30:00.5Z`, `2026-11-21 10:30:00+01:00`.
///
/// Accepts exactly the grammar of RFC 3339, section 5.6:
///
/// - a date;
/// - `T`, or the space that the section's note allows instead;
/// - a time down to the second;
/// - optionally a point and one or more digits, which are rounded down to nanoseconds;
/// - `Z` or an offset.
///
/// The letters may be lower case. A second 60 is accepted only where a leap second can be, at
/// 23:59:60 UTC on 30 June and 31 December. Unix time has no leap seconds, so the result is the
/// first second of the next day.
///
/// # Errors
///
/// If the text does not have that form, if its month does not have the day, or if the time is
/// before [`EPOCH`](UnixTime::EPOCH) or after [`MAX`](UnixTime::MAX).
///
/// # Cost
///
/// No allocation.
///
/// # Examples
///
/// ```
/// use tach_core::UnixTime;
///
/// let time: UnixTime = "1970-01-01T01:00:01.5+01:00".parse()?;
/// assert_eq!(time, UnixTime::from_nanos(1_500_000_000));
/// assert_eq!("1970-01-01 00:00:01.500000000999z".parse(), Ok(time));
///
/// let error = "1970-01-01_00:00:01Z".parse::<UnixTime>().unwrap_err();
/// assert_eq!(error.to_string(), "expected \"T\" or a space at byte 10");
/// # Ok::<(), tach_core::rfc3339::ParseError>(())
/// ```
impl FromStr for UnixTime {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse(text.as_bytes())
    }
}

/// Parses RFC 3339's offsets: `Z`, `+01:00`, `-03:30`. `-00:00`, which stands for an unknown offset
/// in RFC 3339, is read as UTC.
///
/// # Errors
///
/// If the text does not have that form.
///
/// # Examples
///
/// ```
/// use tach_core::rfc3339::Offset;
///
/// assert_eq!("-03:30".parse(), Ok(Offset::from_minutes(-210)?));
/// let error = "+1:00".parse::<Offset>().unwrap_err();
/// assert_eq!(error.to_string(), "expected a digit at byte 2");
/// # Ok::<(), tach_core::rfc3339::OffsetError>(())
/// ```
impl FromStr for Offset {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut cursor = Cursor { text: text.as_bytes(), position: 0 };
        let minutes = cursor.offset_minutes()?;
        cursor.end()?;
        Ok(Self::of(minutes))
    }
}

/// Parses `text` by the grammar of RFC 3339, section 5.6, and by no other.
///
/// # Errors
///
/// The first fault from the left. Only what takes the whole text to see comes after: that a second
/// 60 is no leap second, and that the time is out of range.
fn parse(text: &[u8]) -> Result<UnixTime, ParseError> {
    let mut cursor = Cursor { text, position: 0 };
    let days = cursor.date()?;
    cursor.date_time_separator()?;
    let hour = cursor.field("hour", 0, 23)?;
    cursor.char(':')?;
    let minute = cursor.field("minute", 0, 59)?;
    cursor.char(':')?;
    let second_position = cursor.position;
    let second = cursor.field("second", 0, 60)?;
    let fraction = Duration::from_nanos(cursor.fraction_ns()?.into());
    let offset_s = i64::from(cursor.offset_minutes()?) * 60;
    cursor.end()?;

    // A second 60 counts as the first of the next minute, which is POSIX's formula.
    let of_day = hour * 3600 + minute * 60 + second;
    let unix_s = days * i64::from(SECONDS_PER_DAY) + i64::from(of_day) - offset_s;
    let out_of_range = |error| ParseError::new(Fault::OutOfRange(error), 0);
    let unix_s = u64::try_from(unix_s).map_err(|_| out_of_range(UnixTimeError::BEFORE_EPOCH))?;
    if second == 60 && !follows_leap_second(unix_s) {
        return Err(ParseError::new(Fault::NoLeapSecond, second_position));
    }
    let time = UnixTime::from_secs(unix_s).and_then(|time| time.checked_add(fraction));
    time.ok_or(out_of_range(UnixTimeError::AFTER_MAX))
}

/// Whether this second can come right after a leap second: whether it begins a July or a January.
fn follows_leap_second(unix_s: u64) -> bool {
    let day = unix_s / u64::from(SECONDS_PER_DAY);
    let begins_day = unix_s % u64::from(SECONDS_PER_DAY) == 0;
    let date = u32::try_from(day).map(civil_from_days);
    begins_day && matches!(date, Ok((_, 1 | 7, 1)))
}

/// The days from 1970-01-01 to a date of the years 0 to 9999; negative if it is earlier.
fn days_from_civil(year: u32, month: u32, day: u32) -> i64 {
    /// From 0000-01-01 to 1970-01-01.
    const DAYS_TO_1970: i64 = 719_528;
    // Year 0 is a leap year, hence rounded up.
    let leap_years_before = year.div_ceil(4) - year.div_ceil(100) + year.div_ceil(400);
    let months_before: u32 = (1..month).map(|month| days_of_month(year, month)).sum();
    let days = year * 365 + leap_years_before + months_before + day - 1;
    i64::from(days) - DAYS_TO_1970
}

fn days_of_month(year: u32, month: u32) -> u32 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// How far the text has been read.
struct Cursor<'a> {
    text: &'a [u8],
    position: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.position).copied()
    }

    /// The error that something else than `expected` comes next.
    fn unexpected(&self, expected: Expected) -> ParseError {
        let fault = match self.peek() {
            Some(_) => Fault::Expected(expected),
            None => Fault::Ended(expected),
        };
        ParseError::new(fault, self.position)
    }

    /// Reads a digit, if one comes next.
    fn next_digit(&mut self) -> Option<u32> {
        let digit = self.peek().filter(u8::is_ascii_digit)? - b'0';
        self.position += 1;
        Some(digit.into())
    }

    /// Reads as many digits, 9 at most.
    fn number(&mut self, digits: u32) -> Result<u32, ParseError> {
        let mut number = 0;
        for _ in 0..digits {
            let digit = self.next_digit().ok_or_else(|| self.unexpected(Expected::Digit))?;
            number = number * 10 + digit;
        }
        Ok(number)
    }

    /// Reads a number of two digits that must be in a range.
    fn field(&mut self, name: &'static str, first: u32, last: u32) -> Result<u32, ParseError> {
        let position = self.position;
        let value = self.number(2)?;
        if !(first..=last).contains(&value) {
            return Err(ParseError::new(Fault::Field { name, value, first, last }, position));
        }
        Ok(value)
    }

    /// Reads this character.
    fn char(&mut self, expected: char) -> Result<(), ParseError> {
        match self.peek() {
            Some(byte) if char::from(byte) == expected => {
                self.position += 1;
                Ok(())
            }
            _ => Err(self.unexpected(Expected::Char(expected))),
        }
    }

    /// Reads `T` in either case, or the space that RFC 3339 allows in its place for readability.
    fn date_time_separator(&mut self) -> Result<(), ParseError> {
        match self.peek() {
            Some(b'T' | b't' | b' ') => {
                self.position += 1;
                Ok(())
            }
            _ => Err(self.unexpected(Expected::DateTimeSeparator)),
        }
    }

    /// Reads `full-date` and gives the days from 1970-01-01 to it.
    fn date(&mut self) -> Result<i64, ParseError> {
        let year = self.number(4)?;
        self.char('-')?;
        let month = self.field("month", 1, 12)?;
        self.char('-')?;
        let position = self.position;
        let day = self.number(2)?;
        let last = days_of_month(year, month);
        if !(1..=last).contains(&day) {
            return Err(ParseError::new(Fault::Day { value: day, last, year, month }, position));
        }
        Ok(days_from_civil(year, month, day))
    }

    /// Reads `time-secfrac`, if it is there, and returns it in ns, rounded down.
    fn fraction_ns(&mut self) -> Result<u32, ParseError> {
        match self.peek() {
            Some(b'.') => self.position += 1,
            Some(b'Z' | b'z' | b'+' | b'-') => return Ok(0),
            _ => return Err(self.unexpected(Expected::FractionOrZone)),
        }
        let mut fraction_ns = self.number(1)? * 100_000_000;
        let mut unit_ns = 10_000_000;
        // After the ninth digit the unit is 0: further digits are read and count nothing.
        while let Some(digit) = self.next_digit() {
            fraction_ns += digit * unit_ns;
            unit_ns /= 10;
        }
        Ok(fraction_ns)
    }

    /// Reads `time-offset` and gives it in minutes: what is to be taken from local time for UTC.
    fn offset_minutes(&mut self) -> Result<i16, ParseError> {
        let sign = match self.peek() {
            Some(b'Z' | b'z') => 0,
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(self.unexpected(Expected::Zone)),
        };
        self.position += 1;
        if sign == 0 {
            return Ok(0);
        }
        let hours = self.field("offset's hour", 0, 23)?;
        self.char(':')?;
        let minutes = self.field("offset's minute", 0, 59)?;
        #[expect(clippy::cast_possible_truncation, reason = "less than a day")]
        Ok(sign * (hours * 60 + minutes) as i16)
    }

    fn end(&self) -> Result<(), ParseError> {
        match self.peek() {
            Some(_) => Err(self.unexpected(Expected::End)),
            None => Ok(()),
        }
    }
}
