//! When something happened, told once for all who write it down.

#[cfg(feature = "std")]
mod pinned;

use crate::clock::Clock;
use crate::instants::Instant;
use crate::unix_time::UnixTime;

/// The moment at which an event happened: an instant, and the Unix time of it.
///
/// One event often becomes several lines: in text and in JSON, as a record of OpenTelemetry. Each writer that
/// reads a clock of its own gets a time of its own. A stamp is read once and pinned to the thread while
/// the event is handled, by `during`. The timers of tach-tracing, the lines of tach-log and the log
/// records of tach-otel ask for it by `current` before they read a clock.
///
/// # Guarantees
///
/// Within a stamp every timer of tach-tracing prints that time, and nothing else, whatever clock the timer
/// has. Where a timer counts from a start, as an uptime does, it prints the time from there to the stamp's
/// instant: the two must be by the same clock to mean anything.
///
/// # Examples
///
/// ```
/// use tach_core::{Stamp, UnixTime};
///
/// /// A writer that goes by the stamp, if there is one.
/// fn line(message: &str) -> String {
///     format!("{} {message}", Stamp::current().map_or_else(UnixTime::now, |stamp| stamp.unix_time()))
/// }
///
/// let (one, other) = Stamp::now().during(|| (line("ready"), line("ready")));
/// assert_eq!(one, other);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    instant: Instant,
    unix_time: UnixTime,
}

impl Stamp {
    /// The stamp of an instant and the Unix time that its clock tells for it.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Instant, Stamp, UnixTime};
    ///
    /// let stamp = Stamp::new(Instant::from_ticks(7), UnixTime::EPOCH);
    /// assert_eq!(stamp.unix_time(), UnixTime::EPOCH);
    /// ```
    #[must_use]
    #[inline]
    pub const fn new(instant: Instant, unix_time: UnixTime) -> Self {
        Self { instant, unix_time }
    }

    /// The stamp of this moment, by the system's clock.
    ///
    /// # Cost
    ///
    /// One counter read and one conversion.
    ///
    /// # Examples
    ///
    /// ```
    /// let stamp = tach_core::Stamp::now();
    /// ```
    #[must_use]
    #[inline]
    pub fn now() -> Self {
        Self::at(Instant::now())
    }

    /// The stamp of an `instant` that was read before, with the Unix time that it has now: for what is
    /// stamped where it happens and written elsewhere, later.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Instant, Stamp};
    ///
    /// let happened = Instant::now();
    /// assert_eq!(Stamp::at(happened).instant(), happened);
    /// ```
    #[must_use]
    #[inline]
    pub fn at(instant: impl Into<Instant>) -> Self {
        let instant = instant.into();
        Self { instant, unix_time: instant.unix_time() }
    }

    /// The stamp of this moment, by `clock`; see [`Clock::stamp`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, Stamp, UnixTime};
    ///
    /// let clock = ManualClock::new(UnixTime::EPOCH);
    /// assert_eq!(Stamp::by(&clock).unix_time(), UnixTime::EPOCH);
    /// ```
    #[must_use]
    #[inline]
    pub fn by(clock: &(impl Clock + ?Sized)) -> Self {
        clock.stamp()
    }

    /// The point in time, of the clock that made the stamp.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Instant, Stamp};
    ///
    /// assert!(Stamp::now().instant() <= Instant::now());
    /// ```
    #[must_use]
    #[inline]
    pub const fn instant(self) -> Instant {
        self.instant
    }

    /// The Unix time.
    ///
    /// # Examples
    ///
    /// ```
    /// println!("{}", tach_core::Stamp::now().unix_time());
    /// ```
    #[must_use]
    #[inline]
    pub const fn unix_time(self) -> UnixTime {
        self.unix_time
    }
}
