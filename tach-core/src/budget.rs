//! Time budgets: deadlines with their totals.

use core::fmt;
use core::ptr;
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
/// [`MonotonicInstant`](crate::MonotonicInstant), or by the budget's own clock: a step of the wall
/// clock changes nothing.
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
#[derive(Clone, Copy)]
pub struct Budget {
    // The fields are for tach-tower, which compares starts and clocks, and makes budgets with the
    // same start and another total: `Budget { total, ..budget }`. No others should use them.
    #[doc(hidden)]
    pub start: Instant,
    #[doc(hidden)]
    pub total: Duration,
    /// The total of the budget that this one is a part of, or its own. `Duration::MAX` if that has
    /// no end: then this budget counts as a whole.
    #[doc(hidden)]
    pub root: Duration,
    /// `None` for the system's clock, which needs no call through a pointer.
    #[doc(hidden)]
    pub clock: Option<&'static dyn Clock>,
}

impl Budget {
    /// Creates a budget of `total` that begins now. [`Duration::MAX`] never runs out.
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
        Self { start: SystemClock.early_now(), total, root: total, clock: None }
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
        Self { start: start.into(), total, root: total, clock: None }
    }

    /// Restarts the budget now, by `clock` instead of the system's clock.
    ///
    /// The clock is a `&'static dyn Clock`, not a type parameter: a budget is passed through the
    /// signatures of all functions that share it, and they should not name its clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::{Budget, ManualClock, UnixTime};
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// let budget = Budget::new(Duration::from_secs(2)).with_clock(&CLOCK);
    /// CLOCK.advance(Duration::from_secs(2));
    /// assert!(budget.is_exhausted());
    /// ```
    #[must_use]
    pub fn with_clock(self, clock: &'static dyn Clock) -> Self {
        Self { start: clock.early_now(), clock: Some(clock), ..self }
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
        self.total
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
        self.elapsed_at(self.now())
    }

    /// Returns the instant at which the budget ends, by its own clock; `None` if it never runs out,
    /// or later than a tick can represent.
    ///
    /// If the clock is of your own type, its ticks must last as long as those of the system's
    /// clock: [`Clock`] has no method that adds.
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
        if self.total == Duration::MAX { None } else { self.start.checked_add(self.total) }
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
        if self.total == Duration::MAX { self.total } else { self.remaining_at(self.now()) }
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
        if self.is_exhausted() { Err(Error::exhausted(self.total, self.root())) } else { Ok(()) }
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
        let start = self.now();
        let left = match self.total {
            Duration::MAX => Duration::MAX,
            _ => self.remaining_at(start).saturating_sub(reserve),
        };
        let total = cap.min(left);
        let root = if self.total == Duration::MAX { total } else { self.root() };
        Self { start, total, root, clock: self.clock }
    }

    /// Returns the total of the budget that this one is a part of, or its own. A part of a budget
    /// without an end counts as a whole.
    #[inline]
    fn root(&self) -> Duration {
        if self.root == Duration::MAX { self.total } else { self.root }
    }

    #[inline]
    fn now(&self) -> Instant {
        match self.clock {
            None => SystemClock.monotonic_now(),
            Some(clock) => clock.monotonic_now(),
        }
    }

    #[inline]
    fn elapsed_at(&self, now: Instant) -> Duration {
        match self.clock {
            None => SystemClock.duration_between(self.start, now),
            Some(clock) => clock.duration_between(self.start, now),
        }
    }

    #[inline]
    fn remaining_at(&self, now: Instant) -> Duration {
        self.total.saturating_sub(self.elapsed_at(now))
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start, total, .. } = self;
        f.debug_struct("Budget").field("start", start).field("total", total).finish_non_exhaustive()
    }
}

