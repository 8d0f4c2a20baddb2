//! The trait of all timers.

pub(crate) mod increasing;
mod with_clock;

use tach_core::{Clock, IncreasingClock};
use tracing_subscriber::fmt::time::FormatTime;

pub use self::with_clock::WithClock;

/// A timer of this crate, whose clock can be replaced.
///
/// The methods need `use tach_tracing::Timer as _`. The trait is sealed: only this crate implements
/// it.
pub trait Timer: FormatTime + sealed::Print + Sized {
    /// Sets the clock of this timer.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_tracing::{Timer as _, Utc};
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// tracing_subscriber::fmt().with_timer(Utc::<3>.with_clock(&CLOCK)).init();
    /// tracing::info!("1970-01-01T00:00:00.000Z, in a test");
    /// ```
    #[must_use]
    fn with_clock<C: Clock>(self, clock: C) -> WithClock<Self, C> {
        WithClock::new(self, clock)
    }

    /// Sets a clock whose times never repeat, for programs that use timestamps as keys.
    ///
    /// [`Utc`], [`FixedOffset`], `Local` and the timers whose names begin with `Unix` have this
    /// method.
    ///
    /// # Guarantees
    ///
    /// No two texts are equal, and the later text is the later time, across all such timers of the
    /// process with the same number of digits: they share one [`IncreasingClock`]. A pinned event
    /// time is printed in every line; use [`EventTime::strictly_increasing`] there.
    ///
    /// # Cost
    ///
    /// A write to memory that all threads share. A timer that prints more often than its last digit
    /// changes runs ahead of the time: choose enough digits.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::{Timer as _, Utc};
    ///
    /// tracing_subscriber::fmt().with_timer(Utc::<6>.strictly_increasing()).init();
    /// tracing::info!("one");
    /// tracing::info!("another, later");
    /// ```
    ///
    /// `cargo run --example timer_increasing` prints among others
    ///
    /// ```text
    /// 2026-11-21T13:48:46.896252Z  INFO timer_increasing: done worker=1 job=3
    /// 2026-11-21T13:48:46.896348Z  INFO timer_increasing: done worker=2 job=1
    /// ```
    ///
    /// [`Utc`]: crate::Utc
    /// [`FixedOffset`]: crate::FixedOffset
    /// [`EventTime::strictly_increasing`]: crate::EventTime::strictly_increasing
    #[must_use]
    fn strictly_increasing(self) -> WithClock<Self, &'static IncreasingClock>
    where
        Self: sealed::Digits,
    {
        const { increasing::assert_digits(Self::DIGITS) };
        WithClock::new(self, increasing::clock(Self::DIGITS))
    }
}

/// Bounds that no other crate can name.
pub(crate) mod sealed {
    use tach_core::Clock;
    use tracing_subscriber::fmt::format::Writer;

    /// The text of a timer.
    pub trait Print {
        /// Writes the event time or, without one, the time of `clock`.
        ///
        /// Ignores errors of the writer: the JSON format drops an event whose timer fails.
        fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>);
    }

    /// The fixed number of digits of a second in that text.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` can't be strictly increasing",
        note = "it prints no fixed number of digits of the Unix time's second"
    )]
    pub trait Digits {
        /// From 0 to 9.
        const DIGITS: usize;
    }
}

/// Implements `FormatTime` for a timer, with the system's clock.
macro_rules! impl_format_time {
    ([$($generics:tt)*] $Timer:ty) => {
        impl<$($generics)*> tracing_subscriber::fmt::time::FormatTime for $Timer {
            #[inline]
            fn format_time(
                &self,
                writer: &mut tracing_subscriber::fmt::format::Writer<'_>,
            ) -> core::fmt::Result {
                $crate::timer::sealed::Print::print(self, &tach_core::SystemClock, writer);
                Ok(())
            }
        }
    };
}

pub(crate) use impl_format_time;
