//! The drain behind: has a record written by the time at which it was logged.

use core::fmt;
use core::result;

use slog::{Drain, FlushError, Level, OwnedKVList, Record};
use tach_core::{Clock, SystemClock};

use super::carried;
use crate::moment;

/// A drain around those that print a record: while they do, its time is the current
/// [`Stamp`](tach_core::Stamp), so that [`term`](super::term), [`ts`](super::ts) and whatever else of tach is
/// used there print that one.
///
/// # Guarantees
///
/// The time is the one that a [`Stamped`](super::Stamped) sent along, also from another thread. Where there
/// is none, it is that of the current stamp, or else that at which the record came here.
///
/// If the values of a record hold no stamp, the newest one of the logger may be evaluated once more than
/// it is printed.
///
/// # Cost
///
/// No allocation, no lock; without a stamp one read of the clock and one conversion.
///
/// # Examples
///
/// One time in two drains, without a thread between (with one, see the [module](super)):
///
/// ```
/// use slog::{Discard, Drain, Duplicate, Logger, o};
/// use tach_log::slog::Pinned;
///
/// let both = Pinned::new(Duplicate::new(Discard, Discard));
/// let log = Logger::root(both.fuse(), o!());
/// ```
#[derive(Clone, Copy)]
pub struct Pinned<D, C = SystemClock> {
    inner: D,
    clock: C,
}

impl<D> Pinned<D> {
    /// Has `inner` see each record within the stamp of its time.
    ///
    /// # Examples
    ///
    /// ```
    /// let drain = tach_log::slog::Pinned::new(slog::Discard);
    /// ```
    #[must_use]
    pub const fn new(inner: D) -> Self {
        Self { inner, clock: SystemClock }
    }
}

impl<D, C> Pinned<D, C> {
    /// The same, where records without a stamp are given the time by `clock`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_log::slog::Pinned;
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// let drain = Pinned::new(slog::Discard).with_clock(&CLOCK);
    /// ```
    #[must_use]
    pub fn with_clock<E: Clock>(self, clock: E) -> Pinned<D, E> {
        Pinned { inner: self.inner, clock }
    }
}

impl<D: Drain, C: Clock> Drain for Pinned<D, C> {
    type Ok = D::Ok;
    type Err = D::Err;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> result::Result<D::Ok, D::Err> {
        let stamp = carried::stamp(values).unwrap_or_else(|| moment::stamp(&self.clock));
        stamp.during(|| self.inner.log(record, values))
    }

    fn is_enabled(&self, level: Level) -> bool {
        self.inner.is_enabled(level)
    }

    fn flush(&self) -> result::Result<(), FlushError> {
        self.inner.flush()
    }
}

/// Drains need not be `Debug`.
impl<D, C: fmt::Debug> fmt::Debug for Pinned<D, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned").field("clock", &self.clock).finish_non_exhaustive()
    }
}
