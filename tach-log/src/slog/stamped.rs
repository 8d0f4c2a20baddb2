//! The drain in front: notes when a record was logged.

use core::fmt;
use core::result;

use slog::{Drain, FlushError, Level, OwnedKVList, Record};
use tach_core::{Clock, SystemClock};

use super::carried;
use crate::moment;

/// A drain in front of one that writes records elsewhere or later, as `slog-async` does: it sends the time
/// along, for a [`Pinned`](super::Pinned) on the other side.
///
/// The stamp hides among the logger's values. Drains print nothing of it.
///
/// # Guarantees
///
/// The time is that of the current [`Stamp`](tach_core::Stamp), or else that at which the record came
/// here. A drain in between may drop records, or add some of its own: those that have no stamp are given
/// the time at which they come to the `Pinned`.
///
/// # Cost
///
/// One read of the clock, one conversion and two allocations a record.
///
/// # Examples
///
/// See the [module](super).
#[derive(Clone, Copy)]
pub struct Stamped<D, C = SystemClock> {
    inner: D,
    clock: C,
}

impl<D> Stamped<D> {
    /// Sends the time of each record along with it to `inner`.
    ///
    /// # Examples
    ///
    /// ```
    /// use slog::Discard;
    /// use tach_log::slog::{Pinned, Stamped};
    ///
    /// let drain = Stamped::new(slog_async::Async::new(Pinned::new(Discard)).build());
    /// ```
    #[must_use]
    pub const fn new(inner: D) -> Self {
        Self { inner, clock: SystemClock }
    }
}

impl<D, C> Stamped<D, C> {
    /// The same by `clock`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_log::slog::Stamped;
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// let drain = Stamped::new(slog::Discard).with_clock(&CLOCK);
    /// ```
    #[must_use]
    pub fn with_clock<E: Clock>(self, clock: E) -> Stamped<D, E> {
        Stamped { inner: self.inner, clock }
    }
}

impl<D: Drain, C: Clock> Drain for Stamped<D, C> {
    type Ok = D::Ok;
    type Err = D::Err;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> result::Result<D::Ok, D::Err> {
        self.inner.log(record, &carried::with_stamp(values, moment::stamp(&self.clock)))
    }

    fn is_enabled(&self, level: Level) -> bool {
        self.inner.is_enabled(level)
    }

    fn flush(&self) -> result::Result<(), FlushError> {
        self.inner.flush()
    }
}

/// Drains need not be `Debug`.
impl<D, C: fmt::Debug> fmt::Debug for Stamped<D, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stamped").field("clock", &self.clock).finish_non_exhaustive()
    }
}