/// Budgets are equal if they have the same start, total and clock.
///
/// Clocks are compared by address. Two clocks may share an address, and then count as one: clocks
/// of zero-sized types, and a clock that is the first field of another.
impl PartialEq for Budget {
    fn eq(&self, other: &Self) -> bool {
        let address = |budget: &Self| budget.clock.map(|clock| ptr::from_ref(clock).cast::<()>());
        (self.start, self.total) == (other.start, other.total) && address(self) == address(other)
    }
}

impl Eq for Budget {}

#[cfg(test)]
mod tests {
    use std::boxed::Box;
    use std::format;

    use super::*;
    use crate::clock::ManualClock;
    use crate::instants::MonotonicInstant;

    const SECOND: Duration = Duration::from_secs(1);

    /// Returns a budget that began `ago` before now, and its clock.
    fn begun(ago: Duration, total: Duration) -> (Budget, &'static ManualClock) {
        let clock: &ManualClock = Box::leak(Box::default());
        let budget = Budget::new(total).with_clock(clock);
        clock.advance(ago);
        (budget, clock)
    }

    #[test]
    fn the_remaining_time_is_the_total_less_the_elapsed() {
        let half_second = Duration::from_millis(500);
        let cases = [
            (Duration::ZERO, Duration::ZERO),
            (half_second, Duration::ZERO),
            (SECOND, Duration::ZERO),
            (2 * SECOND, SECOND),
            (Duration::MAX, Duration::MAX),
        ];
        for (total, left) in cases {
            let (budget, _) = begun(SECOND, total);
            assert_eq!((budget.elapsed(), budget.remaining()), (SECOND, left));
            assert_eq!(begun(Duration::ZERO, total).0.remaining(), total, "nothing has elapsed");
        }
    }

    #[test]
    fn an_exhausted_budget_says_so_everywhere() {
        let (budget, clock) = begun(Duration::from_nanos(999_999_999), SECOND);
        assert_eq!(budget.check(), Ok(()));
        for late in [Duration::from_nanos(1), SECOND] {
            clock.advance(late);
            assert!(budget.is_exhausted());
            assert_eq!(budget.remaining(), Duration::ZERO);
            assert_eq!(budget.check(), Err(Error::exhausted(SECOND, SECOND)));
            assert!(budget.child(Duration::MAX, Duration::ZERO).is_exhausted());
        }
        assert_eq!(budget.elapsed(), 2 * SECOND, "elapsed goes on past the total");
    }

    #[test]
    fn a_child_gets_the_lesser_of_limit_and_rest() {
        let (parent, clock) = begun(SECOND, 3600 * SECOND);
        assert_eq!(parent.child(60 * SECOND, Duration::ZERO).total(), 60 * SECOND);
        let child = parent.child(Duration::MAX, Duration::ZERO);
        assert_eq!(child.total(), 3599 * SECOND);
        assert!(parent.child(Duration::ZERO, Duration::ZERO).is_exhausted());
        clock.advance(3599 * SECOND);
        assert!(child.is_exhausted() && parent.is_exhausted(), "they run out together");
    }

    #[test]
    fn a_child_leaves_its_parent_the_reserve() {
        let (parent, clock) = begun(SECOND, 10 * SECOND);
        let cases = [
            (Duration::MAX, SECOND, 8 * SECOND),
            (7 * SECOND, SECOND, 7 * SECOND),
            (Duration::MAX, 9 * SECOND, Duration::ZERO),
            (Duration::MAX, Duration::MAX, Duration::ZERO),
        ];
        for (cap, reserve, total) in cases {
            assert_eq!(parent.child(cap, reserve).total(), total, "{cap:?} less {reserve:?}");
        }
        let child = parent.child(Duration::MAX, SECOND);
        clock.advance(child.total());
        assert!(child.is_exhausted());
        assert_eq!(parent.remaining(), SECOND);
    }

