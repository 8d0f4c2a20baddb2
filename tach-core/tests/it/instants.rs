//! All three instants behave like `std::time::Instant`: the standard library's own tests of it, and
//! its documentation.

use core::fmt::Debug;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::time::Duration;
use std::collections::{BTreeSet, HashSet};
use std::thread;
use std::time::Instant as StdInstant;

use tach_core::{Instant, MonotonicInstant, OrderedInstant, status};

const SECOND: Duration = Duration::from_secs(1);
const YEAR: Duration = Duration::from_secs(365 * 86_400);

/// Runs `check` until no record was made during a run. Sums are exact within a record.
fn within_one_segment(check: impl Fn() -> Result<(), String>) {
    let syncs = || {
        let now = status();
        (now.monotonic.syncs, now.realtime.syncs)
    };
    for _ in 0..1000 {
        let before = syncs();
        let found = check();
        if syncs() == before {
            return found.unwrap_or_else(|problem| panic!("{problem}"));
        }
    }
    panic!("a record was made in each of 1000 runs");
}

/// Returns an error that shows both values, unless they are equal.
fn equal<T: PartialEq + Debug + Copy>(what: &str, left: T, right: T) -> Result<(), String> {
    if left == right { Ok(()) } else { Err(format!("{what}: {left:?} is not {right:?}")) }
}

/// Returns the allowed error of a sum within a record. If a tick lasts at most a nanosecond, each
/// duration has a tick of its own, and the error is zero. Otherwise it is one tick.
fn grain() -> Duration {
    let _ = Instant::now().elapsed();
    let hz = status().frequency_hz.expect("a conversion has measured the frequency");
    if hz >= 1_000_000_000 { Duration::ZERO } else { Duration::from_nanos(1_000_000_000 / hz + 1) }
}

/// Returns an error that shows `off`, unless that is at most `most`.
fn at_most<T: PartialOrd + Debug + Copy>(what: &str, off: T, most: T) -> Result<(), String> {
    if off <= most { Ok(()) } else { Err(format!("{what}: off by {off:?}, more than {most:?}")) }
}

fn ticks(instant: impl Into<Instant>) -> u64 {
    instant.into().as_ticks()
}

