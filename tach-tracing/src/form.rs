//! What a timer prints, apart from the clock by which it tells the time.

use tach_core::Clock;
use tracing_subscriber::fmt::format::Writer;

/// A timer without its clock.
///
/// It tells the moment that `crate::moment` gives: that of the event's stamp or, without one, the clock's
/// now.
pub trait Form {
    /// Writes the text of this moment, and swallows what the writer says: the JSON format drops an event
    /// whose timer fails, and a line without its time is better than no line.
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>);
}

/// Writes `text`, as [`Form::print`] does.
pub(crate) fn write(writer: &mut Writer<'_>, text: &str) {
    let _ = writer.write_str(text);
}

/// Makes a form a timer by the system's clock.
macro_rules! impl_format_time {
    ([$($generics:tt)*] $Timer:ty) => {
        impl<$($generics)*> tracing_subscriber::fmt::time::FormatTime for $Timer {
            #[inline]
            fn format_time(
                &self,
                writer: &mut tracing_subscriber::fmt::format::Writer<'_>,
            ) -> core::fmt::Result {
                $crate::form::Form::print(self, &tach_core::SystemClock, writer);
                Ok(())
            }
        }
    };
}

/// Makes a form a timer by the system's clock and by any other. The example is a timer, and what
/// is true of the `text` that it prints at the epoch.
macro_rules! impl_timer {
    ([$($generics:tt)*] $Timer:ty, $example:literal, $assertion:literal) => {
        impl<$($generics)*> $Timer {
            #[doc = concat!("This timer by `clock`.

# Examples

```
use tach_core::{ManualClock, UnixTime};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime as _;

static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);

let timer = tach_tracing::", $example, ".with_clock(&CLOCK);
let mut text = String::new();
timer.format_time(&mut Writer::new(&mut text)).unwrap();
", $assertion, ";
```")]
            #[must_use]
            pub fn with_clock<C: tach_core::Clock>(self, clock: C) -> $crate::WithClock<Self, C> {
                $crate::WithClock::new(self, clock)
            }
        }

        $crate::form::impl_format_time!([$($generics)*] $Timer);
    };
}

pub(crate) use {impl_format_time, impl_timer};
