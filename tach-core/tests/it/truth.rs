//! The timelines against the OS's own clocks.
//!
//! How far they may be off is measured by `cargo xtask drift`; here an interrupted thread must not
//! fail a test, so every comparison is with a bracket of OS readings, and allows a microsecond beside the
//! uncertainty, which an interrupted sample makes wide.

use core::time::Duration;
use std::thread;
use std::time::{Instant as StdInstant, SystemTime};

use tach_core::{Instant, TimelineStatus, UnixTime, status, sync};

/// What a timeline may be off.
fn allowed(timeline: &TimelineStatus) -> Duration {
    timeline.uncertainty.expect("something was converted") + Duration::from_micros(1)
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
        // At either end.
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

/// More threads than CPUs, so that some are interrupted in the middle of a sample.
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
