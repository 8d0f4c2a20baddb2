//! Budgets by a manual clock in place of the system's. A program of its own, since all threads of
//! the process take the slower path to the clock afterwards.

use core::time::Duration;

use tach_core::{Budget, Clock as _, ManualClock, MonotonicInstant};

const SECOND: Duration = Duration::from_secs(1);

/// Runs `test` with a budget that began `ago` before now, by a clock of its own.
fn begun(ago: Duration, total: Duration, test: impl FnOnce(Budget, &'static ManualClock)) {
    let clock: &ManualClock = Box::leak(Box::default());
    clock.during(|| {
        let budget = Budget::new(total);
        clock.advance(ago);
        test(budget, clock);
    });
}

#[test]
fn the_remaining_time_is_the_total_less_the_elapsed() {
    let half_second = Duration::from_millis(500);
    let cases = [
        (Duration::ZERO, Duration::ZERO),
        (half_second, Duration::ZERO),
        (SECOND, Duration::ZERO),
        (2 * SECOND, SECOND),
        (Duration::MAX, Duration::MAX),
    ];
    for (total, left) in cases {
        begun(SECOND, total, |budget, _| {
            assert_eq!((budget.elapsed(), budget.remaining()), (SECOND, left));
        });
        begun(Duration::ZERO, total, |budget, _| assert_eq!(budget.remaining(), total));
    }
}

#[test]
fn an_exhausted_budget_says_so_everywhere() {
    begun(Duration::from_nanos(999_999_999), SECOND, |budget, clock| {
        assert_eq!(budget.check(), Ok(()));
        for late in [Duration::from_nanos(1), SECOND] {
            clock.advance(late);
            assert!(budget.is_exhausted());
            assert_eq!((budget.remaining(), budget.millis(SECOND)), (Duration::ZERO, None));
            let error = budget.check().unwrap_err();
            assert_eq!(error.to_string(), "the time budget of 1s is exhausted");
            assert!(budget.child(Duration::MAX, Duration::ZERO).is_exhausted());
        }
        assert_eq!(budget.elapsed(), 2 * SECOND, "elapsed goes on past the total");
    });
}

#[test]
fn a_child_gets_the_lesser_of_limit_and_rest() {
    begun(SECOND, 3600 * SECOND, |parent, clock| {
        assert_eq!(parent.child(60 * SECOND, Duration::ZERO).total(), 60 * SECOND);
        let child = parent.child(Duration::MAX, Duration::ZERO);
        assert_eq!(child.total(), 3599 * SECOND);
        assert!(parent.child(Duration::ZERO, Duration::ZERO).is_exhausted());
        clock.advance(3599 * SECOND);
        assert!(child.is_exhausted() && parent.is_exhausted(), "they run out together");
    });
}

#[test]
fn a_child_leaves_its_parent_the_reserve() {
    begun(SECOND, 10 * SECOND, |parent, clock| {
        let cases = [
            (Duration::MAX, SECOND, 8 * SECOND),
            (7 * SECOND, SECOND, 7 * SECOND),
            (Duration::MAX, 9 * SECOND, Duration::ZERO),
            (Duration::MAX, Duration::MAX, Duration::ZERO),
        ];
        for (cap, reserve, total) in cases {
            assert_eq!(parent.child(cap, reserve).total(), total, "{cap:?} less {reserve:?}");
        }
        let child = parent.child(Duration::MAX, SECOND);
        clock.advance(child.total());
        assert!(child.is_exhausted());
        assert_eq!(parent.remaining(), SECOND);
    });
}

#[test]
fn a_budget_can_begin_in_the_past() {
    let clock: &ManualClock = Box::leak(Box::default());
    clock.during(|| {
        let start = clock.now();
        clock.advance(SECOND);
        let budget = Budget::since(start, 3 * SECOND);
        assert_eq!((budget.total(), budget.elapsed()), (3 * SECOND, SECOND));
        assert_eq!(budget.remaining(), 2 * SECOND);
    });
    let system = Budget::since(MonotonicInstant::now() - SECOND, 60 * SECOND);
    assert!(system.elapsed() >= SECOND && system.remaining() <= 59 * SECOND);
}

#[test]
fn the_largest_duration_never_runs_out() {
    begun(SECOND, Duration::MAX, |budget, clock| {
        clock.advance(Duration::MAX);
        assert_eq!(budget.check(), Ok(()));
        assert_eq!((budget.remaining(), budget.end()), (Duration::MAX, None));
        assert_eq!(budget.child(Duration::MAX, SECOND).total(), Duration::MAX);
        assert_eq!(budget.child(SECOND, SECOND).total(), SECOND);
    });
    // More nanoseconds than a `u64` can count.
    assert_eq!(Budget::new(Duration::from_secs(600 * 365 * 86_400)).total(), Duration::MAX);
}

#[test]
fn the_end_is_the_start_plus_the_total() {
    begun(SECOND, 3 * SECOND, |budget, clock| {
        let end = budget.end().expect("an instant");
        assert_eq!(clock.duration_between(clock.now(), end), 2 * SECOND);
        assert!(!budget.is_exhausted());
        clock.advance(2 * SECOND);
        assert_eq!((clock.now(), budget.is_exhausted()), (end, true));
    });
}

/// For most functions that take milliseconds, zero would mean "for ever".
#[test]
fn milliseconds_are_never_zero() {
    let cases = [(0, SECOND, None), (400, SECOND, None), (999, SECOND, None)];
    let more =
        [(1_000, SECOND, Some(1)), (1_999, SECOND, Some(1)), (5_000_000, SECOND, Some(1_000))];
    for (us, max, expected) in cases.into_iter().chain(more) {
        begun(Duration::ZERO, Duration::from_micros(us), |budget, _| {
            assert_eq!(budget.millis(max).map(u32::from), expected, "{us} us");
        });
    }
    let endless = Budget::new(Duration::MAX);
    assert_eq!(endless.millis(SECOND / 2_000), None);
    assert_eq!(endless.millis(Duration::MAX).map(u32::from), Some(u32::MAX));
}

#[test]
fn a_budget_is_two_words() {
    assert_eq!(size_of::<Budget>(), 16);
    let budget = Budget::new(SECOND);
    let copy = budget;
    assert_eq!(budget, copy);
    assert!(format!("{budget:?}").ends_with("total: 1s, .. }"), "{budget:?}");
}
