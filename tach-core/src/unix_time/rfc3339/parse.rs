//! Parses RFC 3339 text.

#[cfg(all(test, not(tach_same_arithmetic)))]
mod tests;

use core::str::FromStr;
use core::time::Duration;

use super::{Offset, SECONDS_PER_DAY, civil_from_days};
use crate::error::{Error, Fault, Field};
use crate::unix_time::UnixTime;

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
/// beginning of the next day, whatever the fraction. So it is not after any time of that day.
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
/// # Ok::<(), tach_core::Error>(())
/// ```
impl FromStr for UnixTime {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
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
/// use tach_core::Offset;
///
/// assert_eq!("-03:30".parse(), Ok(Offset::from_minutes(-210)?));
/// let error = "+1:00".parse::<Offset>().unwrap_err();
/// assert_eq!(error.to_string(), "expected a digit at byte 2");
/// # Ok::<(), tach_core::Error>(())
/// ```
impl FromStr for Offset {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut cursor = Cursor { text: text.as_bytes(), position: 0 };
        let minutes = cursor.offset_minutes()?;
        cursor.end()?;
        Ok(Self::of(minutes))
    }
}

/// Parses `text` by the grammar of RFC 3339, section 5.6.
///
/// # Errors
///
/// Returns the first fault from the left. Two faults are found after all others, because they need
/// the whole text: a second 60 that is no leap second, and a time out of range.
fn parse(text: &[u8]) -> Result<UnixTime, Error> {
    let mut cursor = Cursor { text, position: 0 };
    let days = cursor.date()?;
    // RFC 3339 allows the space for readability.
    cursor.one_of(b"Tt ", &"\"T\" or a space")?;
    let hour = cursor.field(Field::HOUR)?;
    cursor.colon()?;
    let minute = cursor.field(Field::MINUTE)?;
    cursor.colon()?;
    let second_position = cursor.position;
    let second = cursor.field(Field::SECOND)?;
    let fraction = Duration::from_nanos(cursor.fraction_ns()?.into());
    let offset_s = i64::from(cursor.offset_minutes()?) * 60;
    cursor.end()?;

    // A second 60 counts as the first of the next minute, as in POSIX's formula.
    let of_day = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
    let unix_s = days * i64::from(SECONDS_PER_DAY) + of_day - offset_s;
    let unix_s = u64::try_from(unix_s).map_err(|_| Error::BEFORE_EPOCH)?;
    if second == 60 && !follows_leap_second(unix_s) {
        return Err(Error::parse(Fault::NoLeapSecond, second_position));
    }
    // With its fraction, a leap second would come after times of the next day.
    let fraction = if second == 60 { Duration::ZERO } else { fraction };
    let time = UnixTime::from_secs(unix_s).and_then(|time| time.checked_add(fraction));
    time.ok_or(Error::AFTER_MAX)
}

/// Returns whether this second can follow a leap second: whether it begins a July or a January.
fn follows_leap_second(unix_s: u64) -> bool {
    let day = unix_s / u64::from(SECONDS_PER_DAY);
    let begins_day = unix_s % u64::from(SECONDS_PER_DAY) == 0;
    let date = u32::try_from(day).map(civil_from_days);
    begins_day && matches!(date, Ok((_, 1 | 7, 1)))
}

/// Returns the days from 1970-01-01 to a date of the years 0 to 9999; negative if it is earlier.
fn days_from_civil(year: u16, month: u16, day: u16) -> i64 {
    /// From 0000-01-01 to 1970-01-01.
    const DAYS_TO_1970: i64 = 719_528;
    // Round up, since year 0 is a leap year.
    let leap_years_before = year.div_ceil(4) - year.div_ceil(100) + year.div_ceil(400);
    let months_before: u16 = (1..month).map(|month| days_of_month(year, month)).sum();
    let days = i64::from(year) * 365 + i64::from(leap_years_before);
    days + i64::from(months_before + day - 1) - DAYS_TO_1970
}

