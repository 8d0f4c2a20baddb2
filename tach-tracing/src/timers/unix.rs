//! Bare numbers.

use tach_core::{Clock, UnixTime, decimal};
use tracing_subscriber::fmt::format::Writer;

use super::increasing::impl_strictly_increasing;
use crate::form::{Form, impl_timer, write};
use crate::moment;

/// A timer that prints a number by one of `UnixTime`'s methods.
macro_rules! unix_timer {
    ($Timer:ident, $as_number:ident, $unit:literal, $text:literal) => {
        #[doc = concat!("Prints the Unix time in ", $unit, ", rounded down: `", $text, "`.

JSON has it as a string, as it has every timer's text.

# Cost

A counter read and the digits. No allocation, no lock, no write that threads share.

# Examples

```
tracing_subscriber::fmt().with_timer(tach_tracing::", stringify!($Timer), ").init();
tracing::info!(\"ready\");
```

`cargo run --example timer_unix`, which has a line by each such timer, prints among others

```text
", $text, "  INFO timer_unix: ready
```")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $Timer;

        impl Form for $Timer {
            #[inline]
            fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
                let time: UnixTime = moment::unix_time(clock);
                decimal::with_text(time.$as_number(), |text| write(writer, text));
            }
        }
    };
}

unix_timer!(UnixSeconds, as_secs, "seconds", "1795268926");
unix_timer!(UnixMillis, as_millis, "milliseconds", "1795268926884");
unix_timer!(UnixMicros, as_micros, "microseconds", "1795268926884466");
unix_timer!(UnixNanos, as_nanos, "nanoseconds", "1795268926884625034");

impl_timer!([] UnixSeconds, "UnixSeconds", "assert_eq!(text, \"0\")");
impl_timer!([] UnixMillis, "UnixMillis", "assert_eq!(text, \"0\")");
impl_timer!([] UnixMicros, "UnixMicros", "assert_eq!(text, \"0\")");
impl_timer!([] UnixNanos, "UnixNanos", "assert_eq!(text, \"0\")");

impl_strictly_increasing!([] UnixSeconds, 0, "UnixSeconds");
impl_strictly_increasing!([] UnixMillis, 3, "UnixMillis");
impl_strictly_increasing!([] UnixMicros, 6, "UnixMicros");
impl_strictly_increasing!([] UnixNanos, 9, "UnixNanos");
