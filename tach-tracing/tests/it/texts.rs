//! The texts of timers, against tracing-subscriber's timers and jiff.

use core::time::Duration;
use std::time::Instant as StdInstant;

use jiff::Timestamp;
use proptest::prelude::*;
use tach_core::Offset;
use tach_core::{Clock as _, ManualClock, UnixTime};
use tach_tracing::{FixedOffset, UnixMillis, UnixNanos, Uptime, Utc};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{self, FormatTime, SystemTime};

use crate::support::parse;

fn text(timer: &impl FormatTime) -> String {
    let mut text = String::new();
    timer.format_time(&mut Writer::new(&mut text)).unwrap();
    text
}

#[test]
fn uptime_equals_theirs_byte_for_byte() {
    for seconds in [0, 1, 59, 9_999, 10_000, 123_456] {
        let Some(start) = StdInstant::now().checked_sub(Duration::from_secs(seconds)) else {
            continue; // The machine started later.
        };
        for _ in 0..100 {
            let theirs = text(&time::Uptime::from(start));
            let (whole, nanos) = theirs.trim().trim_end_matches('s').split_once('.').unwrap();
            let uptime = Duration::new(whole.parse().unwrap(), nanos.parse().unwrap());
            let clock = ManualClock::default();
            let timer = Uptime.with_clock(&clock);
            clock.advance(uptime);
            assert_eq!(text(&timer), theirs);
        }
    }
}

#[test]
fn uptime_since_an_instant_is_the_time_from_there() {
    let start = StdInstant::now();
    let timer = Uptime::since(start);
    let theirs = time::Uptime::from(start);
    let (before, ours, after) = (text(&theirs), text(&timer), text(&theirs));
    let ns = |text: &str| text.replace(['.', 's', ' '], "").parse::<u64>().unwrap();
    assert!(ns(&ours) + 1_000_000 >= ns(&before), "{ours} is before {before}");
    assert!(ns(&ours) <= ns(&after) + 1_000_000, "{ours} is after {after}");
}

#[test]
fn utc_equals_their_system_time_byte_for_byte() {
    for _ in 0..1000 {
        let theirs = text(&SystemTime);
        let clock = ManualClock::new(parse(&theirs));
        assert_eq!(text(&Utc.with_clock(&clock)), theirs);
    }
}

/// Unix time has no leap seconds, so 23:59:60 is never printed.
#[test]
fn midnight_follows_the_last_second_of_a_day() {
    for midnight in ["2017-01-01T00:00:00Z", "2015-07-01T00:00:00Z", "2016-03-01T00:00:00Z"] {
        let clock = ManualClock::new(midnight.parse().unwrap());
        clock.step_back(Duration::from_nanos(1));
        let last = text(&Utc.digits(9).with_clock(&clock));
        assert!(last.ends_with("T23:59:59.999999999Z"), "{last}");
        assert!(text(&Utc.digits(0).with_clock(&clock)).ends_with("T23:59:59Z"), "rounded down");
        clock.advance(Duration::from_nanos(1));
        assert_eq!(text(&Utc.digits(0).with_clock(&clock)), midnight);
    }
}

proptest! {
    #[test]
    fn utc_equals_jiffs(times in prop::collection::vec(any::<u64>(), 1..20)) {
        let clock = ManualClock::default();
        for ns in times {
            clock.set(UnixTime::from_nanos(ns));
            let theirs = Timestamp::from_nanosecond(ns.into()).unwrap();
            prop_assert_eq!(text(&Utc.digits(0).with_clock(&clock)), format!("{theirs:.0}"));
            prop_assert_eq!(text(&Utc.digits(1).with_clock(&clock)), format!("{theirs:.1}"));
            prop_assert_eq!(text(&Utc.digits(2).with_clock(&clock)), format!("{theirs:.2}"));
            prop_assert_eq!(text(&Utc.digits(3).with_clock(&clock)), format!("{theirs:.3}"));
            prop_assert_eq!(text(&Utc.digits(4).with_clock(&clock)), format!("{theirs:.4}"));
            prop_assert_eq!(text(&Utc.digits(5).with_clock(&clock)), format!("{theirs:.5}"));
            prop_assert_eq!(text(&Utc.with_clock(&clock)), format!("{theirs:.6}"));
            prop_assert_eq!(text(&Utc.digits(7).with_clock(&clock)), format!("{theirs:.7}"));
            prop_assert_eq!(text(&Utc.digits(8).with_clock(&clock)), format!("{theirs:.8}"));
            prop_assert_eq!(text(&Utc.digits(9).with_clock(&clock)), format!("{theirs:.9}"));
        }
    }

    #[test]
    fn an_offset_equals_jiffs(ns: u64, minutes in -1439..=1439) {
        let clock = ManualClock::new(UnixTime::from_nanos(ns));
        let offset = Offset::from_minutes(minutes).unwrap();
        let timestamp = Timestamp::from_nanosecond(ns.into()).unwrap();
        let theirs = jiff::tz::Offset::from_seconds(minutes * 60).unwrap();
        let theirs = timestamp.display_with_offset(theirs);
        let ours = text(&FixedOffset::new(offset).digits(0).with_clock(&clock));
        prop_assert_eq!(ours, format!("{theirs:.0}"));
        let ours = text(&FixedOffset::new(offset).with_clock(&clock));
        prop_assert_eq!(ours, format!("{theirs:.6}"));
    }

    #[test]
    fn numbers_equal_jiffs(ns: u64) {
        let clock = ManualClock::new(UnixTime::from_nanos(ns));
        let theirs = Timestamp::from_nanosecond(ns.into()).unwrap();
        let ours = [
            text(&UnixMillis.with_clock(&clock)),
            text(&UnixNanos.with_clock(&clock)),
        ];
        prop_assert_eq!(ours, [
            theirs.as_millisecond().to_string(),
            theirs.as_nanosecond().to_string(),
        ]);
    }

    #[test]
    fn uptime_has_their_format(ns: u64) {
        let clock = ManualClock::default();
        let timer = Uptime.with_clock(&clock);
        let start = clock.now();
        clock.advance(Duration::from_nanos(ns));
        let uptime = clock.elapsed(start);
        let theirs = format!("{:4}.{:09}s", uptime.as_secs(), uptime.subsec_nanos());
        prop_assert_eq!(text(&timer), theirs);
    }
}

#[cfg(feature = "jiff")]
mod with_jiff {
    use jiff::tz::TimeZone;
    use tach_tracing::Local;

    use super::*;

    proptest! {
        #[test]
        fn local_time_equals_jiffs(ns: u64) {
            let clock = ManualClock::new(UnixTime::from_nanos(ns));
            let timestamp = Timestamp::from_nanosecond(ns.into()).unwrap();
            let theirs = timestamp.display_with_offset(TimeZone::system().to_offset(timestamp));
            let theirs = format!("{theirs:.6}");
            prop_assert_eq!(text(&Local.with_clock(&clock)), theirs);
        }
    }
}