fn days_of_month(year: u16, month: u16) -> u16 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A text and the position up to which it has been read.
struct Cursor<'a> {
    text: &'a [u8],
    position: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.position).copied()
    }

    /// Returns the error for text that does not continue with `expected`.
    fn unexpected(&self, expected: &'static &'static str) -> Error {
        let fault = match self.peek() {
            Some(_) => Fault::Expected(expected),
            None => Fault::Ended(expected),
        };
        Error::parse(fault, self.position)
    }

    /// Reads a digit, if one comes next.
    fn next_digit(&mut self) -> Option<u8> {
        let digit = self.peek().filter(u8::is_ascii_digit)? - b'0';
        self.position += 1;
        Some(digit)
    }

    /// Reads a number of `digits` digits, 4 at most.
    fn number(&mut self, digits: u32) -> Result<u16, Error> {
        let mut number = 0;
        for _ in 0..digits {
            let digit = self.next_digit().ok_or_else(|| self.unexpected(&"a digit"))?;
            number = number * 10 + u16::from(digit);
        }
        Ok(number)
    }

    /// Reads a number of two digits that must be in the field's range.
    fn field(&mut self, field: &'static Field) -> Result<u16, Error> {
        let position = self.position;
        let value = self.number(2)?;
        if !field.allows(value) {
            return Err(Error::parse(Fault::Field { field, value }, position));
        }
        Ok(value)
    }

    /// Reads one of these ASCII characters.
    fn one_of(&mut self, allowed: &[u8], expected: &'static &'static str) -> Result<u8, Error> {
        let char = self.peek().filter(|char| allowed.contains(char));
        let char = char.ok_or_else(|| self.unexpected(expected))?;
        self.position += 1;
        Ok(char)
    }

    fn colon(&mut self) -> Result<u8, Error> {
        self.one_of(b":", &"\":\"")
    }

    fn hyphen(&mut self) -> Result<u8, Error> {
        self.one_of(b"-", &"\"-\"")
    }

    /// Reads `full-date` and returns the days from 1970-01-01 to it.
    fn date(&mut self) -> Result<i64, Error> {
        let year = self.number(4)?;
        self.hyphen()?;
        let month = self.field(Field::MONTH)?;
        self.hyphen()?;
        let position = self.position;
        let day = self.number(2)?;
        let last = days_of_month(year, month);
        if !(1..=last).contains(&day) {
            return Err(Error::parse(Fault::Day { value: day, last, year, month }, position));
        }
        Ok(days_from_civil(year, month, day))
    }

    /// Reads `time-secfrac`, if it is there, and returns it in ns, rounded down.
    fn fraction_ns(&mut self) -> Result<u32, Error> {
        match self.peek() {
            Some(b'.') => self.position += 1,
            Some(b'Z' | b'z' | b'+' | b'-') => return Ok(0),
            _ => return Err(self.unexpected(&"\".\", \"Z\" or an offset")),
        }
        let mut fraction_ns = u32::from(self.number(1)?) * 100_000_000;
        let mut unit_ns = 10_000_000;
        // After the ninth digit the unit is 0: further digits are read and ignored.
        while let Some(digit) = self.next_digit() {
            fraction_ns += u32::from(digit) * unit_ns;
            unit_ns /= 10;
        }
        Ok(fraction_ns)
    }

    /// Reads `time-offset` and returns it in minutes, to be subtracted from local time for UTC.
    fn offset_minutes(&mut self) -> Result<i16, Error> {
        let sign = match self.one_of(b"Zz+-", &"\"Z\" or an offset")? {
            b'+' => 1,
            b'-' => -1,
            _ => return Ok(0),
        };
        let hours = self.field(Field::OFFSET_HOUR)?;
        self.colon()?;
        let minutes = self.field(Field::OFFSET_MINUTE)?;
        #[expect(clippy::cast_possible_wrap, reason = "less than a day")]
        Ok(sign * (hours * 60 + minutes) as i16)
    }

    fn end(&self) -> Result<(), Error> {
        match self.peek() {
            Some(_) => Err(self.unexpected(&"the end of the text")),
            None => Ok(()),
        }
    }
}
