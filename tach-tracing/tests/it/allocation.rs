//! No timer allocates.

use allocation_counter::measure;
use tach_tracing::{Uptime, Utc};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

/// How often `timer` allocates while it formats a few times into a string that is large enough.
fn allocations(timer: &impl FormatTime) -> u64 {
    let mut text = String::with_capacity(1024);
    let counted = measure(|| {
        for _ in 0..10 {
            timer.format_time(&mut Writer::new(&mut text)).unwrap();
        }
    });
    assert!(text.len() >= 100);
    counted.count_total
}

#[test]
fn no_timer_allocates() {
    assert_eq!(allocations(&Uptime), 0);
    assert_eq!(allocations(&Utc::<6>), 0);
    assert_eq!(allocations(&Utc::<9>), 0);
}

/// The positive control: a timer that does allocate is found.
#[test]
fn a_timer_that_makes_a_string_is_found() {
    let timer: fn(&mut Writer<'_>) -> core::fmt::Result = |writer| {
        let mut text = String::new();
        SystemTime.format_time(&mut Writer::new(&mut text))?;
        writer.write_str(&text)
    };
    assert!(allocations(&timer) >= 10);
}
