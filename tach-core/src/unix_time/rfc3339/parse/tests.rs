//! Compares the parser with tables, with this crate's formatter, and with jiff.

use proptest::prelude::*;

use super::*;

fn error(text: &str) -> Error {
    text.parse::<UnixTime>().expect_err(text)
}

#[test]
fn good_texts() {
    let cases = [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01t00:00:00.1z", 100_000_000),
        ("1970-01-01T00:00:00.012345Z", 12_345_000),
        ("1970-01-01T00:00:00.123456789Z", 123_456_789),
        // A space instead of the `T`, with each kind of zone.
        ("1970-01-01 00:00:01Z", 1_000_000_000),
        ("1970-01-01 00:00:01.5z", 1_500_000_000),
        ("1970-01-01 05:45:01.5+05:45", 1_500_000_000),
        // Digits after the ninth are cut, not rounded, even if the next second would be nearer.
        ("1970-01-01T00:00:00.0000000000Z", 0),
        ("1970-01-01T00:00:00.0000000019Z", 1),
        ("1970-01-01T00:00:00.1234567899999Z", 123_456_789),
        ("1970-01-01T00:00:00.99999999999999999999999999999999Z", 999_999_999),
        ("1970-01-01t01:00:00.500000000999+01:00", 500_000_000),
        ("2016-12-31 23:59:60.9999999999Z", 1_483_228_800_000_000_000),
        // Offsets, into the day before and after, and the unknown offset, `-00:00`.
        ("1970-01-01T00:00:00+00:00", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1969-12-31T00:01:00-23:59", 0),
        ("1970-01-01T23:59:00+23:59", 0),
        ("1970-01-01T05:45:01.5+05:45", 1_500_000_000),
        ("1969-12-31T21:30:00-02:30", 0),
        // The ends of months in leap years and others.
        ("2000-02-29T00:00:00Z", 951_782_400_000_000_000),
        ("2024-02-29T23:59:59Z", 1_709_251_199_000_000_000),
        ("2100-02-28T23:59:59Z", 4_107_542_399_000_000_000),
        ("2100-03-01T00:00:00Z", 4_107_542_400_000_000_000),
        ("2026-04-30T12:00:00Z", 1_777_550_400_000_000_000),
        // Leap seconds: the one of 1990 with three offsets, one in June, and one with a fraction.
        ("1990-12-31T23:59:60Z", 662_688_000_000_000_000),
        ("1990-12-31T15:59:60-08:00", 662_688_000_000_000_000),
        ("1991-01-01T05:29:60+05:30", 662_688_000_000_000_000),
        ("2015-06-30T23:59:60Z", 1_435_708_800_000_000_000),
        ("2016-12-31T23:59:60.25Z", 1_483_228_800_000_000_000),
        ("1969-12-31T23:59:60Z", 0),
        // The last representable time: as it is, with a digit that is cut, and with an offset.
        ("2554-07-21T23:34:33.709551615Z", u64::MAX),
        ("2554-07-21T23:34:33.7095516159Z", u64::MAX),
        ("2554-07-22T23:33:33.709551615+23:59", u64::MAX),
    ];
    for (text, ns) in cases {
        assert_eq!(text.parse(), Ok(UnixTime::from_nanos(ns)), "{text}");
    }
}

#[test]
fn bad_texts() {
    let cases = [
        ("", 0, "the text ends at byte 0, where a digit is expected"),
        ("1970", 4, "the text ends at byte 4, where \"-\" is expected"),
        ("1970-01-01", 10, "the text ends at byte 10, where \"T\" or a space is expected"),
        ("1970-01-01T0", 12, "the text ends at byte 12, where a digit is expected"),
        ("1970-01-01T00:00", 16, "the text ends at byte 16, where \":\" is expected"),
        (
            "1970-01-01T00:00:00",
            19,
            "the text ends at byte 19, where \".\", \"Z\" or an offset is expected",
        ),
        ("1970-01-01T00:00:00.", 20, "the text ends at byte 20, where a digit is expected"),
        (
            "1970-01-01T00:00:00.5",
            21,
            "the text ends at byte 21, where \"Z\" or an offset is expected",
        ),
        ("1970-01-01T00:00:00+", 20, "the text ends at byte 20, where a digit is expected"),
        ("1970-01-01T00:00:00-01", 22, "the text ends at byte 22, where \":\" is expected"),
        ("1970-01-01T00:00:00-01:0", 24, "the text ends at byte 24, where a digit is expected"),
        ("+1970-01-01T00:00:00Z", 0, "expected a digit at byte 0"),
        ("19700-01-01T00:00:00Z", 4, "expected \"-\" at byte 4"),
        ("1970-1-01T00:00:00Z", 6, "expected a digit at byte 6"),
        ("1970-01/01T00:00:00Z", 7, "expected \"-\" at byte 7"),
        ("1970-01-01_00:00:00Z", 10, "expected \"T\" or a space at byte 10"),
        ("1970-01-01\t00:00:00Z", 10, "expected \"T\" or a space at byte 10"),
        ("1970-01-0100:00:00Z", 10, "expected \"T\" or a space at byte 10"),
        ("1970-01-01  00:00:00Z", 11, "expected a digit at byte 11"),
        ("1970-01-01 T00:00:00Z", 11, "expected a digit at byte 11"),
        ("1970-01-01 00:00:00 Z", 19, "expected \".\", \"Z\" or an offset at byte 19"),
        ("1970-01-01T0é:00:00Z", 12, "expected a digit at byte 12"),
        ("1970-01-01T00-00:00Z", 13, "expected \":\" at byte 13"),
        ("1970-01-01T00:00Z", 16, "expected \":\" at byte 16"),
        ("1970-01-01T00:00:00,5Z", 19, "expected \".\", \"Z\" or an offset at byte 19"),
        ("1970-01-01T00:00:00 Z", 19, "expected \".\", \"Z\" or an offset at byte 19"),
        ("1970-01-01T00:00:00.Z", 20, "expected a digit at byte 20"),
        ("1970-01-01T00:00:00.5x", 21, "expected \"Z\" or an offset at byte 21"),
        ("1970-01-01T00:00:00+0100", 22, "expected \":\" at byte 22"),
        ("1970-01-01T00:00:00Z ", 20, "expected the end of the text at byte 20"),
        ("1970-01-01T00:00:00+01:00Z", 25, "expected the end of the text at byte 25"),
        ("1970-01-01T00:00:00.0000000000x", 30, "expected \"Z\" or an offset at byte 30"),
        (
            "1970-01-01T00:00:00.00000000000",
            31,
            "the text ends at byte 31, where \"Z\" or an offset is expected",
        ),
        ("1970-00-01T00:00:00Z", 5, "the month at byte 5 is 00, but must be from 01 to 12"),
        ("1970-13-01T00:00:00Z", 5, "the month at byte 5 is 13, but must be from 01 to 12"),
        (
            "2026-04-00T00:00:00Z",
            8,
            "the day at byte 8 is 00, but must be from 01 to 30 in 2026-04",
        ),
        (
            "2026-04-31T00:00:00Z",
            8,
            "the day at byte 8 is 31, but must be from 01 to 30 in 2026-04",
        ),
        (
            "2100-02-29T00:00:00Z",
            8,
            "the day at byte 8 is 29, but must be from 01 to 28 in 2100-02",
        ),
        (
            "0004-02-30T00:00:00Z",
            8,
            "the day at byte 8 is 30, but must be from 01 to 29 in 0004-02",
        ),
        ("1970-01-01T24:00:00Z", 11, "the hour at byte 11 is 24, but must be from 00 to 23"),
        ("1970-01-01T00:60:00Z", 14, "the minute at byte 14 is 60, but must be from 00 to 59"),
        ("1970-01-01T00:00:61Z", 17, "the second at byte 17 is 61, but must be from 00 to 60"),
        (
            "1970-01-01T00:00:00+24:00",
            20,
            "the offset's hour at byte 20 is 24, but must be from 00 to 23",
        ),
        (
            "1970-01-01T00:00:00.5-00:60",
            25,
            "the offset's minute at byte 25 is 60, but must be from 00 to 59",
        ),
    ];
    for (text, position, message) in cases {
        let error = error(text);
        assert_eq!(error.to_string(), message, "{text}");
        assert_eq!(error.position(), Some(position), "{text}");
    }
}

#[test]
fn a_second_60_is_a_leap_second_or_an_error() {
    let texts = [
        "2016-12-31T23:58:60Z",
        "2016-12-31T22:59:60Z",
        "2016-12-30T23:59:60Z",
        "2016-07-31T23:59:60Z",
        "2016-03-31T23:59:60Z",
        "2016-12-31T23:59:60+01:00",
        "2017-01-01T00:59:60-01:00",
    ];
    for text in texts {
        let error = error(text);
        assert_eq!(
            error.to_string(),
            "the second at byte 17 is 60, \
             but a leap second is at 23:59:60 UTC on 30 June or 31 December",
            "{text}"
        );
        assert_eq!(error.position(), Some(17), "{text}");
    }
}

#[test]
fn a_leap_second_comes_between_its_neighbours() {
    let times = [
        "1998-12-31T23:59:59.9Z",
        "1998-12-31T23:59:60Z",
        "1998-12-31T23:59:60.9Z",
        "1999-01-01T00:00:00Z",
        "1999-01-01T00:00:00.1Z",
    ];
    assert!(times.map(|text| text.parse::<UnixTime>().unwrap()).is_sorted());
}

#[test]
fn a_leap_second_ends_each_june_and_december_and_no_other_month_or_day() {
    const PER_DAY: u64 = SECONDS_PER_DAY as u64;
    let last_day = UnixTime::MAX.as_secs() / PER_DAY;
    // The first three decades, the years around 2100, which is no leap year, and the last three.
    let days = (1..11_000).chain(44_000..51_000).chain(last_day - 11_000..=last_day);
    for midnight in days.map(|day| day * PER_DAY) {
        let last_second = UnixTime::from_secs(midnight - 1).unwrap();
        let text = format!("{last_second:.0}").replace(":59Z", ":60Z");
        let may_be = text.contains("-06-30T") || text.contains("-12-31T");
        let expected = UnixTime::from_secs(midnight).filter(|_| may_be);
        assert_eq!(text.parse().ok(), expected, "{text}");
    }
}

#[test]
fn times_out_of_range_are_errors() {
    let early = [
        "0000-01-01T00:00:00+23:59",
        "1969-12-31T23:59:59.999999999Z",
        "1969-12-31T23:59:59.9999999999Z",
        "1970-01-01T00:00:59+00:01",
    ];
    for text in early {
        assert_eq!(error(text), Error::BEFORE_EPOCH, "{text}");
    }
    let late = [
        "2554-07-21T23:34:33.709551616Z",
        "2554-07-21 23:34:33.7095516160Z",
        "2554-07-21T23:34:34Z",
        "2554-07-21T23:34:33-00:01",
        "9999-12-31T23:59:60Z",
        "9999-12-31T23:59:59-23:59",
    ];
    for text in late {
        assert_eq!(error(text), Error::AFTER_MAX, "{text}");
    }
}

#[test]
fn every_day_is_numbered_as_it_is_written() {
    let last = UnixTime::MAX.as_secs() / u64::from(SECONDS_PER_DAY);
    for days in 0..=u32::try_from(last).unwrap() {
        let (year, month, day) = civil_from_days(days);
        let [year, month, day] = [year, month, day].map(|field| u16::try_from(field).unwrap());
        assert_eq!(days_from_civil(year, month, day), i64::from(days), "{year}-{month}-{day}");
    }
}

/// Returns whether the text has RFC 3339's form. Jiff reads other forms as well.
fn is_strict(text: &[u8]) -> bool {
    let has_form = |text: &[u8], form: &[u8]| {
        text.len() == form.len()
            && text.iter().zip(form).all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                _ => byte.eq_ignore_ascii_case(form),
            })
    };
    let (Some((date, rest)), Some(second)) = (text.split_at_checked(10), text.get(11..19)) else {
        return false;
    };
    let (separator, rest) = (rest[0], &rest[9..]);
    let (fraction, zone) = match rest.split_first() {
        Some((b'.', rest)) => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            (digits, &rest[digits..])
        }
        _ => (1, rest),
    };
    let zone_is_strict = match zone {
        [b'+' | b'-', offset @ ..] => has_form(offset, b"00:00") && offset[..2] <= b"23"[..],
        _ => has_form(zone, b"Z"),
    };
    has_form(date, b"0000-00-00")
        && b"Tt ".contains(&separator)
        && has_form(second, b"00:00:00")
        && fraction > 0
        && zone_is_strict
}