macro_rules! like_std {
    ($module:ident, $Instant:ident) => {
        mod $module {
            use super::*;
            use tach_core::$Instant;

            #[test]
            fn it_rises() {
                let a = $Instant::now();
                loop {
                    let b = $Instant::now();
                    assert!(b >= a);
                    if b > a {
                        break;
                    }
                }
            }

            #[test]
            #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
            fn it_rises_on_every_thread() {
                thread::scope(|scope| {
                    for _ in 0..8 {
                        scope.spawn(|| {
                            let mut old = $Instant::now();
                            for _ in 0..200_000 {
                                let new = $Instant::now();
                                assert!(new >= old);
                                old = new;
                            }
                        });
                    }
                });
            }

            #[test]
            fn time_passes() {
                let start = $Instant::now();
                while start.elapsed() == Duration::ZERO {}
                assert!($Instant::now() > start);
            }

            #[test]
            fn differences_and_sums_agree() {
                // A sum is rounded to a tick, and a difference to a nanosecond.
                let most = grain() + Duration::from_nanos(2);
                let near = |what, x: $Instant, y: $Instant| at_most(what, (x - y).max(y - x), most);
                within_one_segment(|| {
                    let (a, b) = ($Instant::now(), $Instant::now());
                    let duration = b.duration_since(a);
                    near("back by the difference", b - duration, a)?;
                    near("on by the difference", a + duration, b)?;
                    near("back and on", a - SECOND + SECOND, a)?;
                    let back = a.checked_sub(SECOND).and_then(|at| at.checked_add(SECOND));
                    near("back and on, checked", back.unwrap(), a)
                });
            }

            #[test]
            fn sums_are_associative() {
                let grain = grain();
                for ns in [0, 1, 2, 3, 999, 5_000_000, 3_600_000_000_000, 86_400_000_000_001] {
                    let offset = Duration::from_nanos(ns);
                    within_one_segment(|| {
                        let now = $Instant::now();
                        let sum = (now + offset) - now;
                        at_most("what is added", sum.abs_diff((now - now) + offset), grain)?;
                        let mut moved = now;
                        moved += offset;
                        equal("adding in place", moved, now + offset)?;
                        moved -= offset;
                        let off = ticks(moved).abs_diff(ticks(now));
                        at_most("ticks between there and back", off, 1)
                    });
                }
            }

            /// Records may be made during the test, so the tolerance is a tick and the largest
            /// slew.
            #[test]
            fn what_is_added_comes_back() {
                let (grain, now) = (grain(), $Instant::now());
                for ns in [0, 1, 2, 999, 1_000_001, 3_600_000_000_000] {
                    let duration = Duration::from_nanos(ns);
                    let tolerance = grain + Duration::from_nanos(1 + ns / 1000);
                    let there = (now + duration) - now;
                    assert!(there.abs_diff(duration) <= tolerance, "{duration:?} became {there:?}");
                    let mut moved = now;
                    moved += duration;
                    moved -= duration;
                    assert!((moved - now).max(now - moved) <= tolerance);
                }
            }

            #[test]
            fn an_earlier_one_minus_a_later_is_zero() {
                let now = $Instant::now();
                let (earlier, later) = (now.checked_sub(SECOND).unwrap(), now + SECOND);
                assert_eq!(earlier.duration_since(now), Duration::ZERO);
                assert_eq!(earlier.saturating_duration_since(now), Duration::ZERO);
                assert_eq!(earlier - now, Duration::ZERO);
                assert_eq!(later.elapsed(), Duration::ZERO);
                assert_eq!(earlier.checked_duration_since(now), None);
                assert_eq!(now.checked_duration_since(now), Some(Duration::ZERO));
                assert!(later.checked_duration_since(now).is_some());
                assert!(later.saturating_duration_since(now) > Duration::ZERO);
            }

            #[test]
            fn a_second_later_is_a_second() {
                let grain = grain();
                within_one_segment(|| {
                    let now = $Instant::now();
                    let later = now + SECOND;
                    let plain = later.duration_since(now);
                    at_most("plain", plain.abs_diff(SECOND), grain)?;
                    equal("checked", later.checked_duration_since(now), Some(plain))?;
                    equal("saturating", later.saturating_duration_since(now), plain)?;
                    equal("by the operator", later - now, plain)
                });
            }

            #[test]
            fn sums_beyond_the_range_are_none() {
                let mut maybe = Some($Instant::now());
                for _ in 0..2 {
                    maybe = maybe.and_then(|now| now.checked_add(Duration::from_secs(u64::MAX)));
                }
                assert_eq!(maybe, None);
                let now = $Instant::now();
                assert_eq!(now.checked_add(Duration::MAX), None);
                assert_eq!(now.checked_sub(Duration::MAX), None);
                assert!(now.checked_add(100 * YEAR).is_some());
                within_one_segment(|| {
                    equal("by the operator", Some(now + YEAR), now.checked_add(YEAR))
                });
            }

            /// A deadline of "never" is far in the future, and no sum panics.
            #[test]
            fn sums_beyond_the_range_are_the_farthest_instants() {
                let now = $Instant::now();
                let never = now + Duration::from_secs(u64::MAX / 10);
                assert_eq!(now.checked_add(1_000 * YEAR), None);
                for sum in [now + 1_000 * YEAR, now + Duration::MAX, never + SECOND] {
                    assert_eq!(sum, never);
                }
                assert!(never > now + 50 * YEAR && never - now > 50 * YEAR);
                assert_eq!((never.elapsed(), never - never), (Duration::ZERO, Duration::ZERO));
                let mut moved = now;
                moved += Duration::MAX;
                assert_eq!(moved, never);
                let first = now - Duration::MAX;
                assert_eq!(now.checked_sub(1_000 * YEAR), None);
                assert_eq!((now - 1_000 * YEAR, first - SECOND), (first, first));
                assert!(first < now - 25 * YEAR && now - first > 25 * YEAR);
                assert!(first.elapsed() > 25 * YEAR && never - first >= never - now);
                moved -= Duration::MAX;
                assert_eq!(moved, first);
                assert!(never.unix_time() > now.unix_time());
                let std: StdInstant = never.into();
                assert!(std > StdInstant::now());
            }

            /// Compares one long sum with the same sum in steps.
            #[test]
            fn long_sums_agree() {
                let steps = [YEAR, 50 * SECOND, 70 * YEAR];
                let after = |start: Option<$Instant>, by| start.and_then(|at| at.checked_add(by));
                let off = |x: $Instant, y: $Instant| ticks(x).abs_diff(ticks(y));
                within_one_segment(|| {
                    let now = $Instant::now();
                    let at_once = after(Some(now), steps.iter().sum()).unwrap();
                    let one_by_one = steps.into_iter().fold(Some(now), after).unwrap();
                    at_most("ticks by steps", off(at_once, one_by_one), 3)?;
                    let back = steps.into_iter().try_fold(one_by_one, |at, by| at.checked_sub(by));
                    at_most("ticks there and back", off(back.unwrap(), now), 6)
                });
            }

            #[test]
            fn it_can_be_hashed_compared_copied_and_shown() {
                let now = $Instant::now();
                let later = now + SECOND;
                assert_eq!(HashSet::from([now, now, later]).len(), 2);
                assert_eq!(BTreeSet::from([later, now]).first(), Some(&now));
                assert!(now < later && now.max(later) == later && now.clamp(later, later) == later);
                let shown = format!("{now:?}");
                assert!(shown.starts_with(stringify!($Instant)), "{shown}");
                assert!(shown.contains(&ticks(now).to_string()), "{shown}");
            }

            #[test]
            fn it_has_the_traits_of_std() {
                fn assert_like<T>()
                where
                    T: Copy + Debug + Ord + core::hash::Hash + Send + Sync + Unpin + 'static,
                    T: UnwindSafe + RefUnwindSafe + core::ops::Sub<Output = Duration>,
                    T: core::ops::Add<Duration, Output = T> + core::ops::AddAssign<Duration>,
                    T: core::ops::Sub<Duration, Output = T> + core::ops::SubAssign<Duration>,
                {
                }
                assert_like::<StdInstant>();
                assert_like::<$Instant>();
            }

            #[test]
            fn unix_time_keeps_the_order() {
                let (earlier, later) = ($Instant::now(), $Instant::now());
                assert!(earlier.unix_time() <= later.unix_time());
            }

            /// The tolerance is wide because the conversion is as exact as its narrowest bracket,
            /// which an emulator may widen.
            #[test]
            fn std_instants_there() {
                let before = StdInstant::now();
                let ours = StdInstant::from($Instant::now());
                let after = StdInstant::now();
                let slack = Duration::from_micros(100);
                assert!(before <= ours + slack && ours <= after + slack, "{before:?} {ours:?}");
            }
        }
    };
}

