//! A request's timeout header, in gRPC's syntax.

use core::time::Duration;

use http::HeaderName;

/// The header with the timeout of a gRPC request.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{BudgetLayer, GRPC_TIMEOUT};
///
/// let layer = BudgetLayer::new(Duration::from_secs(30)).with_header(GRPC_TIMEOUT);
/// ```
pub const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// The most digits that gRPC allows. So many hours fit into a `Duration`.
const MAX_DIGITS: usize = 8;

/// Parses a header's value: one to eight digits and a unit (gRPC's `PROTOCOL-HTTP2.md`).
///
/// gRPC demands a positive integer. Zero is accepted too: no time is left.
pub(crate) fn parse(value: &[u8]) -> Option<Duration> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
