//! gRPC's syntax (`PROTOCOL-HTTP2.md`): one to eight digits and a unit.

use core::time::Duration;

/// The most digits that gRPC allows. As hours, they still fit into a `Duration`.
const MAX_DIGITS: usize = 8;
const MAX_COUNT: u128 = 99_999_999;

pub(super) fn parse(value: &[u8]) -> Option<Duration> {
    let (unit, digits) = value.split_last()?;
    if digits.is_empty() || digits.len() > MAX_DIGITS || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let count = digits.iter().fold(0, |count, digit| count * 10 + u64::from(digit - b'0'));
    match unit {
        b'H' => Some(Duration::from_secs(count * 3600)),
        b'M' => Some(Duration::from_secs(count * 60)),
        b'S' => Some(Duration::from_secs(count)),
        b'm' => Some(Duration::from_millis(count)),
        b'u' => Some(Duration::from_micros(count)),
        b'n' => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

/// Writes the finest unit whose count has at most eight digits.
pub(super) fn write(left: Duration) -> String {
    let ns = left.as_nanos();
    let units = [
        (1, 'n'),
        (1_000, 'u'),
        (1_000_000, 'm'),
        (1_000_000_000, 'S'),
        (60_000_000_000, 'M'),
        (3_600_000_000_000, 'H'),
    ];
    let fitting = units.into_iter().find(|&(unit_ns, _)| ns / unit_ns <= MAX_COUNT);
    let (count, unit) = fitting.map_or((MAX_COUNT, 'H'), |(unit_ns, unit)| (ns / unit_ns, unit));
    format!("{count}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Syntax;

    #[test]
    fn known_values() {
        let cases = [
            ("1H", Some(Duration::from_secs(3_600))),
            ("2M", Some(Duration::from_secs(120))),
            ("3S", Some(Duration::from_secs(3))),
            ("4m", Some(Duration::from_millis(4))),
            ("5u", Some(Duration::from_micros(5))),
            ("6n", Some(Duration::from_nanos(6))),
            ("0S", Some(Duration::ZERO)),
            ("007m", Some(Duration::from_millis(7))),
            ("99999999H", Some(Duration::from_secs(359_999_996_400))),
            ("000000001S", None),
            ("", None),
            ("S", None),
            ("5", None),
            ("5s", None),
            ("-5S", None),
            ("+5S", None),
            (" 5S", None),
            ("5S ", None),
            ("5 S", None),
            ("1.5S", None),
        ];
        for (value, expected) in cases {
            assert_eq!(parse(value.as_bytes()), expected, "{value:?}");
        }
    }

    #[test]
    fn the_finest_unit_is_written() {
        let cases = [
            (Duration::ZERO, "0n"),
            (Duration::from_nanos(99_999_999), "99999999n"),
            (Duration::from_nanos(100_000_999), "100000u"),
            (Duration::from_secs(100), "100000m"),
            (Duration::from_secs(100_000), "100000S"),
            (Duration::from_secs(100_000_000), "1666666M"),
            (Duration::from_secs(6_000_000_000), "1666666H"),
            (Duration::MAX, "99999999H"),
        ];
        for (left, expected) in cases {
            assert_eq!(Syntax::Grpc.write(left), expected, "{left:?}");
        }
    }
}
