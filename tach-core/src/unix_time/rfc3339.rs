//! RFC 3339 text.
//!
//! A [`Formatter`] writes it at a fixed width, in UTC (`2026-11-21T09:30:00.123456Z`) or with an
//! [`Offset`]. [`UnixTime`]'s [`FromStr`](core::str::FromStr) reads it with any offset.

#[cfg(feature = "std")]
pub(crate) mod cached;
mod offset;
mod parse;

pub use self::offset::Offset;
use crate::text::digits::write_padded;
use crate::text::utf8;
use crate::unix_time::UnixTime;

/// The longest text: nine digits of fraction and an offset.
const MAX_LEN: usize = "2554-07-22T23:33:33.709551615+23:59".len();

/// The length of the text up to and including the second.
const SECOND_LEN: usize = "2554-07-21T23:34:33".len();

const SECONDS_PER_DAY: u32 = 86_400;

/// A formatter counts from the day before the epoch, since local time may still be on that day.
const DAY_BEFORE: u32 = 1;

/// The unit of the last digit in ns, by the number of digits.
const UNITS_NS: [u32; 10] =
    [1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];

/// A buffer that writes Unix times as RFC 3339 text.
///
/// It keeps the text up to the second. The next time often falls into the same second, and then
/// only the fraction is written.
///
/// # Cost
///
/// No allocation and no lock. The formatter is a plain value of some 40 bytes: keep one where you
/// format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Formatter {
    /// The second of local time that `text` holds, counted from [`DAY_BEFORE`]; `u64::MAX` if none.
    second: u64,
    text: [u8; MAX_LEN],
}

impl Formatter {
    pub(crate) const fn new() -> Self {
        Self { second: u64::MAX, text: *b"0000-00-00T00:00:00.000000000+00:00" }
    }

    /// Writes `time` plus `offset_s`, followed by `zone`, and returns the text.
    #[inline]
    fn text<const DIGITS: usize, const ZONE_LEN: usize>(
        &mut self,
        time: UnixTime,
        offset_s: i32,
        zone: [u8; ZONE_LEN],
    ) -> &str {
        const { assert!(DIGITS <= 9, "a timestamp has 0 to 9 digits of fraction") };
        let from_epoch = time.as_secs() + u64::from(DAY_BEFORE * SECONDS_PER_DAY);
        // Never saturates, since an offset is less than a day.
        let second = from_epoch.saturating_add_signed(offset_s.into());
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
        self.text[end..][..ZONE_LEN].copy_from_slice(&zone);
        let text = utf8::text(&self.text[..end + ZONE_LEN]);
        text.unwrap_or_default() // Never the default: the text is ASCII.
    }

    /// Returns the text of `time` with a number of digits that is known only at run time, such as
    /// the precision in `{:.3}`. More than 9 digits count as 9.
    #[inline]
    pub(crate) fn format_digits(&mut self, time: UnixTime, digits: usize) -> &str {
        self.text_digits(time, digits, 0, *b"Z")
    }

    /// Returns the text of `time` in local time, `offset` ahead of UTC, with a number of digits
    /// like [`format_digits`](Self::format_digits).
    #[inline]
    #[allow(dead_code, reason = "for the cache of a thread, which needs std")]
    pub(crate) fn format_with_offset(
        &mut self,
        time: UnixTime,
        digits: usize,
        offset: Offset,
    ) -> &str {
        self.text_digits(time, digits, offset.as_seconds(), offset.text())
    }

    #[inline]
    fn text_digits<const ZONE_LEN: usize>(
        &mut self,
        time: UnixTime,
        digits: usize,
        offset_s: i32,
        zone: [u8; ZONE_LEN],
    ) -> &str {
        match digits {
            0 => self.text::<0, ZONE_LEN>(time, offset_s, zone),
            1 => self.text::<1, ZONE_LEN>(time, offset_s, zone),
            2 => self.text::<2, ZONE_LEN>(time, offset_s, zone),
            3 => self.text::<3, ZONE_LEN>(time, offset_s, zone),
            4 => self.text::<4, ZONE_LEN>(time, offset_s, zone),
            5 => self.text::<5, ZONE_LEN>(time, offset_s, zone),
            6 => self.text::<6, ZONE_LEN>(time, offset_s, zone),
            7 => self.text::<7, ZONE_LEN>(time, offset_s, zone),
            8 => self.text::<8, ZONE_LEN>(time, offset_s, zone),
            _ => self.text::<9, ZONE_LEN>(time, offset_s, zone),
        }
    }

