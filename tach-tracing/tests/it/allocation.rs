//! No timer allocates.

use allocation_counter::measure;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

use crate::timers;

/// Counts the allocations of a timer, beside the string that it writes into.
fn allocations(timer: &impl FormatTime) -> u64 {
    let mut text = String::with_capacity(1024);
    let counted = measure(|| {
        for _ in 0..10 {
            timer.format_time(&mut Writer::new(&mut text)).unwrap();
        }
    });
    assert!(text.len() >= 10);
    counted.count_total
}

#[test]
fn no_timer_allocates() {
    for (i, timer) in timers::system().iter().enumerate() {
        // The first use in a process finds the system's zone and reads the environment.
        let first = allocations(timer);
        assert_eq!(allocations(timer), 0, "timer {i}, after {first} at first");
    }
    for (timer, text) in timers::still() {
        assert_eq!(allocations(&timer), 0, "{text}");
    }
}

/// The positive control.
#[test]
fn a_timer_that_allocates_is_found() {
    let timer: fn(&mut Writer<'_>) -> core::fmt::Result = |writer| {
        let mut text = String::new();
        SystemTime.format_time(&mut Writer::new(&mut text))?;
        writer.write_str(&text)
    };
    assert!(allocations(&timer) >= 10);
}
