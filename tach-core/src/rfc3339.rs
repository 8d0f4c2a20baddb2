//! RFC 3339 text: written in UTC, `2026-11-21T09:30:00.123456Z`, at a fixed width, and read with any
//! offset by [`UnixTime`]'s [`FromStr`](core::str::FromStr).
//!
//! A formatter keeps the text of the last second, and only the fraction is written anew: most
//! timestamps of a service fall into the second of the one before.

#[cfg(feature = "std")]
mod cached;
mod error;
mod parse;

#[cfg(feature = "std")]
pub use self::cached::{with_text, with_text_digits};
pub use self::error::ParseError;
use crate::UnixTime;
use crate::digits::write_padded;

/// The longest text: nine digits of fraction.
pub const MAX_LEN: usize = "2554-07-21T23:34:33.709551615Z".len();

/// The length of the text down to the second.
const SECOND_LEN: usize = "2554-07-21T23:34:33".len();

const SECONDS_PER_DAY: u32 = 86_400;

/// How many ns the last digit stands for, by the number of digits.
const UNITS_NS: [u32; 10] =
    [1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];

/// Writes Unix times as RFC 3339 text and keeps the part down to the second for the next one.
///
/// # Cost
///
/// No allocation and no lock. It is a plain value of some 40 bytes: keep one where you format.
///
/// # Examples
///
/// ```
/// use tach_core::{UnixTime, rfc3339::Formatter};
///
/// let mut formatter = Formatter::new();
/// let time = UnixTime::from_nanos(1_000_000_000_123_456_789);
/// assert_eq!(formatter.format::<6>(time), "2001-09-09T01:46:40.123456Z");
/// assert_eq!(formatter.format::<0>(time), "2001-09-09T01:46:40Z");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Formatter {
    /// The second that `text` holds; `u64::MAX` for none.
    second: u64,
    text: [u8; MAX_LEN],
}

impl Formatter {
    /// A formatter that has not formatted anything yet.
    ///
    /// # Examples
    ///
    /// ```
    /// const FORMATTER: tach_core::rfc3339::Formatter = tach_core::rfc3339::Formatter::new();
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self { second: u64::MAX, text: *b"0000-00-00T00:00:00.000000000Z" }
    }

    /// The text of `time`, rounded down to `DIGITS` digits of a second: 0 to 9, checked when the
    /// call is compiled. Without digits there is no decimal point either.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{UnixTime, rfc3339::Formatter};
    ///
    /// assert_eq!(Formatter::new().format::<3>(UnixTime::EPOCH), "1970-01-01T00:00:00.000Z");
    /// ```
    #[inline]
    pub fn format<const DIGITS: usize>(&mut self, time: UnixTime) -> &str {
        const { assert!(DIGITS <= 9, "a timestamp has 0 to 9 digits of fraction") };
        let second = time.as_secs();
        if second != self.second {
            self.write_second(second);
        }
        let end = if DIGITS == 0 {
            SECOND_LEN
        } else {
            let unit = const { UNITS_NS[DIGITS] };
            self.text[SECOND_LEN] = b'.';
            let fraction = &mut self.text[SECOND_LEN + 1..][..DIGITS];
            write_padded(fraction, time.subsec_nanos() / unit);
            SECOND_LEN + 1 + DIGITS
        };
        self.text[end] = b'Z';
        let text = core::str::from_utf8(&self.text[..=end]);
        text.unwrap_or_default() // Never taken: all of it is ASCII.
    }

    /// The text of `time` with a number of digits that is known only at run time, as that of
    /// `{:.3}` is. More than 9 count as 9.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{UnixTime, rfc3339::Formatter};
    ///
    /// let mut formatter = Formatter::new();
    /// assert_eq!(formatter.format_digits(UnixTime::EPOCH, 1), "1970-01-01T00:00:00.0Z");
    /// ```
    #[inline]
    pub fn format_digits(&mut self, time: UnixTime, digits: usize) -> &str {
        match digits {
            0 => self.format::<0>(time),
            1 => self.format::<1>(time),
            2 => self.format::<2>(time),
            3 => self.format::<3>(time),
            4 => self.format::<4>(time),
            5 => self.format::<5>(time),
            6 => self.format::<6>(time),
            7 => self.format::<7>(time),
            8 => self.format::<8>(time),
            _ => self.format::<9>(time),
        }
    }

    /// Writes the text down to the second.
    #[inline(never)]
    fn write_second(&mut self, second: u64) {
        const PER_DAY: u64 = SECONDS_PER_DAY as u64;
        #[expect(clippy::cast_possible_truncation, reason = "u64 ns end after 213,504 days")]
        let (days, of_day) = ((second / PER_DAY) as u32, (second % PER_DAY) as u32);
        let (year, month, day) = civil_from_days(days);
        let fields = [
            (0..4, year),
            (5..7, month),
            (8..10, day),
            (11..13, of_day / 3600),
            (14..16, of_day / 60 % 60),
            (17..19, of_day % 60),
        ];
        for (place, value) in fields {
            write_padded(&mut self.text[place], value);
        }
        self.second = second;
    }
}

