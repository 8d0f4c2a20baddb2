//! Unix time as a number.

use tach_core::{Clock, UnixTime, adapter};
use tracing_subscriber::fmt::format::Writer;

use super::{current, write};
use crate::timer::sealed::{Digits, Print};
use crate::timer::{Timer, impl_format_time};

/// Defines a timer that prints the number from a method of `UnixTime`.
macro_rules! unix_timer {
    ($Timer:ident, $as_number:ident, $digits:literal, $unit:literal, $text:literal) => {
        #[doc = concat!("A timer that prints the Unix time in ", $unit, ", rounded down: `", $text, "`.

JSON has it as a string, like the text of every timer.

# Cost

A counter read and the digits. No allocation, no lock, no shared write.

# Examples

```
tracing_subscriber::fmt().with_timer(tach_tracing::", stringify!($Timer), ").init();
tracing::info!(\"ready\");
```

`cargo run --example timer_unix` prints among others

```text
", $text, "  INFO timer_unix: ready
```")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $Timer;

        impl_format_time!([] $Timer);

        impl Timer for $Timer {}

        impl Digits for $Timer {
            const DIGITS: usize = $digits;
        }

        impl Print for $Timer {
            #[inline]
            fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
                let time: UnixTime = current::unix_time(clock);
                adapter::decimal::with_text(time.$as_number(), |text| write(writer, text));
            }
        }
    };
}

unix_timer!(UnixSeconds, as_secs, 0, "seconds", "1795268926");
unix_timer!(UnixMillis, as_millis, 3, "milliseconds", "1795268926884");
unix_timer!(UnixMicros, as_micros, 6, "microseconds", "1795268926884466");
unix_timer!(UnixNanos, as_nanos, 9, "nanoseconds", "1795268926884625034");
