//! Time budgets: deadlines with their totals.

use core::fmt;
use core::num::NonZeroU32;
use core::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::error::Error;
use crate::instants::Instant;

/// A time limit for a task, counted from the budget's creation or from an earlier start.
///
/// Copies share the start. So every part of a task can carry one, and all copies run out together,
/// on any threads.
///
/// # Guarantees
///
/// An exhausted budget stays exhausted; if it began more than a minute ago, to within a microsecond
/// and a hundred-millionth of its age. Time passes by the OS's monotonic clock, as for
/// [`MonotonicInstant`](crate::MonotonicInstant): a step of the wall clock changes nothing. A test
/// moves it with [`ManualClock::during`](crate::ManualClock::during).
///
/// *Not* promised: that anything happens at the end. A budget does not interrupt a task, which must
/// check it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_core::{Budget, Error};
///
/// fn rows(budget: Budget) -> Result<u64, Error> {
///     let mut rows = 0;
///     while rows < 1_000 {
///         budget.check()?;
///         rows += 1;
///     }
///     Ok(rows)
/// }
///
/// assert_eq!(rows(Budget::new(Duration::from_secs(60))), Ok(1_000));
/// assert!(rows(Budget::new(Duration::ZERO)).is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    // Public only for tach-tower, which makes budgets with the same start and another total.
    #[doc(hidden)]
    pub start: Instant,
    /// `u64::MAX` never runs out. Two words in all: tach-tower copies a budget for each poll.
    #[doc(hidden)]
    pub total_ns: u64,
}

impl Budget {
    /// Creates a budget of `total` that begins now. [`Duration::MAX`] never runs out, and neither
    /// does a total of 584 years, which nanoseconds can't count.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let budget = tach_core::Budget::new(Duration::from_millis(250));
    /// ```
    #[must_use]
    #[inline]
    pub fn new(total: Duration) -> Self {
        Self { start: SystemClock.early_now(), total_ns: ns(total) }
    }

    /// Creates a budget of `total` that began at `start`, an instant of the system's clock. The
    /// time that a task has waited in a queue counts.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::{Budget, Instant};
    ///
    /// let accepted = Instant::now();
    /// // Here the task waits for a worker.
    /// let waited = accepted.elapsed();
    /// let budget = Budget::since(accepted, Duration::from_millis(250));
    /// assert!(budget.elapsed() >= waited);
    /// ```
    #[must_use]
    #[inline]
    pub fn since(start: impl Into<Instant>, total: Duration) -> Self {
        Self { start: start.into(), total_ns: ns(total) }
    }

    /// Returns the time that the budget had at its start.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::Budget;
    ///
    /// assert_eq!(Budget::new(Duration::from_secs(1)).total(), Duration::from_secs(1));
    /// ```
    #[must_use]
    #[inline]
    pub const fn total(&self) -> Duration {
        if self.total_ns == u64::MAX { Duration::MAX } else { Duration::from_nanos(self.total_ns) }
    }

    /// Returns the time since the start, which may exceed the total.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let budget = tach_core::Budget::new(Duration::ZERO);
    /// println!("{:?} over", budget.elapsed());
    /// ```
    #[must_use]
    #[inline]
    pub fn elapsed(&self) -> Duration {
        SystemClock.duration_between(self.start, SystemClock.monotonic_now())
    }

    /// Returns the instant at which the budget ends; `None` if it never runs out, or ends later
    /// than a tick can represent.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::{Budget, Instant};
    ///
    /// let accepted = Instant::now();
    /// let budget = Budget::since(accepted, Duration::from_secs(1));
    /// assert_eq!(budget.end(), Some(accepted + Duration::from_secs(1)));
    /// assert_eq!(Budget::new(Duration::MAX).end(), None);
    /// ```
    #[must_use]
    #[inline]
    pub fn end(&self) -> Option<Instant> {
        if self.total_ns == u64::MAX { None } else { self.start.checked_add(self.total()) }
    }

