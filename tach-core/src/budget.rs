//! Time budgets: deadlines that know their total.

use core::error::Error;
use core::fmt;
use core::time::Duration;

use crate::MonotonicInstant;

/// How much time there is for a task, and how much of it is left.
///
/// It begins when it is made. Copies share the beginning, so every part of a task can carry one and
/// all of them run out together, on whichever threads they are asked.
///
/// # Guarantees
///
/// A budget that is exhausted stays so. Time is that of the OS's monotonic clock, as for
/// [`MonotonicInstant`]: no step of the wall clock gives time or takes it.
///
/// *Not* promised: that anything happens at the end. A budget is asked; it does not interrupt.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_core::{Budget, BudgetExhausted};
///
/// fn rows(budget: Budget) -> Result<u64, BudgetExhausted> {
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    start: MonotonicInstant,
    total: Duration,
}

impl Budget {
    /// A budget of `total` that begins now. [`Duration::MAX`] never runs out.
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
        Self { start: MonotonicInstant::now(), total }
    }

    /// What the budget was at its beginning.
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

    /// The time since the beginning. It goes on past the total.
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
        self.start.elapsed()
    }

    /// What is left; zero once it is exhausted.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::Budget;
    ///
    /// assert!(Budget::new(Duration::from_secs(1)).remaining() <= Duration::from_secs(1));
    /// assert_eq!(Budget::new(Duration::ZERO).remaining(), Duration::ZERO);
    /// ```
    #[must_use]
    #[inline]
    pub fn remaining(&self) -> Duration {
        self.remaining_at(MonotonicInstant::now())
    }

    /// Whether nothing is left.
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

    /// [`is_exhausted`](Self::is_exhausted) for use with `?`.
    ///
    /// # Errors
    ///
    /// If nothing is left.
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
    pub fn check(&self) -> Result<(), BudgetExhausted> {
        if self.is_exhausted() { Err(BudgetExhausted { total: self.total }) } else { Ok(()) }
    }

    /// A budget for a part of the task, which begins now: `limit`, or what is left if that is less.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::Budget;
    ///
    /// let request = Budget::new(Duration::from_secs(60));
    /// let query = request.child(Duration::from_secs(2));
    /// assert_eq!(query.total(), Duration::from_secs(2));
    /// assert!(request.child(Duration::MAX).total() <= request.total());
    /// ```
    #[must_use]
    pub fn child(&self, limit: Duration) -> Self {
        // One reading serves both, so that no time between two is lost or given twice.
        let start = MonotonicInstant::now();
        Self { start, total: limit.min(self.remaining_at(start)) }
    }

    #[inline]
    fn remaining_at(&self, now: MonotonicInstant) -> Duration {
        self.total.saturating_sub(now.duration_since(self.start))
    }
}

/// The error of a task that has no time left.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// let error = tach_core::Budget::new(Duration::ZERO).check().unwrap_err();
/// assert_eq!(error.to_string(), "the time budget of 0ns is exhausted");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetExhausted {
    total: Duration,
}

impl fmt::Display for BudgetExhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the time budget of {:?} is exhausted", self.total)
    }
}

impl Error for BudgetExhausted {}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A budget that began so long ago.
    fn begun(ago: Duration, total: Duration) -> Budget {
        Budget { start: MonotonicInstant::now() - ago, total }
    }

    #[test]
    fn what_is_left_is_the_total_less_the_elapsed() {
        let now = MonotonicInstant::now();
        let half_second = Duration::from_millis(500);
        let cases = [
            (Duration::ZERO, Duration::ZERO),
            (half_second, Duration::ZERO),
            (SECOND, Duration::ZERO),
            (2 * SECOND, SECOND),
            (Duration::MAX, Duration::MAX.saturating_sub(SECOND)),
        ];
        for (total, left) in cases {
            let budget = Budget { start: now, total };
            let rounding = budget.remaining_at(now + SECOND).abs_diff(left);
            assert!(rounding <= Duration::from_nanos(2), "{total:?} was off by {rounding:?}");
            assert_eq!(budget.remaining_at(now), total, "nothing has elapsed yet");
        }
    }

    #[test]
    fn an_exhausted_budget_says_so_everywhere() {
        let budget = begun(2 * SECOND, SECOND);
        assert!(budget.is_exhausted());
        assert_eq!(budget.remaining(), Duration::ZERO);
        assert_eq!(budget.check(), Err(BudgetExhausted { total: SECOND }));
        assert!(budget.elapsed() > SECOND, "elapsed goes on past the total");
        assert!(budget.child(Duration::MAX).is_exhausted());
    }

    #[test]
    fn a_child_gets_the_lesser_of_limit_and_rest() {
        let parent = begun(SECOND, 3600 * SECOND);
        assert_eq!(parent.child(60 * SECOND).total(), 60 * SECOND);
        assert!(parent.child(Duration::MAX).total() <= 3599 * SECOND);
        assert!(parent.child(Duration::ZERO).is_exhausted());
    }

    #[test]
    fn the_largest_duration_never_runs_out() {
        let budget = begun(SECOND, Duration::MAX);
        assert_eq!(budget.check(), Ok(()));
        assert!(!budget.child(Duration::MAX).is_exhausted());
    }
}
