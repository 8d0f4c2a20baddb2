//! One time for all that is written of a record.

use core::fmt;

use log::{Log, Metadata, Record};
use tach_core::{Clock, SystemClock};

use crate::moment;

/// A logger around another one, which reads the clock once a record.
///
/// While the inner logger handles a record, its time is the current [`Stamp`](tach_core::Stamp) of the
/// thread: whatever of tach writes it there, to however many targets and in whatever formats, writes that
/// time. For several loggers take [`Sinks`](crate::Sinks).
///
/// # Guarantees
///
/// The time is that at which the record came here. Within a stamp that is pinned already, as by another
/// `Stamped` around this one, it is that stamp's. What the inner logger hands to other threads is written
/// there by the time of then.
///
/// # Cost
///
/// One read of the clock and one conversion for every record that comes here, also if the inner logger
/// drops it. No allocation, no lock.
///
/// # Examples
///
/// ```
/// use log::LevelFilter;
/// use tach_log::{Sinks, Stamped};
///
/// let text = env_logger::Builder::new()
///     .filter_level(LevelFilter::Info)
///     .format(tach_log::write_line)
///     .build();
/// let json = env_logger::Builder::new()
///     .filter_level(LevelFilter::Debug)
///     .target(env_logger::Target::Stdout)
///     .format(tach_log::write_json)
///     .build();
/// log::set_boxed_logger(Box::new(Stamped::new(Sinks::new().with(text).with(json))))?;
/// log::set_max_level(LevelFilter::Debug);
/// log::info!("one record, two lines, one time");
/// # Ok::<(), log::SetLoggerError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Stamped<L, C = SystemClock> {
    inner: L,
    clock: C,
}

impl<L> Stamped<L> {
    /// Has `inner` see each record within the stamp of its time.
    ///
    /// # Examples
    ///
    /// ```
    /// let logger = tach_log::Stamped::new(env_logger::Builder::from_default_env().build());
    /// ```
    #[must_use]
    pub const fn new(inner: L) -> Self {
        Self { inner, clock: SystemClock }
    }
}

impl<L, C> Stamped<L, C> {
    /// The same by `clock`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_log::Stamped;
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// let logger = Stamped::new(env_logger::Builder::new().build()).with_clock(&CLOCK);
    /// ```
    #[must_use]
    pub fn with_clock<D: Clock>(self, clock: D) -> Stamped<L, D> {
        Stamped { inner: self.inner, clock }
    }
}

impl<L: Log, C: Clock> Log for Stamped<L, C> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.inner.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        moment::stamp(&self.clock).during(|| self.inner.log(record));
    }

    fn flush(&self) {
        self.inner.flush();
    }
}

/// Loggers need not be `Debug`.
impl<L, C: fmt::Debug> fmt::Debug for Stamped<L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stamped").field("clock", &self.clock).finish_non_exhaustive()
    }
}
