//! The timelines compared with the OS clocks.
//!
//! `cargo xtask drift` measures the error. Here an interrupted thread must not fail a test. So each
//! comparison uses a bracket of OS readings and allows the uncertainty, which an interrupted sample
//! widens, plus a microsecond.

use core::time::Duration;
use std::thread;
use std::time::{Instant as StdInstant, SystemTime};

use tach_core::{Instant, TimelineStatus, UnixTime, status, sync};

fn allowed(timeline: &TimelineStatus) -> Duration {
    timeline.uncertainty.expect("a conversion has measured the uncertainty")
        + Duration::from_micros(1)
}

#[test]
fn elapsed_time_is_that_of_the_os_clock() {
    for millis in [0, 1, 5, 20, 200] {
        let outer = StdInstant::now();
        let start = Instant::now();
        let inner = StdInstant::now();
        thread::sleep(Duration::from_millis(millis));
        let shortest = inner.elapsed();
        let elapsed = start.elapsed();
        let longest = outer.elapsed();
        // The error is allowed at both ends of the interval.
        let allowed = 2 * allowed(&status().monotonic);
        assert!(elapsed + allowed >= shortest, "{elapsed:?} is less than {shortest:?}");
        assert!(elapsed <= longest + allowed, "{elapsed:?} is more than {longest:?}");
    }
}

#[test]
fn unix_time_is_that_of_the_os_clock() {
    let system = || UnixTime::from_system_time(SystemTime::now());
    for _ in 0..100 {
        let (before, ours, after) = (system(), UnixTime::now(), system());
        let allowed = allowed(&status().realtime);
        assert!(ours.saturating_add(allowed) >= before, "{ours} is before {before}");
        assert!(ours <= after.saturating_add(allowed), "{ours} is after {after}");
        thread::sleep(Duration::from_millis(3));
    }
}

#[test]
fn the_os_clock_is_within_the_bounds_of_a_time() {
    let system = || UnixTime::from_system_time(SystemTime::now());
    for _ in 0..100 {
        let (before, bounded, after) = (system(), UnixTime::now_with_uncertainty(), system());
        // The clock's own steps.
        let allowed = Duration::from_micros(1);
        assert!(bounded.latest().saturating_add(allowed) >= before, "{bounded:?}, {before}");
        assert!(bounded.earliest() <= after.saturating_add(allowed), "{bounded:?}, {after}");
        assert!(!bounded.uncertainty().is_zero(), "no clock is read in no time");
    }
}

/// Runs more threads than CPUs, so that some are interrupted during a sample.
#[test]
#[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
fn threads_that_look_all_the_time_find_no_failure() {
    let start = StdInstant::now();
    let ask = || {
        while start.elapsed() < Duration::from_secs(3) {
            sync();
        }
    };
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(ask);
        }
    });
    assert_eq!(status().counter_failures, 0, "{}", status());
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
fn all_threads_see_one_timeline() {
    let instants: Vec<Instant> = (0..1000).map(|_| Instant::now()).collect();
    let times = || instants.iter().map(Instant::unix_time).collect::<Vec<_>>();
    let here = times();
    for _ in 0..4 {
        let there = thread::scope(|scope| scope.spawn(times).join().unwrap());
        assert_eq!(there, here);
        thread::sleep(Duration::from_millis(20));
    }
    assert!(here.is_sorted());
}
