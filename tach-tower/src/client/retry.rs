//! A budget of retries that asks for the time left.

use core::time::Duration;

use tower::retry::budget::Budget as Retries;

use crate::current;

/// A retry budget for `tower::retry` that also checks the time left: it refuses a retry if the
/// [`current`](crate::current) budget has less than the retry needs.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{Budget, RetryBudget, within};
/// use tower::retry::budget::{Budget as _, TpsBudget};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let retries = RetryBudget::new(TpsBudget::default(), Duration::from_millis(50));
/// assert!(retries.withdraw(), "no limit of time");
/// let late = Budget::new(Duration::from_millis(20));
/// assert!(!within(late, async { retries.withdraw() }).await);
/// # }
/// ```
#[derive(Debug)]
pub struct RetryBudget<B> {
    inner: B,
    needed: Duration,
}

impl<B> RetryBudget<B> {
    /// Creates a budget of retries that need the time `needed` each.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_tower::RetryBudget;
    /// use tower::retry::budget::TpsBudget;
    ///
    /// let retries = RetryBudget::new(TpsBudget::default(), Duration::from_millis(50));
    /// ```
    #[must_use]
    pub const fn new(inner: B, needed: Duration) -> Self {
        Self { inner, needed }
    }
}

impl<B: Retries> Retries for RetryBudget<B> {
    fn deposit(&self) {
        self.inner.deposit();
    }

    fn withdraw(&self) -> bool {
        let has_time = current()
            .is_none_or(|budget| !budget.is_exhausted() && budget.remaining() >= self.needed);
        has_time && self.inner.withdraw()
    }
}
