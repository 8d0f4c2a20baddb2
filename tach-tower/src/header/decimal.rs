//! Decimal numbers: whole milliseconds, and seconds with or without a fraction.

use core::time::Duration;

/// Digits of a second that a `Duration` keeps.
const NS_DIGITS: usize = 9;

pub(super) fn millis(value: &[u8]) -> Option<Duration> {
    whole(value).map(Duration::from_millis)
}

/// Parses digits, with or without a fraction. Both sides of the point need a digit.
pub(super) fn seconds(value: &[u8]) -> Option<Duration> {
    let mut parts = value.splitn(2, |&byte| byte == b'.');
    let seconds = whole(parts.next()?)?;
    let ns = parts.next().map_or(Some(0), fraction_ns)?;
    Some(Duration::new(seconds, ns))
}

/// Parses one digit or more. A number beyond `u64` becomes the largest.
fn whole(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0_u64, |count, digit| {
        count.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
    }))
}

fn fraction_ns(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let padded = digits.iter().copied().chain(core::iter::repeat(b'0')).take(NS_DIGITS);
    Some(padded.fold(0, |ns, digit| ns * 10 + u32::from(digit - b'0')))
}

pub(super) fn write_millis(left: Duration) -> String {
    u64::try_from(left.as_millis()).unwrap_or(u64::MAX).to_string()
}

/// Writes milliseconds, without zeros at the end of the fraction.
pub(super) fn write_seconds(left: Duration) -> String {
    let text = format!("{}.{:03}", left.as_secs(), left.subsec_millis());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Syntax;

    #[test]
    fn known_milliseconds() {
        let cases = [
            ("0", Some(Duration::ZERO)),
            ("250", Some(Duration::from_millis(250))),
            ("000000000000000000000000000007", Some(Duration::from_millis(7))),
            ("18446744073709551615", Some(Duration::from_millis(u64::MAX))),
            ("18446744073709551616", Some(Duration::from_millis(u64::MAX))),
            ("99999999999999999999999", Some(Duration::from_millis(u64::MAX))),
            ("1.5", None),
            ("1ms", None),
            ("1m", None),
        ];
        for (value, expected) in cases {
            assert_eq!(millis(value.as_bytes()), expected, "{value:?}");
        }
    }

    #[test]
    fn known_seconds() {
        let cases = [
            ("30", Some(Duration::from_secs(30))),
            ("0.25", Some(Duration::from_millis(250))),
            ("00.250", Some(Duration::from_millis(250))),
            ("1.000000001", Some(Duration::new(1, 1))),
            ("1.0000000019", Some(Duration::new(1, 1))),
            ("18446744073709551616.999999999", Some(Duration::MAX)),
            ("1.", None),
            (".5", None),
            ("1.5.", None),
            ("1.5s", None),
            ("1,5", None),
            ("1.-5", None),
        ];
        for (value, expected) in cases {
            assert_eq!(seconds(value.as_bytes()), expected, "{value:?}");
        }
    }

    #[test]
    fn fractions_are_written_short() {
        let cases = [
            (Duration::from_secs(30), "30"),
            (Duration::from_millis(1_500), "1.5"),
            (Duration::from_millis(1_050), "1.05"),
            (Duration::from_millis(1_005), "1.005"),
            (Duration::from_micros(1_999), "0.001"),
            (Duration::from_micros(999), "0"),
            (Duration::MAX, "18446744073709551615.999"),
        ];
        for (left, expected) in cases {
            assert_eq!(Syntax::Seconds.write(left), expected, "{left:?}");
        }
        assert_eq!(Syntax::Millis.write(Duration::MAX), "18446744073709551615");
    }
}
