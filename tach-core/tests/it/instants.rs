//! What `std::time::Instant` does, all three instants do.

use core::time::Duration;
use std::collections::HashSet;

/// One module of tests a type.
macro_rules! like_std {
    ($module:ident, $Instant:ident) => {
        mod $module {
            use super::*;
            use tach_core::$Instant;

            #[test]
            fn time_passes() {
                let start = $Instant::now();
                while start.elapsed() == Duration::ZERO {}
                assert!($Instant::now() > start);
            }

            #[test]
            fn a_later_one_minus_an_earlier_is_positive_and_the_reverse_is_zero() {
                let earlier = $Instant::now();
                let later = earlier + Duration::from_micros(1);
                assert_eq!(later - earlier, Duration::from_micros(1));
                assert_eq!(later.duration_since(earlier), Duration::from_micros(1));
                assert_eq!(earlier - later, Duration::ZERO);
                assert_eq!(earlier.duration_since(later), Duration::ZERO);
                assert_eq!(earlier.saturating_duration_since(later), Duration::ZERO);
                assert_eq!(earlier.checked_duration_since(later), None);
                assert_eq!(earlier.checked_duration_since(earlier), Some(Duration::ZERO));
            }

            #[test]
            fn sums_beyond_the_range_are_none() {
                let now = $Instant::now();
                assert_eq!(now.checked_add(Duration::MAX), None);
                assert_eq!(now.checked_sub(Duration::MAX), None);
                assert!(now.checked_add(Duration::from_secs(100 * 365 * 86_400)).is_some());
            }

            #[test]
            #[should_panic(expected = "overflow when adding duration to instant")]
            fn adding_beyond_the_range_panics_as_std_does() {
                let _ = $Instant::now() + Duration::MAX;
            }

            #[test]
            #[should_panic(expected = "overflow when subtracting duration from instant")]
            fn subtracting_beyond_the_range_panics_as_std_does() {
                let _ = $Instant::now() - Duration::MAX;
            }

            #[test]
            fn what_is_added_comes_back() {
                let now = $Instant::now();
                for ns in [0, 1, 2, 999, 1_000_001, 3_600_000_000_000] {
                    let duration = Duration::from_nanos(ns);
                    // Both from one segment, unless a successor comes just between the two calls:
                    // then within the slew that a segment may have.
                    let there = (now + duration) - now;
                    let tolerance = Duration::from_nanos(1 + ns / 1000);
                    assert!(there.abs_diff(duration) <= tolerance, "{duration:?} became {there:?}");
                    let mut moved = now;
                    moved += duration;
                    moved -= duration;
                    assert!((moved - now).max(now - moved) <= tolerance);
                }
            }

            #[test]
            fn it_can_be_hashed_compared_copied_and_shown() {
                let now = $Instant::now();
                let set: HashSet<$Instant> = [now, now, now + Duration::from_secs(1)].into();
                assert_eq!(set.len(), 2);
                assert!(now < now + Duration::from_secs(1));
                let shown = format!("{now:?}");
                assert!(shown.starts_with(stringify!($Instant)), "{shown}");
                assert!(shown.contains(&now.as_ticks().to_string()), "{shown}");
            }

            #[test]
            fn ticks_there_and_back() {
                let now = $Instant::now();
                assert_eq!($Instant::from_ticks(now.as_ticks()), now);
            }

            #[test]
            fn unix_time_keeps_the_order() {
                let earlier = $Instant::now();
                let later = $Instant::now();
                assert!(earlier.unix_time() <= later.unix_time());
            }
        }
    };
}

like_std!(instant, Instant);
like_std!(monotonic, MonotonicInstant);
like_std!(ordered, OrderedInstant);

#[test]
fn conversions_drop_a_promise_and_never_add_one() {
    use tach_core::{Instant, MonotonicInstant, OrderedInstant};

    let strict = MonotonicInstant::now();
    assert_eq!(OrderedInstant::from(strict).as_ticks(), strict.as_ticks());
    assert_eq!(Instant::from(strict).as_ticks(), strict.as_ticks());
    assert!(Instant::from(OrderedInstant::now()).as_ticks() > strict.as_ticks());
}
