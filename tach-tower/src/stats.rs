//! Counts of a layer's requests.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// The counts of one [`BudgetLayer`](crate::BudgetLayer), shared by its clones and services.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::BudgetLayer;
///
/// let layer = BudgetLayer::new(Duration::from_secs(30));
/// let stats = layer.stats();
/// println!("{} of the requests ran out of time", stats.exhausted());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Stats {
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    exhausted: Counter,
    unparsable_headers: Counter,
}

impl Stats {
    /// Returns the number of requests that were answered with 504.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let stats = tach_tower::BudgetLayer::new(Duration::ZERO).stats();
    /// assert_eq!(stats.exhausted(), 0);
    /// ```
    #[must_use]
    pub fn exhausted(&self) -> u64 {
        self.counts.exhausted.get()
    }

    /// Returns the number of requests whose budget header was invalid, and ignored.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let stats = tach_tower::BudgetLayer::new(Duration::ZERO).stats();
    /// assert_eq!(stats.unparsable_headers(), 0);
    /// ```
    #[must_use]
    pub fn unparsable_headers(&self) -> u64 {
        self.counts.unparsable_headers.get()
    }

    pub(crate) fn count_exhausted(&self) {
        self.counts.exhausted.add_one();
    }

    pub(crate) fn count_unparsable_header(&self) {
        self.counts.unparsable_headers.add_one();
    }
}

/// A count that many threads increment.
#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Counter {
    fn add_one(&self) {
        // ORDERING: Relaxed, because the count publishes no other data.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        // ORDERING: Relaxed: see `add_one`.
        self.0.load(Ordering::Relaxed)
    }
}
