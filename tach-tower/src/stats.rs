//! Counts of a layer's requests.

use core::fmt;
use std::sync::Arc;

use crate::counts::Outcome;
use crate::shared::Shared;

/// The counts of one layer, shared by its clones and services. Reading them takes no lock.
///
/// Each request has one outcome: [`answered`](Self::answered), [`exhausted`](Self::exhausted),
/// [`refused`](Self::refused), [`abandoned`](Self::abandoned) or [an ended
/// body](Self::ended_bodies). Their sum is the number of requests that are over. If something
/// limits the response's body, a request is over when the body is. Otherwise, and with a client of
/// reqwest, a request is over when the head of its response is there.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{BudgetLayer, Settings};
///
/// let layer = BudgetLayer::server(Settings::new().cap(Duration::from_secs(30)));
/// let stats = layer.stats();
/// println!("{} of the requests ran out of time", stats.exhausted());
/// ```
///
/// As a counter of OpenTelemetry, which is read when metrics are collected:
///
/// ```
/// use opentelemetry::{KeyValue, global};
/// use tach_tower::{BudgetLayer, Settings};
///
/// let layer = BudgetLayer::server(Settings::new());
/// let stats = layer.stats();
/// let meter = global::meter("service");
/// let counter = meter.u64_observable_counter("budget.outcomes").with_callback(move |observer| {
///     observer.observe(stats.answered(), &[KeyValue::new("outcome", "answered")]);
///     observer.observe(stats.exhausted(), &[KeyValue::new("outcome", "exhausted")]);
/// });
/// counter.build();
/// ```
#[derive(Clone)]
pub struct Stats(pub(crate) Arc<Shared>);

impl Stats {
    /// Returns the number of requests that the inner service answered or failed, and whose
    /// responses this layer did not cut off. A body that an outer layer cuts off, or whose reader
    /// hangs up, counts as answered: only the layer whose limit it was counts an ended body.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tower::{BudgetLayer, Settings};
    ///
    /// assert_eq!(BudgetLayer::server(Settings::new()).stats().answered(), 0);
    /// ```
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.of(Outcome::Answered)
    }

    /// Returns the number of requests that the inner service was called for, or that waited for it,
    /// when their budget ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tower::{BudgetLayer, Settings};
    ///
    /// assert_eq!(BudgetLayer::server(Settings::new()).stats().exhausted(), 0);
    /// ```
    #[must_use]
    pub fn exhausted(&self) -> u64 {
        self.of(Outcome::Exhausted)
    }

    /// Returns the number of requests that were not sent on, since too little time was left on
    /// arrival.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tower::{BudgetLayer, Settings};
    ///
    /// assert_eq!(BudgetLayer::server(Settings::new()).stats().refused(), 0);
    /// ```
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.of(Outcome::Refused)
    }

    /// Returns the number of requests that were dropped before they were answered: by a server
    /// whose client hung up, by an outer layer whose limit ended the call, or by a panic in the
    /// handler.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tower::{BudgetLayer, Settings};
    ///
    /// assert_eq!(BudgetLayer::server(Settings::new()).stats().abandoned(), 0);
    /// ```
    #[must_use]
    pub fn abandoned(&self) -> u64 {
        self.of(Outcome::Abandoned)
    }

    /// Returns the number of requests whose response began, and whose body this layer cut
    /// off.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tower::{BudgetLayer, Settings};
    ///
    /// assert_eq!(BudgetLayer::server(Settings::new()).stats().ended_bodies(), 0);
    /// ```
    #[must_use]
    pub fn ended_bodies(&self) -> u64 {
        self.of(Outcome::EndedBody)
    }

    /// Returns the number of requests that came with a time limit in a header. If it stays zero
    /// although the callers send one, the layer reads another header than they write.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tower::{BudgetLayer, Settings};
    ///
    /// assert_eq!(BudgetLayer::server(Settings::new()).stats().deadlines(), 0);
    /// ```
    #[must_use]
    pub fn deadlines(&self) -> u64 {
        self.0.counts.deadlines.get()
    }

    /// Returns the number of headers that were invalid, and ignored.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tower::{BudgetLayer, Settings};
    ///
    /// assert_eq!(BudgetLayer::server(Settings::new()).stats().unparsable_headers(), 0);
    /// ```
    #[must_use]
    pub fn unparsable_headers(&self) -> u64 {
        self.0.counts.unparsable_headers.get()
    }

    fn of(&self, outcome: Outcome) -> u64 {
        self.0.counts.outcomes[outcome as usize].get()
    }
}

impl fmt::Debug for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.counts.fmt(f)
    }
}
