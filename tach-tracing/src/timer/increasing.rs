//! Clocks for timers that never print a time twice.

use core::time::Duration;

use tach_core::{IncreasingClock, SystemClock};

/// The process's clocks, by the number of digits.
static CLOCKS: [IncreasingClock; 10] = [
    with_resolution(1_000_000_000),
    with_resolution(100_000_000),
    with_resolution(10_000_000),
    with_resolution(1_000_000),
    with_resolution(100_000),
    with_resolution(10_000),
    with_resolution(1_000),
    with_resolution(100),
    with_resolution(10),
    with_resolution(1),
];

const fn with_resolution(ns: u64) -> IncreasingClock {
    IncreasingClock::new(SystemClock, Duration::from_nanos(ns))
}

/// Fails to compile, in a `const` block, unless a timestamp can have so many digits.
pub(crate) const fn assert_digits(digits: usize) {
    assert!(digits <= 9, "a timestamp has 0 to 9 digits of fraction");
}

pub(crate) fn clock(digits: usize) -> &'static IncreasingClock {
    &CLOCKS[digits]
}
