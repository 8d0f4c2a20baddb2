//! Timers that never print the same time twice.

use core::time::Duration;

use tach_core::{IncreasingClock, SystemClock};

/// The process's clocks whose Unix time never repeats, by the digits of a second that are printed.
static CLOCKS: [IncreasingClock; 10] = [
    by(1_000_000_000),
    by(100_000_000),
    by(10_000_000),
    by(1_000_000),
    by(100_000),
    by(10_000),
    by(1_000),
    by(100),
    by(10),
    by(1),
];

const fn by(resolution_ns: u64) -> IncreasingClock {
    IncreasingClock::new(SystemClock, Duration::from_nanos(resolution_ns))
}

/// The process's clock for times of so many digits.
pub(crate) fn clock<const DIGITS: usize>() -> &'static IncreasingClock {
    const { assert!(DIGITS <= 9, "a timestamp has 0 to 9 digits of fraction") };
    &CLOCKS[DIGITS]
}

/// Gives a timer that prints so many digits of a second the way to print none twice.
macro_rules! impl_strictly_increasing {
    ([$($generics:tt)*] $Timer:ty, $digits:expr, $example:literal) => {
        impl<$($generics)*> $Timer {
            #[doc = concat!("This timer so that no two texts are the same, and of two the later one tells \
the later time: for those who key on timestamps.

# Guarantees

All such timers of this process that print as many digits of a second share one \
[`IncreasingClock`](tach_core::IncreasingClock), which promises it, whichever threads, layers and \
subscribers they are in. Within a stamp a timer prints the stamp's time, and the same for each line: give \
the one who stamps such a clock, as \
[`EventTime::strictly_increasing`](crate::EventTime::strictly_increasing) does.

# Cost

That of the timer, and a write that all threads share. Choose digits enough: who logs more often than the \
last of them tells apart runs ahead of the time.

# Examples

```
tracing_subscriber::fmt().with_timer(tach_tracing::", $example, ".strictly_increasing()).init();
tracing::info!(\"one\");
tracing::info!(\"another, later\");
```

`cargo run --example timer_increasing`, whose two threads log by such a timer, prints among others

```text
2026-11-21T13:48:46.896252Z  INFO timer_increasing: done worker=1 job=3
2026-11-21T13:48:46.896348Z  INFO timer_increasing: done worker=2 job=1
```")]
            #[must_use]
            pub fn strictly_increasing(
                self,
            ) -> $crate::WithClock<Self, &'static tach_core::IncreasingClock> {
                $crate::WithClock::new(self, $crate::timers::increasing::clock::<{ $digits }>())
            }
        }
    };
}

pub(crate) use impl_strictly_increasing;