    #[test]
    fn a_budget_can_begin_in_the_past() {
        let clock: &ManualClock = Box::leak(Box::default());
        let start = clock.now();
        clock.advance(SECOND);
        let budget = Budget { start, ..Budget::new(3 * SECOND).with_clock(clock) };
        assert_eq!((budget.total(), budget.elapsed()), (3 * SECOND, SECOND));
        assert_eq!(budget.remaining(), 2 * SECOND);
        assert_eq!(budget.start, start);
        let system = Budget::since(MonotonicInstant::now() - SECOND, 60 * SECOND);
        assert!(system.elapsed() >= SECOND && system.remaining() <= 59 * SECOND);
    }

    #[test]
    fn the_largest_duration_never_runs_out() {
        let (budget, clock) = begun(SECOND, Duration::MAX);
        clock.advance(Duration::MAX);
        assert_eq!(budget.check(), Ok(()));
        assert_eq!((budget.remaining(), budget.end()), (Duration::MAX, None));
        assert_eq!(budget.child(Duration::MAX, SECOND).total(), Duration::MAX);
        assert_eq!(budget.child(SECOND, SECOND).total(), SECOND);
    }

    #[test]
    fn the_end_is_the_start_plus_the_total() {
        let (budget, clock) = begun(SECOND, 3 * SECOND);
        let end = budget.end().expect("an instant");
        assert_eq!(clock.duration_between(clock.now(), end), 2 * SECOND);
        assert!(!budget.is_exhausted());
        clock.advance(2 * SECOND);
        assert_eq!((clock.now(), budget.is_exhausted()), (end, true));
        // More than a tick of the system's clock can represent.
        assert_eq!(Budget::new(Duration::from_secs(600 * 365 * 86_400)).end(), None);
    }

    #[test]
    fn an_error_names_the_whole_budget() {
        let (whole, clock) = begun(Duration::ZERO, Duration::from_millis(250));
        let part = whole.child(Duration::from_millis(100), Duration::ZERO);
        let message = |budget: &Budget| format!("{}", budget.check().unwrap_err());
        clock.advance(SECOND);
        assert_eq!(message(&whole), "the time budget of 250ms is exhausted");
        // A part that had no time.
        assert_eq!(message(&whole.child(SECOND, SECOND)), "the time budget of 250ms is exhausted");
        let expected = "100ms, a part of the time budget of 250ms, are exhausted";
        assert_eq!(message(&part), expected);
        assert_eq!(part.child(SECOND, SECOND).root(), Duration::from_millis(250));
        let (endless, clock) = begun(SECOND, Duration::MAX);
        let part = endless.child(SECOND, SECOND);
        clock.advance(SECOND);
        assert_eq!(message(&part), "the time budget of 1s is exhausted");
        let shorter = Budget { total: SECOND, ..endless };
        assert_eq!(message(&shorter), "the time budget of 1s is exhausted");
        let part = shorter.child(SECOND, SECOND);
        assert_eq!(message(&part), "the time budget of 1s is exhausted");
    }

    #[test]
    fn without_a_clock_it_is_the_systems() {
        let budget = Budget::new(60 * SECOND);
        assert!(budget.remaining() > 30 * SECOND);
        assert!(budget.elapsed() < 30 * SECOND);
        assert!(!budget.child(SECOND, Duration::ZERO).is_exhausted());
        assert!(Budget::since(MonotonicInstant::now() - SECOND, SECOND).is_exhausted());
    }

    #[test]
    fn debug_shows_the_start_and_the_total() {
        let (budget, _) = begun(Duration::ZERO, SECOND);
        let expected = format!("Budget {{ start: {:?}, total: 1s, .. }}", budget.start);
        assert_eq!(format!("{budget:?}"), expected);
    }

    #[test]
    fn budgets_of_two_clocks_are_not_equal() {
        let ((one, _), (other, _)) = (begun(SECOND, SECOND), begun(SECOND, SECOND));
        let copy = one;
        assert_eq!(one, copy);
        assert_ne!(one, other);
        assert_ne!(one, Budget { total: 2 * SECOND, ..one });
        assert_ne!(one, Budget { clock: None, ..one });
    }
}
