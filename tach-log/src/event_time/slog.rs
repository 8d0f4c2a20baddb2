//! The event time for slog's drains.

mod carried;

use core::result;

use slog::{Drain, FlushError, Level, OwnedKVList, Record};
use tach_core::{Clock, event_time};

use super::{EventTime, anchor};

impl<D, C> EventTime<D, C> {
    /// Sends the time along with each record of slog, for an `EventTime` on another thread, as
    /// behind `slog-async`. Without both, the worker prints the time at which it writes.
    ///
    /// The time travels among the logger's values, and no drain prints it. A record that a drain
    /// between adds gets the time at which it arrives at the `EventTime` behind.
    ///
    /// # Cost
    ///
    /// Two allocations a record.
    ///
    /// # Examples
    ///
    /// ```
    /// use slog::{Drain, Logger, o};
    /// use slog_async::Async;
    /// use slog_term::{FullFormat, PlainSyncDecorator};
    /// use tach_log::{EventTime, Timestamp};
    ///
    /// let drain = FullFormat::new(PlainSyncDecorator::new(std::io::stderr()))
    ///     .use_custom_timestamp(|out| write!(out, "{}", Timestamp::new()))
    ///     .build()
    ///     .fuse();
    /// let drain = EventTime::new(Async::new(EventTime::new(drain)).build()).carried();
    /// let log = Logger::root(drain.fuse(), o!());
    /// slog::info!(log, "written later, with the time of this call");
    /// ```
    #[must_use]
    pub fn carried(self) -> EventTime<Carried<D>, C> {
        EventTime { inner: Carried(self.inner), clock: self.clock }
    }
}

/// A drain that receives the time among the logger's values.
#[derive(Debug, Clone, Copy)]
pub struct Carried<D>(D);

/// The inner drain's event time is the one that a [`carried()`](EventTime::carried) drain sent
/// along; or else the thread's; or else the time at which the record arrived here.
///
/// If no time was sent along, the newest of a logger's values may be evaluated once more.
impl<D: Drain, C: Clock> Drain for EventTime<D, C> {
    type Ok = D::Ok;
    type Err = D::Err;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> result::Result<D::Ok, D::Err> {
        let anchor = carried::anchor(values).unwrap_or_else(|| anchor(&self.clock));
        event_time::during(anchor, || self.inner.log(record, values))
    }

    fn is_enabled(&self, level: Level) -> bool {
        self.inner.is_enabled(level)
    }

    fn flush(&self) -> result::Result<(), FlushError> {
        self.inner.flush()
    }
}

impl<D: Drain, C: Clock> Drain for EventTime<Carried<D>, C> {
    type Ok = D::Ok;
    type Err = D::Err;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> result::Result<D::Ok, D::Err> {
        self.inner.0.log(record, &carried::with_anchor(values, anchor(&self.clock)))
    }

    fn is_enabled(&self, level: Level) -> bool {
        self.inner.0.is_enabled(level)
    }

    fn flush(&self) -> result::Result<(), FlushError> {
        self.inner.0.flush()
    }
}
