//! The zone whose days and hours a rotation follows.

use core::time::Duration;

use tach_core::{Offset, UnixTime};

use super::DAY;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zone {
    Utc,
    /// The system's.
    Local,
}

impl Zone {
    /// Returns the offset at `time`, or `None` for UTC.
    pub(crate) fn offset_at(self, time: UnixTime) -> Option<Offset> {
        match self {
            Self::Utc => None,
            Self::Local => Some(tach_core::adapter::local_time::offset_at(time)),
        }
    }

    /// Returns whether the day or the hour of `written` has ended by `now`.
    pub(crate) fn has_ended(self, period: Duration, written: UnixTime, now: UnixTime) -> bool {
        let with_offset = |time| (time, self.offset_at(time).unwrap_or(Offset::UTC));
        has_ended(period, with_offset(written), with_offset(now))
    }
}

fn has_ended(period: Duration, written: (UnixTime, Offset), now: (UnixTime, Offset)) -> bool {
    let number = |(time, offset): (UnixTime, Offset)| {
        let local = i128::from(time.as_secs()) + i128::from(offset.as_minutes()) * 60;
        local.div_euclid(i128::from(period.as_secs()))
    };
    // At the end of summer time, an hour is followed by another hour of the same number. Only the
    // offset tells them apart.
    let is_repeated = period < DAY && written.1 != now.1;
    // The clock may have been set back.
    now.0 > written.0 && (number(now) > number(written) || is_repeated)
}

#[cfg(test)]
mod tests {
    use super::super::HOUR;
    use super::*;

    #[test]
    fn days_and_hours_end_by_local_time() {
        let cases = [
            // Berlin: midnight is at 23:00 UTC in winter.
            (DAY, "2026-11-26T23:59:59+01:00", "2026-11-27T00:00:00+01:00", true),
            (DAY, "2026-11-27T00:00:00+01:00", "2026-11-27T01:00:00+01:00", false),
            // The days of the two transitions have 23 and 25 hours.
            (DAY, "2026-03-29T00:00:00+01:00", "2026-03-29T23:59:59+02:00", false),
            (DAY, "2026-03-29T23:59:59+02:00", "2026-03-30T00:00:00+02:00", true),
            (DAY, "2026-10-25T00:00:00+02:00", "2026-10-25T23:59:59+01:00", false),
            (DAY, "2026-10-25T23:59:59+01:00", "2026-10-26T00:00:00+01:00", true),
            // Havana: at 01:00 the clock shows 00:00 again, on the same day.
            (DAY, "2026-11-01T00:59:59-04:00", "2026-11-01T00:00:00-05:00", false),
            (DAY, "2026-10-31T23:59:59-04:00", "2026-11-01T00:00:00-04:00", true),
            // Before 1970 in local time.
            (DAY, "1969-12-31T23:59:59-05:00", "1970-01-01T00:00:00-05:00", true),
            (HOUR, "2026-11-26T12:00:00+05:30", "2026-11-26T12:59:59+05:30", false),
            (HOUR, "2026-11-26T12:59:59+05:30", "2026-11-26T13:00:00+05:30", true),
            // At the beginning of summer time an hour is left out. At its end an hour is repeated.
            (HOUR, "2026-03-29T01:59:59+01:00", "2026-03-29T03:00:00+02:00", true),
            (HOUR, "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", true),
            (HOUR, "2026-10-25T02:00:00+01:00", "2026-10-25T02:59:59+01:00", false),
            // Lord Howe: half an hour is repeated.
            (HOUR, "2026-04-05T01:59:59+11:00", "2026-04-05T01:30:00+10:30", true),
            // The clock was set back.
            (HOUR, "2026-10-25T02:30:00+01:00", "2026-10-25T02:30:00+02:00", false),
            (DAY, "2026-11-27T00:00:00+01:00", "2026-11-26T23:59:59+01:00", false),
        ];
        for (period, written, now, expected) in cases {
            let parse = |text: &str| (text.parse().unwrap(), text[19..].parse().unwrap());
            assert_eq!(has_ended(period, parse(written), parse(now)), expected, "{written} {now}");
        }
    }
}
