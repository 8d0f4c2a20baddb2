//! The offset of local time from UTC.

use core::fmt;

use crate::error::Error;
use crate::text::digits::write_padded;

const MINUTES_PER_DAY: i16 = 24 * 60;

/// The offset of local time from UTC: whole minutes, less than a day ahead or behind.
///
/// RFC 3339 allows no other offsets and writes them as `+01:00`.
///
/// # Examples
///
/// ```
/// use tach_core::Offset;
///
/// let india: Offset = "+05:30".parse()?;
/// assert_eq!(india.as_minutes(), 330);
/// assert_eq!(india.to_string(), "+05:30");
/// # Ok::<(), tach_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Offset {
    minutes: i16,
    /// The text, kept since an offset is printed far more often than it is created.
    text: [u8; 6],
}

impl Offset {
    /// The offset of UTC, written as `+00:00`.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tach_core::Offset::UTC.to_string(), "+00:00");
    /// ```
    pub const UTC: Self = Self { minutes: 0, text: *b"+00:00" };

    /// Creates an offset of `minutes` ahead of UTC, negative in the west.
    ///
    /// # Errors
    ///
    /// If `minutes` is a day or more in either direction.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::Offset;
    ///
    /// assert_eq!(Offset::from_minutes(-210)?.to_string(), "-03:30");
    /// let error = Offset::from_minutes(3600).unwrap_err();
    /// assert_eq!(error.to_string(), "the offset is 3600 minutes, but must be from -1439 to 1439");
    /// # Ok::<(), tach_core::Error>(())
    /// ```
    pub fn from_minutes(minutes: i32) -> Result<Self, Error> {
        match i16::try_from(minutes) {
            Ok(short) if short.abs() < MINUTES_PER_DAY => Ok(Self::of(short)),
            _ => Err(Error::offset(minutes)),
        }
    }

    /// Creates an offset of `minutes`, less than a day.
    pub(super) fn of(minutes: i16) -> Self {
        let of_day = minutes.unsigned_abs();
        let mut text = if minutes < 0 { *b"-00:00" } else { *b"+00:00" };
        write_padded(&mut text[1..3], (of_day / 60).into());
        write_padded(&mut text[4..6], (of_day % 60).into());
        Self { minutes, text }
    }

    /// Returns the minutes ahead of UTC: -1439 to 1439.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tach_core::Offset::UTC.as_minutes(), 0);
    /// ```
    #[must_use]
    pub const fn as_minutes(self) -> i32 {
        self.minutes as i32
    }

    #[allow(dead_code, reason = "for the cache of a thread, which needs std")]
    #[inline]
    pub(super) const fn as_seconds(self) -> i32 {
        self.as_minutes() * 60
    }

    #[allow(dead_code, reason = "for the cache of a thread, which needs std")]
    #[inline]
    pub(super) const fn text(self) -> [u8; 6] {
        self.text
    }
}

/// Returns [`Offset::UTC`].
impl Default for Offset {
    fn default() -> Self {
        Self::UTC
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(core::str::from_utf8(&self.text).unwrap_or_default()) // The text is ASCII.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_offset_is_written_and_read() {
        for minutes in -1439..=1439 {
            let offset = Offset::from_minutes(minutes).unwrap();
            assert_eq!(offset.as_minutes(), minutes);
            let (sign, of_day) = (if minutes < 0 { '-' } else { '+' }, minutes.abs());
            let text = format!("{sign}{:02}:{:02}", of_day / 60, of_day % 60);
            assert_eq!(offset.to_string(), text);
            assert_eq!(text.parse(), Ok(offset));
        }
        assert_eq!("z".parse(), Ok(Offset::UTC));
        assert_eq!("-00:00".parse(), Ok(Offset::UTC));
    }

    #[test]
    fn a_day_is_too_much() {
        for minutes in [-1440, 1440, i32::MIN, i32::MAX, 65_536] {
            assert_eq!(Offset::from_minutes(minutes), Err(Error::offset(minutes)));
        }
    }

    #[test]
    fn an_error_names_the_place_that_is_wrong() {
        for (text, message) in [
            ("", "the text ends at byte 0, where \"Z\" or an offset is expected"),
            ("Europe/Berlin", "expected \"Z\" or an offset at byte 0"),
            ("+0100", "expected \":\" at byte 3"),
            ("+24:00", "the offset's hour at byte 1 is 24, but must be from 00 to 23"),
            ("+01:60", "the offset's minute at byte 4 is 60, but must be from 00 to 59"),
            ("+01:00:00", "expected the end of the text at byte 6"),
        ] {
            assert_eq!(text.parse::<Offset>().unwrap_err().to_string(), message);
        }
    }
}
