//! Local time in the system's zone. Another process runs the tests, with the zone as a variable.

#![cfg(feature = "local-time")]

use log::Record;
use tach_core::{Anchor, Instant, UnixTime, event_time};
use tach_log::{Format, Json, Line, Logfmt, display};
use test_support::assert_test_passes;

/// Summer time from the last Sunday of March to the last one of October, at 01:00 UTC (POSIX).
const ZONE: &[(&str, &str)] = &[("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")];

#[test]
fn local_time_has_summer_time() {
    assert_test_passes("summer", ZONE);
}

#[test]
#[ignore = "needs a zone, and is run by another test"]
fn summer() {
    let line = |format: &dyn Format, time: &str| {
        let time: UnixTime = time.parse().unwrap();
        let anchor = Anchor::new(Instant::from_ticks(0), time);
        let record = Record::builder().target("").build();
        event_time::during(anchor, || display(format, &record).to_string())
    };
    let (winter, summer) = ("2026-03-29T00:59:59.9Z", "2026-03-29T01:00:00Z");
    let json = Json::new().local_time().digits(1);
    assert_eq!(line(&json, winter), r#"{"ts":"2026-03-29T01:59:59.9+01:00","level":"INFO"}"#);
    assert_eq!(line(&json, summer), r#"{"ts":"2026-03-29T03:00:00.0+02:00","level":"INFO"}"#);
    let logfmt = Logfmt::new().local_time().digits(0);
    assert_eq!(line(&logfmt, summer), "ts=2026-03-29T03:00:00+02:00 level=INFO");
    let full = Line::new().local_time();
    assert_eq!(line(&full, summer), "2026-03-29T03:00:00.000000+02:00 INFO ");
    assert_eq!(line(&Line::compact().local_time(), summer), "03:00:00.000 INFO ");
    // The last choice of a zone counts.
    let offset = "+05:00".parse().unwrap();
    assert_eq!(line(&full.offset(offset), summer), "2026-03-29T06:00:00.000000+05:00 INFO ");
    assert_eq!(
        Json::new().local_time().unix().faults(),
        ["Json::local_time: Unix time has no zone; call either local_time or unix"]
    );
}
