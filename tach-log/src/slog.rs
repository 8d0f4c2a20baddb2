//! The event time for slog's drains.
//!
//! A [`Timestamp`] prints the time at which a drain writes the record. Behind `slog-async` a worker
//! thread writes it, as late as the records before make it. Two drains take the time of the call
//! there: an [`EventTime`] that is [`carried()`](EventTime::carried) in front of `slog-async`, and
//! another behind.
//!
//! ```
//! use slog::{Drain, Logger, o};
//! use slog_async::Async;
//! use slog_term::{FullFormat, PlainSyncDecorator};
//! use tach_log::{Timestamp, slog::EventTime};
//!
//! let drain = FullFormat::new(PlainSyncDecorator::new(std::io::stderr()))
//!     .use_custom_timestamp(|out| write!(out, "{}", Timestamp::new()))
//!     .build()
//!     .fuse();
//! let drain = EventTime::new(Async::new(EventTime::new(drain)).build()).carried();
//! let log = Logger::root(drain.fuse(), o!());
//! slog::info!(log, "written later, with the time of this call");
//! ```

mod carried;

use core::fmt;
use core::result;

use slog::{Drain, FlushError, Level, OwnedKVList, Record};
use tach_core::{Clock, SystemClock};

#[cfg(doc)]
use crate::Timestamp;
use crate::event_time;

/// A drain that gives each record one time.
///
/// While the inner drain handles a record, its time is the event time of the thread
/// ([`tach_core::event_time::current`]), so that [`Timestamp`] and everything else of tach prints
/// that time.
///
/// # Guarantees
///
/// The time is the one that a [`carried()`](Self::carried) drain sent along, also from another
/// thread; or else the event time of the thread; or else the time at which the record arrived here.
///
/// If the values of a logger carry no time, the newest of them may be evaluated once more than it is
/// printed.
///
/// # Cost
///
/// No allocation and no lock; without a time that was carried, one read of the clock and one
/// conversion.
///
/// # Examples
///
/// One time in two drains, without a thread between (with a thread, see the [module](self)):
///
/// ```
/// use slog::{Discard, Drain, Duplicate, Logger, o};
/// use tach_log::slog::EventTime;
///
/// let both = EventTime::new(Duplicate::new(Discard, Discard));
/// let log = Logger::root(both.fuse(), o!());
/// ```
#[derive(Clone, Copy)]
pub struct EventTime<D, C = SystemClock> {
    inner: D,
    clock: C,
    carries: bool,
}

impl<D> EventTime<D> {
    /// Creates a drain around `inner`.
    ///
    /// # Examples
    ///
    /// ```
    /// let drain = tach_log::slog::EventTime::new(slog::Discard);
    /// ```
    #[must_use]
    pub const fn new(inner: D) -> Self {
        Self { inner, clock: SystemClock, carries: false }
    }
}

impl<D, C> EventTime<D, C> {
    /// Sends the time along with the record, for an `EventTime` behind a drain that writes on
    /// another thread or later, as `slog-async` does.
    ///
    /// The time travels among the logger's values, and no drain prints it. A drain between may drop
    /// records, or add some of its own: a record without a time gets the time at which it arrives at
    /// the `EventTime` behind.
    ///
    /// # Cost
    ///
    /// Two allocations a record.
    ///
    /// # Examples
    ///
    /// See the [module](self).
    #[must_use]
    pub fn carried(self) -> Self {
        Self { carries: true, ..self }
    }

    /// Uses `clock` instead of the system's.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_log::slog::EventTime;
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// let drain = EventTime::new(slog::Discard).with_clock(&CLOCK);
    /// ```
    #[must_use]
    pub fn with_clock<E: Clock>(self, clock: E) -> EventTime<D, E> {
        EventTime { inner: self.inner, clock, carries: self.carries }
    }
}

impl<D: Drain, C: Clock> Drain for EventTime<D, C> {
    type Ok = D::Ok;
    type Err = D::Err;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> result::Result<D::Ok, D::Err> {
        if self.carries {
            let values = carried::with_anchor(values, event_time::anchor(&self.clock));
            return self.inner.log(record, &values);
        }
        let anchor = carried::anchor(values).unwrap_or_else(|| event_time::anchor(&self.clock));
        tach_core::event_time::during(anchor, || self.inner.log(record, values))
    }

    fn is_enabled(&self, level: Level) -> bool {
        self.inner.is_enabled(level)
    }

    fn flush(&self) -> result::Result<(), FlushError> {
        self.inner.flush()
    }
}

/// Drains need not be `Debug`.
impl<D, C: fmt::Debug> fmt::Debug for EventTime<D, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventTime").field("clock", &self.clock).finish_non_exhaustive()
    }
}
