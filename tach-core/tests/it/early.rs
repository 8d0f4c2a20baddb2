//! Instants from before the machine started.

use std::time::Instant as StdInstant;

use core::time::Duration;

use tach_core::{Anchor, Budget, Instant, MonotonicInstant, OrderedInstant, UnixTime, status};

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Ages that reach before the machine's start and before the counter's zero, and an age of zero.
const AGES: [Duration; 4] = [
    Duration::from_secs(3_600),
    YEAR,
    Duration::from_secs(40 * 365 * 24 * 60 * 60),
    Duration::ZERO,
];

/// Returns the tolerance for a few roundings: an instant is a whole number of ticks.
fn rounded() -> Duration {
    let _ = Instant::now().elapsed();
    let hz = status().frequency_hz.unwrap_or(1_000_000_000);
    Duration::from_nanos(2 + 2 * 1_000_000_000 / hz)
}

macro_rules! check {
    ($Instant:ident) => {
        for age in AGES {
            let now = $Instant::now();
            let early = now - age;
            assert!(early <= now, "{age:?}: {early:?}, {now:?}");
            assert!((now - early).abs_diff(age) <= rounded(), "{age:?}: {:?}", now - early);
            assert_eq!(early - now, Duration::ZERO);
            assert_eq!(early.checked_duration_since(now).is_some(), age.is_zero());
            assert!(early.elapsed() >= age - rounded().min(age), "{age:?}");
            assert!((early + age).max(now) - (early + age).min(now) <= rounded(), "{age:?}");
            let earlier = early - age;
            assert!(earlier <= early && (early - earlier).abs_diff(age) <= rounded(), "{age:?}");
        }
        assert_eq!($Instant::now().checked_sub(YEAR * 600), None);
        assert_eq!($Instant::now().checked_add(YEAR * 600), None);
    };
}

#[test]
fn an_instant_may_be_before_the_machines_start() {
    check!(Instant);
    check!(MonotonicInstant);
    check!(OrderedInstant);
}

#[test]
fn an_early_instant_has_a_unix_time_and_begins_a_budget() {
    let now = Instant::now();
    let early = now - YEAR;
    // The rate of the first line was measured within some microseconds.
    let apart = now.unix_time() - early.unix_time();
    assert!(apart.abs_diff(YEAR) < YEAR / 100, "{apart:?}");
    assert!((now - 200 * YEAR / 4).unix_time() < UnixTime::EPOCH + 20 * YEAR);
    assert!(Budget::since(early, YEAR).is_exhausted());
    assert!(!Budget::since(early, 2 * YEAR).is_exhausted());
    let anchor = Anchor::now();
    let apart = anchor.unix_time() - anchor.unix_time_at(anchor.instant() - YEAR);
    assert!(apart.abs_diff(YEAR) <= rounded(), "{apart:?}");
}

#[test]
fn std_instants_from_before_the_start_are_kept() {
    for age in AGES {
        let now = StdInstant::now();
        let Some(early) = now.checked_sub(age) else { continue };
        let (ours, our_now) = (Instant::from(early), Instant::from(now));
        assert!((our_now - ours).abs_diff(age) <= rounded(), "{age:?}: {:?}", our_now - ours);
        let back = StdInstant::from(ours);
        let off = back.max(early) - back.min(early);
        assert!(off <= rounded(), "{age:?}: {off:?}");
    }
}
