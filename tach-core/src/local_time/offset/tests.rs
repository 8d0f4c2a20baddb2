//! Offsets, against jiff's.

use proptest::prelude::*;

use super::*;
use crate::adapter;

/// Summer time from the last Sunday of March to the last one of October, at 01:00 UTC.
fn berlin() -> TimeZone {
    TimeZone::get("Europe/Berlin").unwrap()
}

fn at(text: &str) -> UnixTime {
    text.parse().unwrap()
}

fn printed<const N: usize>(zone: &TimeZone, times: [&str; N]) -> [String; N] {
    times.map(|time| {
        adapter::rfc3339::with_offset_text(at(time), 9, offset_in(zone, at(time)), str::to_owned)
    })
}

#[test]
fn summer_time_begins_to_the_second_and_is_taken_back() {
    let times = ["2026-03-29T00:59:59.999999999Z", "2026-03-29T01:00:00Z", "2026-03-29T00:59:59Z"];
    assert_eq!(
        printed(&berlin(), times),
        [
            "2026-03-29T01:59:59.999999999+01:00",
            "2026-03-29T03:00:00.000000000+02:00",
            "2026-03-29T01:59:59.000000000+01:00",
        ]
    );
}

#[test]
fn summer_time_ends_to_the_second() {
    let times = ["2026-10-25T00:59:59.999999999Z", "2026-10-25T01:00:00Z"];
    assert_eq!(
        printed(&berlin(), times),
        ["2026-10-25T02:59:59.999999999+02:00", "2026-10-25T02:00:00.000000000+01:00"]
    );
}

/// Liberia went from -00:44:30 to UTC at 1972-01-07 00:44:30 UTC: in the middle of a minute.
#[test]
fn a_transition_within_a_minute_is_honoured() {
    let zone = TimeZone::get("Africa/Monrovia").unwrap();
    let times = ["1972-01-07T00:44:29Z", "1972-01-07T00:44:30Z", "1972-01-07T00:44:29Z"];
    assert_eq!(
        printed(&zone, times),
        [
            "1972-01-07T00:00:29.000000000-00:44",
            "1972-01-07T00:44:30.000000000+00:00",
            "1972-01-07T00:00:29.000000000-00:44",
        ]
    );
}

/// POSIX allows an offset of a day, RFC 3339 does not.
#[test]
fn an_offset_of_a_day_is_printed_as_utc() {
    let zone = TimeZone::posix("FAR-24:30").unwrap();
    assert_eq!(zone.to_offset(Timestamp::UNIX_EPOCH).seconds(), 24 * 3600 + 1800);
    assert_eq!(printed(&zone, ["1970-01-02T00:00:00Z"]), ["1970-01-02T00:00:00.000000000+00:00"]);
}

#[test]
fn an_unknown_zone_is_utc() {
    let zone = TimeZone::unknown();
    assert_eq!(printed(&zone, ["1970-01-02T00:00:00Z"]), ["1970-01-02T00:00:00.000000000+00:00"]);
}

/// jiff may log its search for the zone, and this thread's timers print the time of that line.
#[test]
fn lines_during_the_search_have_the_previous_zone_and_later_lines_the_new_one() {
    let offset = |time: &str| offset_at(at(time)).as_minutes();
    let search = |time, zone: &str| {
        zone::find_with(at(time), || {
            let within = offset(time);
            assert_eq!(offset("2040-01-01T00:00:00Z"), within);
            assert_eq!(
                zone::zone_at(at(time)).to_offset(Timestamp::UNIX_EPOCH).seconds(),
                within * 60
            );
            TimeZone::get(zone).unwrap()
        });
        offset(time)
    };
    assert_eq!(search("2026-11-21T09:30:30Z", "Asia/Kolkata"), 330);
    assert_eq!(search("2026-11-21T09:31:30Z", "Africa/Lagos"), 60);
}

#[test]
fn timers_share_the_zone_that_was_found_for_the_minute() {
    let mut searches = 0;
    for time in ["2026-11-21T09:30:00Z", "2026-11-21T09:30:59.9Z", "2026-11-21T09:31:00Z"] {
        zone::find_with(at(time), || {
            searches += 1;
            TimeZone::unknown()
        });
    }
    assert_eq!(searches, 2);
}

fn zones() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "Europe/Berlin",
        "America/New_York",
        "America/St_Johns",
        "Asia/Kathmandu",
        "Australia/Lord_Howe",
        "Pacific/Apia",
        "Antarctica/Troll",
        "Africa/Casablanca",
        "UTC",
    ])
}

/// Returns a time that often lies near one of the zone's transitions.
fn near(zone: &TimeZone, ns: u64, apart_ns: i64) -> UnixTime {
    let time = UnixTime::from_nanos(ns);
    let next = zone.following(Timestamp::from(time)).next();
    let next = next.and_then(|next| UnixTime::try_from(next.timestamp()).ok());
    next.map_or(time, |next| UnixTime::from_nanos(next.as_nanos().saturating_add_signed(apart_ns)))
}

proptest! {
    #[test]
    fn text_is_jiffs(
        name in zones(),
        times in prop::collection::vec((any::<u64>(), -70_000_000_000..70_000_000_000_i64), 1..20),
    ) {
        let zone = TimeZone::get(name).unwrap();
        for (ns, apart_ns) in times {
            for time in [UnixTime::from_nanos(ns), near(&zone, ns, apart_ns), near(&zone, ns, 0)] {
                let offset = offset_in(&zone, time);
                let timestamp = Timestamp::from(time);
                let theirs = timestamp.display_with_offset(zone.to_offset(timestamp));
                let ours = adapter::rfc3339::with_offset_text(time, 9, offset, str::to_owned);
                prop_assert_eq!(ours, format!("{theirs:.9}"));
            }
        }
    }
}