impl Default for Formatter {
    fn default() -> Self {
        Self::new()
    }
}

/// Year, month (1-12) and day (1-31) of the day that comes `days` after 1970-01-01.
///
/// The calendar repeats every 400 years, or 146,097 days. Counted from a 1 March, a leap day is the
/// last of its year, and month lengths follow a straight line of 153 days in 5 months.
fn civil_from_days(days: u32) -> (u32, u32, u32) {
    const DAYS_PER_ERA: u32 = 146_097;
    /// From 0000-03-01 to 1970-01-01.
    const DAYS_TO_1970: u32 = 719_468;
    let shifted = days + DAYS_TO_1970;
    let (era, of_era) = (shifted / DAYS_PER_ERA, shifted % DAYS_PER_ERA);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = 400 * era + year_of_era + u32::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_texts() {
        let cases = [
            (0, "1970-01-01T00:00:00.000000000Z"),
            (951_782_399_999_999_999, "2000-02-28T23:59:59.999999999Z"),
            (951_782_400_000_000_000, "2000-02-29T00:00:00.000000000Z"),
            (4_107_542_400_000_000_000, "2100-03-01T00:00:00.000000000Z"),
            (u64::MAX, "2554-07-21T23:34:33.709551615Z"),
        ];
        for (ns, text) in cases {
            assert_eq!(Formatter::new().format::<9>(UnixTime::from_nanos(ns)), text);
        }
    }

    #[test]
    fn every_width_is_rounded_down() {
        let time = UnixTime::from_nanos(1_999_999_999_987_654_321);
        let mut formatter = Formatter::new();
        assert_eq!(formatter.format::<9>(time), "2033-05-18T03:33:19.987654321Z");
        assert_eq!(formatter.format::<8>(time), "2033-05-18T03:33:19.98765432Z");
        assert_eq!(formatter.format::<7>(time), "2033-05-18T03:33:19.9876543Z");
        assert_eq!(formatter.format::<6>(time), "2033-05-18T03:33:19.987654Z");
        assert_eq!(formatter.format::<5>(time), "2033-05-18T03:33:19.98765Z");
        assert_eq!(formatter.format::<4>(time), "2033-05-18T03:33:19.9876Z");
        assert_eq!(formatter.format::<3>(time), "2033-05-18T03:33:19.987Z");
        assert_eq!(formatter.format::<2>(time), "2033-05-18T03:33:19.98Z");
        assert_eq!(formatter.format::<1>(time), "2033-05-18T03:33:19.9Z");
        assert_eq!(formatter.format::<0>(time), "2033-05-18T03:33:19Z");
    }

    proptest! {
        #[test]
        fn text_is_jiffs(times: Vec<u64>) {
            let mut formatter = Formatter::new();
            for ns in times {
                let theirs = jiff::Timestamp::from_nanosecond(i128::from(ns)).unwrap();
                prop_assert_eq!(
                    formatter.format::<9>(UnixTime::from_nanos(ns)),
                    format!("{theirs:.9}")
                );
            }
        }

        #[test]
        fn a_formatter_forgets_no_second(start: u64, steps in proptest::collection::vec(0..3_u64, 9)) {
            let mut kept = Formatter::new();
            let mut ns = start / 2;
            for step in steps {
                ns += step * 400_000_000;
                let time = UnixTime::from_nanos(ns);
                let mut fresh = Formatter::new();
                prop_assert_eq!(kept.format::<9>(time), fresh.format::<9>(time));
            }
        }
    }
}