    /// Writes the text of `second`, which is counted from [`DAY_BEFORE`].
    #[inline(never)]
    fn write_second(&mut self, second: u64) {
        const PER_DAY: u64 = SECONDS_PER_DAY as u64;
        #[expect(clippy::cast_possible_truncation, reason = "u64 ns end after 213,504 days")]
        let (days, of_day) = ((second / PER_DAY) as u32, (second % PER_DAY) as u32);
        let (year, month, day) = civil_from_march_0000(days + DAYS_TO_1970 - DAY_BEFORE);
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

/// The days from 0000-03-01 to 1970-01-01.
const DAYS_TO_1970: u32 = 719_468;

/// Returns year, month (1-12) and day (1-31) of the date `days` after 1970-01-01.
fn civil_from_days(days: u32) -> (u32, u32, u32) {
    civil_from_march_0000(days + DAYS_TO_1970)
}

/// Returns year, month (1-12) and day (1-31) of the date `days` after 0000-03-01.
///
/// The calendar repeats every 400 years, or 146,097 days. In a year that starts on 1 March a leap
/// day is the last day, and the months' lengths follow a line of 153 days in 5 months.
fn civil_from_march_0000(days: u32) -> (u32, u32, u32) {
    const DAYS_PER_ERA: u32 = 146_097;
    let (era, of_era) = (days / DAYS_PER_ERA, days % DAYS_PER_ERA);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = 400 * era + year_of_era + u32::from(month <= 2);
    (year, month, day)
}

#[cfg(all(test, not(tach_same_arithmetic)))]
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
            assert_eq!(Formatter::new().format_digits(UnixTime::from_nanos(ns), 9), text);
        }
    }

    #[test]
    fn every_width_is_rounded_down() {
        let time = UnixTime::from_nanos(1_999_999_999_987_654_321);
        let mut formatter = Formatter::new();
        assert_eq!(formatter.format_digits(time, 9), "2033-05-18T03:33:19.987654321Z");
        assert_eq!(formatter.format_digits(time, 8), "2033-05-18T03:33:19.98765432Z");
        assert_eq!(formatter.format_digits(time, 7), "2033-05-18T03:33:19.9876543Z");
        assert_eq!(formatter.format_digits(time, 6), "2033-05-18T03:33:19.987654Z");
        assert_eq!(formatter.format_digits(time, 5), "2033-05-18T03:33:19.98765Z");
        assert_eq!(formatter.format_digits(time, 4), "2033-05-18T03:33:19.9876Z");
        assert_eq!(formatter.format_digits(time, 3), "2033-05-18T03:33:19.987Z");
        assert_eq!(formatter.format_digits(time, 2), "2033-05-18T03:33:19.98Z");
        assert_eq!(formatter.format_digits(time, 1), "2033-05-18T03:33:19.9Z");
        assert_eq!(formatter.format_digits(time, 0), "2033-05-18T03:33:19Z");
    }

    #[test]
    fn a_precision_is_the_number_of_digits() {
        let time = UnixTime::from_nanos(123_456_789);
        for digits in 0..=12 {
            let shown = digits.min(9);
            let dot = if shown == 0 { "" } else { "." };
            let expected = format!("1970-01-01T00:00:00{dot}{}Z", &"123456789"[..shown]);
            assert_eq!(Formatter::new().format_digits(time, digits), expected);
            assert_eq!(format!("{time:.digits$}"), expected);
        }
    }

    /// There is no second 60, since Unix time has no leap seconds.
    #[test]
    fn a_day_ends_with_its_last_nanosecond() {
        let midnight = UnixTime::from_secs(1_483_228_800).unwrap(); // After the leap second of 2016.
        let last = midnight.saturating_sub(core::time::Duration::from_nanos(1));
        let mut formatter = Formatter::new();
        assert_eq!(formatter.format_digits(last, 9), "2016-12-31T23:59:59.999999999Z");
        assert_eq!(formatter.format_digits(last, 0), "2016-12-31T23:59:59Z");
        assert_eq!(formatter.format_digits(midnight, 9), "2017-01-01T00:00:00.000000000Z");
    }

    #[test]
    fn the_farthest_offsets_have_the_first_and_the_last_times() {
        let (behind, ahead) = (Offset::from_minutes(-1439), Offset::from_minutes(1439));
        let mut formatter = Formatter::new();
        assert_eq!(
            formatter.format_with_offset(UnixTime::EPOCH, 9, behind.unwrap()),
            "1969-12-31T00:01:00.000000000-23:59"
        );
        let last = formatter.format_with_offset(UnixTime::MAX, 9, ahead.unwrap());
        assert_eq!(last, "2554-07-22T23:33:33.709551615+23:59");
        assert_eq!(last.len(), MAX_LEN);
    }

    proptest! {
        #[test]
        fn text_is_jiffs(times: Vec<u64>) {
            let mut formatter = Formatter::new();
            for ns in times {
                let theirs = jiff02::Timestamp::from_nanosecond(i128::from(ns)).unwrap();
                prop_assert_eq!(
                    formatter.format_digits(UnixTime::from_nanos(ns), 9),
                    format!("{theirs:.9}")
                );
            }
        }

        /// One formatter writes UTC and offsets in turn.
        #[test]
        fn text_with_an_offset_is_jiffs(times: Vec<(u64, i32)>) {
            let mut formatter = Formatter::new();
            for (ns, minutes) in times {
                let minutes = minutes % 1440;
                let offset = Offset::from_minutes(minutes).unwrap();
                let timestamp = jiff02::Timestamp::from_nanosecond(i128::from(ns)).unwrap();
                let theirs = jiff02::tz::Offset::from_seconds(minutes * 60).unwrap();
                let theirs = format!("{:.9}", timestamp.display_with_offset(theirs));
                let time = UnixTime::from_nanos(ns);
                prop_assert_eq!(formatter.format_with_offset(time, 9, offset), theirs);
                prop_assert_eq!(formatter.format_digits(time, 9), format!("{timestamp:.9}"));
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
                prop_assert_eq!(kept.format_digits(time, 9), fresh.format_digits(time, 9));
            }
        }
    }
}
