//! One time for everything written about an event.

#[cfg(feature = "slog")]
mod slog;

use core::fmt;

use log::{Log, Metadata, Record};
use tach_core::{Anchor, Clock, SystemClock, UnixTime, event_time};

/// Returns the event time of the thread, or else `clock`'s current time.
#[inline]
pub(crate) fn unix_time(clock: &impl Clock) -> UnixTime {
    event_time::current().map_or_else(|| clock.unix_time(), Anchor::unix_time)
}

/// Returns the event time of the thread, or else `clock`'s current time, with its instant.
#[inline]
pub(crate) fn anchor(clock: &impl Clock) -> Anchor {
    event_time::current().unwrap_or_else(|| clock.anchor())
}

/// A logger that reads the clock once for each record and passes the record on with that time. With
/// the feature `slog`, also a drain.
///
/// While the inner loggers handle a record, its time is the event time of the thread
/// ([`event_time::current`]): every output of tach writes that time, in whatever format.
///
/// # Guarantees
///
/// The time is when the record arrived here, unless the thread has an event time already, as within
/// another `EventTime`. It does not follow a record to another thread.
///
/// # Cost
///
/// One read of the clock and one conversion for every record, also if the loggers drop it. No
/// allocation and no lock.
///
/// # Examples
///
/// ```
/// use env_logger::{Builder, Target};
/// use log::LevelFilter;
/// use tach_log::{EventTime, Json, Line};
///
/// let text = Builder::new()
///     .filter_level(LevelFilter::Info)
///     .format(tach_log::write(Line::new()))
///     .build();
/// let json = Builder::new()
///     .filter_level(LevelFilter::Debug)
///     .target(Target::Stdout)
///     .format(tach_log::write(Json::new()))
///     .build();
/// log::set_boxed_logger(Box::new(EventTime::new(text).and(json)))?;
/// log::set_max_level(LevelFilter::Debug);
/// log::info!("one record, two lines, one time");
/// # Ok::<(), log::SetLoggerError>(())
/// ```
#[derive(Clone, Copy)]
pub struct EventTime<L, C = SystemClock> {
    inner: L,
    clock: C,
}

impl<L> EventTime<L> {
    /// Creates a logger around `inner`, or a drain.
    ///
    /// # Examples
    ///
    /// ```
    /// let logger = tach_log::EventTime::new(env_logger::Builder::from_default_env().build());
    /// ```
    #[must_use]
    pub const fn new(inner: L) -> Self {
        Self { inner, clock: SystemClock }
    }
}

impl<L: Log + 'static, C> EventTime<L, C> {
    /// Adds another logger, which receives every record last.
    ///
    /// Each logger keeps its own filter. Pass [`log::set_max_level`] their most verbose level. Both
    /// are in a box, so that a struct can name the type.
    ///
    /// # Examples
    ///
    /// ```
    /// use env_logger::Builder;
    /// use log::Log;
    /// use tach_log::EventTime;
    ///
    /// let quiet = Builder::new().filter_level(log::LevelFilter::Error).build();
    /// let verbose = Builder::new().filter_level(log::LevelFilter::Trace).build();
    /// let logger: EventTime<Box<dyn Log>> = EventTime::new(quiet).and(verbose);
    /// ```
    #[must_use]
    pub fn and(self, other: impl Log + 'static) -> EventTime<Box<dyn Log>, C> {
        EventTime { inner: Box::new(Both { first: self.inner, second: other }), clock: self.clock }
    }
}

impl<L, C> EventTime<L, C> {
    /// Uses `clock` instead of the system's.
    ///
    /// A test can compare whole lines that way, whatever the format.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_log::{EventTime, Line};
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// let logger = env_logger::Builder::new().format(tach_log::write(Line::new())).build();
    /// let logger = EventTime::new(logger).with_clock(&CLOCK);
    /// ```
    #[must_use]
    pub fn with_clock<D: Clock>(self, clock: D) -> EventTime<L, D> {
        EventTime { inner: self.inner, clock }
    }
}

impl<L: Log, C: Clock> Log for EventTime<L, C> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.inner.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        event_time::during(anchor(&self.clock), || self.inner.log(record));
    }

    fn flush(&self) {
        self.inner.flush();
    }
}

/// Loggers need not be `Debug`.
impl<L, C: fmt::Debug> fmt::Debug for EventTime<L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventTime").field("clock", &self.clock).finish_non_exhaustive()
    }
}

/// Two loggers; the first receives each record first.
struct Both<L, M> {
    first: L,
    second: M,
}

impl<L: Log, M: Log> Log for Both<L, M> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.first.enabled(metadata) || self.second.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        self.first.log(record);
        self.second.log(record);
    }

    fn flush(&self) {
        self.first.flush();
        self.second.flush();
    }
}