    /// Returns the remaining time: zero if the budget is exhausted, [`Duration::MAX`] if it never
    /// runs out.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::Budget;
    ///
    /// assert!(Budget::new(Duration::from_secs(1)).remaining() <= Duration::from_secs(1));
    /// assert_eq!(Budget::new(Duration::ZERO).remaining(), Duration::ZERO);
    /// assert_eq!(Budget::new(Duration::MAX).remaining(), Duration::MAX);
    /// ```
    #[must_use]
    #[inline]
    pub fn remaining(&self) -> Duration {
        self.remaining_at(|| SystemClock.monotonic_now())
    }

    /// Returns whether no time remains.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::Budget;
    ///
    /// assert!(Budget::new(Duration::ZERO).is_exhausted());
    /// assert!(!Budget::new(Duration::MAX).is_exhausted());
    /// ```
    #[must_use]
    #[inline]
    pub fn is_exhausted(&self) -> bool {
        self.remaining().is_zero()
    }

    /// Checks that time remains: like [`is_exhausted`](Self::is_exhausted), for use with `?`.
    ///
    /// # Errors
    ///
    /// Fails if no time remains.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::Budget;
    ///
    /// assert!(Budget::new(Duration::MAX).check().is_ok());
    /// assert!(Budget::new(Duration::ZERO).check().is_err());
    /// ```
    #[inline]
    pub fn check(&self) -> Result<(), Error> {
        if self.is_exhausted() { Err(Error::exhausted(self.total_ns)) } else { Ok(()) }
    }

    /// Creates a budget for a part of the task. It begins now, and its total is `cap`, or the
    /// remaining time less `reserve` if that is less. The task keeps `reserve` for its own work
    /// after the part has ended. A part of a budget that never runs out has `cap`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::Budget;
    ///
    /// let request = Budget::new(Duration::from_secs(60));
    /// let query = request.child(Duration::from_secs(2), Duration::ZERO);
    /// assert_eq!(query.total(), Duration::from_secs(2));
    /// let call = request.child(Duration::MAX, Duration::from_secs(5));
    /// assert!(call.total() <= Duration::from_secs(55));
    /// ```
    #[must_use]
    pub fn child(&self, cap: Duration, reserve: Duration) -> Self {
        // One reading serves both, so that no time is lost or counted twice between two readings.
        let start = SystemClock.monotonic_now();
        let left = match self.remaining_at(|| start) {
            Duration::MAX => Duration::MAX,
            left => left.saturating_sub(reserve),
        };
        Self { start, total_ns: ns(cap.min(left)) }
    }

    /// Returns the remaining time in whole milliseconds, at most `max`; `None` if less than one
    /// remains. Use this for limits that a server or the OS takes as a number, where zero means for
    /// ever: `statement_timeout` of `PostgreSQL`, `BLPOP` of Redis, `SO_RCVTIMEO`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::Budget;
    ///
    /// const MAX: Duration = Duration::from_secs(30);
    ///
    /// fn statement(budget: &Budget) -> Option<String> {
    ///     let ms = budget.millis(MAX)?;
    ///     Some(format!("SET LOCAL statement_timeout = {ms}"))
    /// }
    ///
    /// let endless = Budget::new(Duration::MAX);
    /// assert_eq!(statement(&endless).unwrap(), "SET LOCAL statement_timeout = 30000");
    /// assert_eq!(statement(&Budget::new(Duration::from_micros(400))), None);
    /// ```
    #[must_use]
    pub fn millis(&self, max: Duration) -> Option<NonZeroU32> {
        let ms = self.remaining().min(max).as_millis();
        NonZeroU32::new(u32::try_from(ms).unwrap_or(u32::MAX))
    }

    #[inline]
    fn remaining_at(&self, now: impl FnOnce() -> Instant) -> Duration {
        match self.total() {
            Duration::MAX => Duration::MAX,
            total => total.saturating_sub(SystemClock.duration_between(self.start, now())),
        }
    }
}

/// Converts a total to ns; saturates.
#[inline]
fn ns(total: Duration) -> u64 {
    u64::try_from(total.as_nanos()).unwrap_or(u64::MAX)
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, total) = (&self.start, &self.total());
        f.debug_struct("Budget").field("start", start).field("total", total).finish_non_exhaustive()
    }
}