/// Returns the text without the fraction's digits after the ninth, which jiff refuses.
fn cut(text: &str) -> String {
    let Some((second, rest)) = text.split_once('.') else { return text.into() };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    format!("{second}.{}{}", &rest[..digits.min(9)], &rest[digits..])
}

/// Returns jiff's reading as a Unix time, or the error if it is out of range. Not for a second 60,
/// which jiff takes as 59 of any minute.
fn jiffs(text: &str) -> Option<Result<UnixTime, Error>> {
    let timestamp: jiff02::Timestamp = cut(text).parse().ok()?;
    let ns = timestamp.as_nanosecond();
    let time = u64::try_from(ns).map(UnixTime::from_nanos);
    Some(time.map_err(|_| if ns < 0 { Error::BEFORE_EPOCH } else { Error::AFTER_MAX }))
}

/// Returns this crate's reading, if the text is well formed.
fn ours(text: &str) -> Option<Result<UnixTime, Error>> {
    match text.parse() {
        Ok(time) => Some(Ok(time)),
        Err(error) if error.is_out_of_range() => Some(Err(error)),
        Err(_) => None,
    }
}

/// Generates well-formed texts of the years 1965 to 2559. Some are out of range, and some have a
/// day that their month does not have.
fn texts() -> impl Strategy<Value = String> {
    let date = (1965..2560_u32, 1..=12_u32, 1..=31_u32)
        .prop_map(|(year, month, day)| format!("{year:04}-{month:02}-{day:02}"));
    let time = (0..24_u32, 0..60_u32, 0..60_u32)
        .prop_map(|(hour, minute, second)| format!("{hour:02}:{minute:02}:{second:02}"));
    let fraction = prop_oneof![Just(String::new()), "\\.[0-9]{1,9}", "\\.[0-9]{10,40}"];
    let zone = prop_oneof!["[Zz]", "[+-]([01][0-9]|2[0-3]):[0-5][0-9]"];
    (date, "[Tt ]", time, fraction, zone).prop_map(|(date, separator, time, fraction, zone)| {
        format!("{date}{separator}{time}{fraction}{zone}")
    })
}

