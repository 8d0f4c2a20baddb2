//! Reads, conversions and texts don't allocate.

use core::hint::black_box;
use core::time::Duration;
use std::thread;

use allocation_counter::measure;
use tach_core::{
    Anchor, BootInstant, Instant, MonotonicInstant, OrderedInstant, UnixTime, adapter, event_time,
    status, unix_nanos, uptime,
};

fn every_read_conversion_and_text() {
    let start = Instant::now();
    let second = Duration::from_secs(1);
    black_box((MonotonicInstant::now().elapsed(), OrderedInstant::now().elapsed()));
    black_box((start.elapsed(), start.checked_add(second), start.checked_sub(second)));
    black_box((unix_nanos(), start.unix_time(), Anchor::now().unix_time_at(start)));
    black_box((status(), uptime(), BootInstant::now()));
    black_box(event_time::during(Anchor::now(), event_time::current));
    adapter::rfc3339::with_text_digits(UnixTime::now(), 6, |text| assert_eq!(text.len(), 27));
    adapter::seconds::with_text(uptime(), |text| assert_eq!(text.len(), 15));
}

#[test]
fn nothing_allocates() {
    // The sleeps span several records, so samples and appends are counted too.
    every_read_conversion_and_text();
    let counted = measure(|| {
        for _ in 0..20 {
            every_read_conversion_and_text();
            thread::sleep(Duration::from_millis(5));
        }
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

/// The positive control: an allocation is counted.
#[test]
fn a_string_is_found() {
    assert!(measure(|| drop(black_box(UnixTime::now().to_string()))).count_total > 0);
}
