//! The boot-time instant on the real machine.

use core::time::Duration;
use std::thread;
use std::time::Instant as StdInstant;

use tach_core::BootInstant;

/// Whether this system has a clock that runs during a suspend.
const IS_THERE: bool = cfg!(not(miri))
    && cfg!(any(
        target_os = "android",
        target_os = "linux",
        target_os = "openbsd",
        target_vendor = "apple",
        windows,
    ));

#[test]
fn the_systems_that_have_it_are_known() {
    assert_eq!(BootInstant::now().is_some(), IS_THERE);
}

#[test]
fn instants_of_a_thread_are_in_order() {
    let Some(mut last) = BootInstant::now() else { return };
    let start = StdInstant::now();
    while start.elapsed() < Duration::from_millis(300) {
        let now = BootInstant::now().unwrap();
        assert!(now >= last, "{now:?} was read after {last:?}");
        last = now;
    }
}

#[test]
fn while_the_machine_is_awake_time_passes_as_by_the_monotonic_clock() {
    let outer = StdInstant::now();
    let Some(start) = BootInstant::now() else { return };
    let inner = StdInstant::now();
    thread::sleep(Duration::from_millis(200));
    let shortest = inner.elapsed();
    let elapsed = start.elapsed();
    let longest = outer.elapsed();
    // An interrupted sample is off by its width.
    let allowed = Duration::from_millis(10);
    assert!(elapsed + allowed >= shortest, "{elapsed:?} is less than {shortest:?}");
    assert!(elapsed <= longest + allowed, "{elapsed:?} is more than {longest:?}");
}

#[test]
fn it_reaches_to_before_the_machines_start() {
    let Some(now) = BootInstant::now() else { return };
    let century = Duration::from_secs(100 * 365 * 86_400);
    let (before, after) = (now - century, now + century);
    assert_eq!((now - before, after - before), (century, 2 * century));
    assert_eq!(before.saturating_duration_since(now), Duration::ZERO);
    assert_eq!((now.checked_add(Duration::MAX), now.checked_sub(Duration::MAX)), (None, None));
}