proptest! {
    #[test]
    fn unix_times_are_read_as_they_are_written(ns: u64) {
        let time = UnixTime::from_nanos(ns);
        prop_assert_eq!(time.to_string().parse(), Ok(time));
    }

    #[test]
    fn texts_are_read_as_jiff_reads_them(text in texts()) {
        prop_assert!(is_strict(text.as_bytes()));
        prop_assert_eq!(ours(&text), jiffs(&text));
    }

    #[test]
    fn a_changed_text_is_read_as_jiff_reads_it_or_not_at_all(
        text in texts(),
        place: prop::sample::Index,
        byte in prop_oneof![any::<u8>(), prop::sample::select(&b"0123456789-+:.,TtZz 6"[..])],
    ) {
        let mut text = text.into_bytes();
        let place = place.index(text.len());
        text[place] = byte;
        let read = parse(&text);
        if !is_strict(&text) {
            let error = read.expect_err("the form is not strict");
            prop_assert!(error.position().is_some());
        } else if &text[17..19] != b"60" {
            let text = core::str::from_utf8(&text).unwrap();
            prop_assert_eq!(ours(text), jiffs(text));
        }
    }

    #[test]
    fn any_text_is_read_or_an_error_within_it(text: String) {
        if let Err(error) = text.parse::<UnixTime>() {
            let position = error.position();
            prop_assert!(error.is_out_of_range() || text.is_char_boundary(position.unwrap()));
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn any_bytes_are_read_or_an_error_within_them(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Err(error) = parse(&bytes) {
            prop_assert!(error.is_out_of_range() || error.position().unwrap() <= bytes.len());
        }
    }

    #[test]
    fn a_text_that_is_cut_off_ends_too_early(ns: u64, len: prop::sample::Index) {
        let text = UnixTime::from_nanos(ns).to_string();
        let len = len.index(text.len());
        let error = error(&text[..len]);
        prop_assert_eq!(error.position(), Some(len));
        let start = format!("the text ends at byte {len}, where ");
        prop_assert!(error.to_string().starts_with(&start), "{}", error);
    }
}
