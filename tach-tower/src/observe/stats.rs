//! Counts of a layer's requests.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use super::instruments::count;

/// The counts of one layer, shared by its clones and services. Reading them takes no lock.
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
    #[cfg_attr(
        not(any(feature = "metrics", feature = "opentelemetry")),
        expect(dead_code, reason = "there are no labels")
    )]
    is_client: bool,
    answered: Counter,
    exhausted: Counter,
    refused: Counter,
    abandoned: Counter,
    ended_bodies: Counter,
    unparsable_headers: Counter,
}

impl Stats {
    pub(crate) fn of_client() -> Self {
        Self { counts: Arc::new(Counts { is_client: true, ..Counts::default() }) }
    }

    /// Returns the kind of layer that counts, as a label.
    #[cfg(feature = "opentelemetry")]
    pub(super) fn layer(&self) -> &'static str {
        if self.counts.is_client { "client" } else { "server" }
    }

    /// Returns the number of requests that the inner service answered or failed before their budget
    /// ended them.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let stats = tach_tower::BudgetLayer::new(Duration::ZERO).stats();
    /// assert_eq!(stats.answered(), 0);
    /// ```
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.counts.answered.get()
    }

    /// Returns the number of requests that ended because their budget was exhausted.
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

    /// Returns the number of exhausted requests for which the inner service was not called, since
    /// too little was left on arrival.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let stats = tach_tower::BudgetLayer::new(Duration::ZERO).stats();
    /// assert_eq!(stats.refused(), 0);
    /// ```
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.counts.refused.get()
    }

    /// Returns the number of requests that were dropped before they were answered: by a server
    /// whose client hung up, or by a panic in the handler.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let stats = tach_tower::BudgetLayer::new(Duration::ZERO).stats();
    /// assert_eq!(stats.abandoned(), 0);
    /// ```
    #[must_use]
    pub fn abandoned(&self) -> u64 {
        self.counts.abandoned.get()
    }

    /// Returns the number of response bodies that were cut off at the end of the budget.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let stats = tach_tower::BudgetLayer::new(Duration::ZERO).stats();
    /// assert_eq!(stats.ended_bodies(), 0);
    /// ```
    #[must_use]
    pub fn ended_bodies(&self) -> u64 {
        self.counts.ended_bodies.get()
    }

    /// Returns the number of headers that were invalid, and ignored.
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

    pub(crate) fn count_answered(&self) {
        self.counts.answered.add_one();
        count!(self.counts.is_client, "answered");
    }

    pub(crate) fn count_exhausted(&self) {
        self.counts.exhausted.add_one();
        count!(self.counts.is_client, "exhausted");
    }

    pub(crate) fn count_refused(&self) {
        self.counts.refused.add_one();
        count!(self.counts.is_client, "refused");
    }

    pub(crate) fn count_abandoned(&self) {
        self.counts.abandoned.add_one();
        count!(self.counts.is_client, "abandoned");
    }

    pub(crate) fn count_ended_body(&self) {
        self.counts.ended_bodies.add_one();
        count!(self.counts.is_client, "ended_body");
    }

    pub(crate) fn count_unparsable_header(&self) {
        self.counts.unparsable_headers.add_one();
        count!(self.counts.is_client, "unparsable_header");
    }
}

/// Counts a request that is dropped before it is answered.
#[derive(Debug)]
pub(crate) struct Unanswered(pub(crate) Option<Stats>);

impl Drop for Unanswered {
    fn drop(&mut self) {
        if let Some(stats) = &self.0 {
            stats.count_abandoned();
        }
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
