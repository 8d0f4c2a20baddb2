//! The CPU time of threads on the real machine.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use tach_core::ThreadCpuInstant;

/// Whether this system measures the CPU time of threads.
const IS_MEASURED: bool = cfg!(not(miri))
    && cfg!(any(
        target_os = "android",
        target_os = "dragonfly",
        target_os = "freebsd",
        target_os = "linux",
        target_os = "openbsd",
        target_vendor = "apple",
        windows,
    ));

/// Keeps the thread on a CPU until it has used `time`, by its own clock.
fn burn(time: Duration) {
    let start = ThreadCpuInstant::now().unwrap();
    while start.elapsed() < time {}
}

#[test]
fn the_systems_that_measure_it_are_known() {
    assert_eq!(ThreadCpuInstant::now().is_some(), IS_MEASURED);
}

#[test]
fn work_is_counted_and_readings_rise() {
    let Some(start) = ThreadCpuInstant::now() else { return };
    burn(Duration::from_millis(50));
    let end = ThreadCpuInstant::now().unwrap();
    assert!(end > start);
    assert!(end.duration_since(start) >= Duration::from_millis(50));
    assert_eq!(start.duration_since(end), Duration::ZERO);
}

#[test]
fn sleep_is_not_counted() {
    let Some(start) = ThreadCpuInstant::now() else { return };
    let began = Instant::now();
    thread::sleep(Duration::from_millis(200));
    // Windows may count a whole tick of its timer, 15.6 ms, before and after.
    let (cpu, slept) = (start.elapsed(), began.elapsed());
    assert!(cpu < slept / 2, "{cpu:?} of {slept:?}");
}

#[test]
fn work_of_other_threads_is_not_counted() {
    let Some(start) = ThreadCpuInstant::now() else { return };
    let work = Duration::from_millis(200);
    thread::spawn(move || burn(work)).join().unwrap();
    let cpu = start.elapsed();
    assert!(cpu < work / 2, "{cpu:?}");
}
