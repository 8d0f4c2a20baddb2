//! Points in time, and the time until them.

use core::time::Duration;

use tach_core::UnixTime;

/// Parses a time. A time before 1970 becomes 1970, and one beyond `UnixTime` the latest.
pub(super) fn rfc3339(value: &[u8]) -> Option<UnixTime> {
    match core::str::from_utf8(value).ok()?.parse() {
        Ok(time) => Some(time),
        // Years before 1970 begin with 0 or 1, and years beyond `UnixTime` with 2 or more.
        Err(error) if error.is_out_of_range() => match value.first() {
            Some(b'0' | b'1') => Some(UnixTime::EPOCH),
            _ => Some(UnixTime::MAX),
        },
        Err(_) => None,
    }
}

/// Returns the time from `now` to `end`; zero if it has passed.
pub(super) fn until(end: UnixTime, now: UnixTime) -> Duration {
    since_epoch(Duration::from_nanos(end.as_nanos()), now)
}

/// Returns the time from `now` to a point in time that is counted from 1970.
pub(super) fn since_epoch(end: Duration, now: UnixTime) -> Duration {
    end.saturating_sub(Duration::from_nanos(now.as_nanos()))
}

/// Returns the point in time at which the time `left` ends, counted from 1970.
pub(super) fn end(left: Duration, now: UnixTime) -> Duration {
    Duration::from_nanos(now.as_nanos()).saturating_add(left)
}

pub(super) fn write_rfc3339(left: Duration, now: UnixTime) -> String {
    let end_ns = u64::try_from(end(left, now).as_nanos()).unwrap_or(u64::MAX);
    format!("{:.3}", UnixTime::from_nanos(end_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Syntax;

    #[test]
    fn known_times() {
        let now = UnixTime::EPOCH + Duration::from_millis(1_500);
        let cases = [
            (Syntax::Rfc3339, "1970-01-01T00:00:02Z", Some(500)),
            (Syntax::Rfc3339, "1970-01-01T01:00:02.25+01:00", Some(750)),
            (Syntax::Rfc3339, "1970-01-01T00:00:01Z", Some(0)),
            (Syntax::Rfc3339, "1969-12-31T23:59:59Z", Some(0)),
            (Syntax::Rfc3339, "1970-01-01T00:59:59+01:00", Some(0)),
            (Syntax::Rfc3339, "0000-01-01T00:00:00Z", Some(0)),
            (Syntax::Rfc3339, "1970-01-01T00:00:02+24:00", None),
            (Syntax::Rfc3339, "1969-12-32T00:00:00Z", None),
            (Syntax::Rfc3339, "Thu, 01 Jan 1970 00:00:02 GMT", None),
            (Syntax::Rfc3339, "2", None),
            (Syntax::UnixSeconds, "2", Some(500)),
            (Syntax::UnixSeconds, "1.75", Some(250)),
            (Syntax::UnixSeconds, "0", Some(0)),
            (Syntax::UnixMillis, "1501", Some(1)),
            (Syntax::UnixMillis, "1500", Some(0)),
            (Syntax::UnixMillis, "1501.5", None),
        ];
        for (syntax, value, left_ms) in cases {
            let expected = left_ms.map(Duration::from_millis);
            assert_eq!(syntax.parse(value.as_bytes(), now), expected, "{value:?}");
        }
    }

    #[test]
    fn a_time_that_is_too_late_is_the_latest() {
        let left = UnixTime::MAX.checked_duration_since(UnixTime::EPOCH);
        for value in
            ["2554-07-21T23:34:33.709551615Z", "2554-07-22T00:00:00Z", "9999-12-31T23:59:59Z"]
        {
            assert_eq!(Syntax::Rfc3339.parse(value.as_bytes(), UnixTime::EPOCH), left, "{value}");
        }
    }

    #[test]
    fn the_end_is_written() {
        let (left, now) =
            (Duration::from_micros(750_999), UnixTime::EPOCH + Duration::from_millis(1_500));
        let cases = [
            (Syntax::Rfc3339, "1970-01-01T00:00:02.250Z"),
            (Syntax::UnixSeconds, "2.25"),
            (Syntax::UnixMillis, "2250"),
        ];
        for (syntax, expected) in cases {
            assert_eq!(syntax.write(left, now), expected);
        }
    }
}
