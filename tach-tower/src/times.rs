//! How much time requests have left, by route.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// When the time left was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moment {
    /// The request came to the [`ObserveLayer`](crate::ObserveLayer).
    Arrival,
    /// The head of its response was ready, or its budget had ended.
    Answer,
}

/// Histograms of the time left, by route and moment. Clones share them.
///
/// # Examples
///
/// ```
/// use axum::extract::MatchedPath;
/// use tach_tower::{ObserveLayer, Times};
///
/// let times = Times::default();
/// let recorded = times.clone();
/// // Inside of the budget's layer.
/// let layer = ObserveLayer::new(
///     |parts| parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str).to_owned(),
///     move |route, moment, left| recorded.record(route, moment, left),
/// );
/// for ((route, moment), histogram) in times.read() {
///     println!("{route} {moment:?}: {:?}", histogram.counts);
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Times(Arc<Mutex<BTreeMap<(String, Moment), Histogram>>>);

/// A histogram of durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Histogram {
    /// The number of durations in each range: above the bound before in
    /// [`BOUNDS_MS`](Self::BOUNDS_MS) and up to this one. The last are longer than all bounds.
    pub counts: [u64; Self::BOUNDS_MS.len() + 1],
    /// The sum of all durations.
    pub sum: Duration,
}

impl Histogram {
    /// The bounds of the counts, in milliseconds. The first counts requests with no time left.
    pub const BOUNDS_MS: [u64; 13] =
        [0, 1, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 10_000, 60_000];
}

impl Times {
    /// Adds a duration. The names of routes must be few: each has its histograms for good.
    pub fn record(&self, route: &str, moment: Moment, left: Duration) {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram = times.entry((route.to_owned(), moment)).or_default();
        let at = Histogram::BOUNDS_MS.partition_point(|&ms| Duration::from_millis(ms) < left);
        histogram.counts[at] += 1;
        histogram.sum = histogram.sum.saturating_add(left);
    }

    /// Returns all histograms.
    #[must_use]
    pub fn read(&self) -> BTreeMap<(String, Moment), Histogram> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