like_std!(instant, Instant);
like_std!(monotonic, MonotonicInstant);
like_std!(ordered, OrderedInstant);

#[test]
fn conversions_drop_a_promise_and_never_add_one() {
    let strict = MonotonicInstant::now();
    assert_eq!(ticks(OrderedInstant::from(strict)), ticks(strict));
    assert!(ticks(OrderedInstant::now()) > ticks(strict));
    assert_eq!(Instant::from_ticks(ticks(strict)), strict.into());
}

#[test]
fn std_instants_there_and_back() {
    let most = grain() + Duration::from_nanos(2);
    within_one_segment(|| {
        let now = Instant::now();
        for duration in [Duration::ZERO, Duration::from_nanos(1), SECOND, 1000 * SECOND] {
            let there = now + duration;
            let back = Instant::from(StdInstant::from(there));
            // The standard library keeps nanoseconds, tach keeps ticks.
            let off = (back - there).max(there - back);
            at_most("there and back", off, most)?;
            let apart = StdInstant::from(there) - StdInstant::from(now);
            at_most("the distance", apart.abs_diff(duration), most)?;
        }
        Ok(())
    });
    let std = StdInstant::now();
    let earlier = Instant::from(std);
    assert!(earlier <= Instant::now() + Duration::from_micros(100));
    assert!(earlier < Instant::from(std + SECOND));
    if let Some(ancient) = std.checked_sub(1000 * YEAR) {
        assert!(Instant::from(ancient) < earlier);
    }
    if let Some(far) = std.checked_add(1000 * YEAR) {
        assert!(Instant::from(far) > Instant::now() + YEAR);
    }
}
