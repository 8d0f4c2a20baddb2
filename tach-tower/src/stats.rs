//! Counts of a layer's requests.

use crate::counts::{Counter, Counts};

/// The counts of one layer with its clones and services, as
/// [`BudgetLayer::stats`](crate::BudgetLayer::stats) read them. Reading takes no lock.
///
/// Each request has one outcome: `answered`, `exhausted`, `refused`, `abandoned` or
/// `ended_bodies`. Their sum is the number of requests that are over. If something limits the
/// response's body, a request is over when the body is. Otherwise, and with a client of reqwest, a
/// request is over when the head of its response is there.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{BudgetLayer, Settings};
///
/// let layer = BudgetLayer::server(Settings::new().cap(Duration::from_secs(30)));
/// println!("{:?}", layer.stats());
/// assert_eq!(layer.stats().exhausted, 0);
/// ```
///
/// As a counter of OpenTelemetry, which is read when metrics are collected:
///
/// ```
/// use opentelemetry::{KeyValue, global};
/// use tach_tower::{BudgetLayer, Settings};
///
/// let layer = BudgetLayer::server(Settings::new());
/// let budgets = layer.clone();
/// let meter = global::meter("service");
/// let counter = meter.u64_observable_counter("budget.outcomes").with_callback(move |observer| {
///     let stats = budgets.stats();
///     observer.observe(stats.answered, &[KeyValue::new("outcome", "answered")]);
///     observer.observe(stats.exhausted, &[KeyValue::new("outcome", "exhausted")]);
/// });
/// counter.build();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Requests that the inner service answered or failed, and whose responses this layer did not
    /// cut off. A body that an outer layer cuts off, or whose reader hangs up, counts as answered:
    /// only the layer whose limit it was counts an ended body.
    pub answered: u64,
    /// Requests that the inner service was called for, or that waited for it, when their budget
    /// ended, or that failed within 2 ms of that end.
    pub exhausted: u64,
    /// Requests that were not sent on, since too little time was left on arrival.
    pub refused: u64,
    /// Requests that were dropped before they were answered: by a server whose client hung up, by
    /// an outer layer whose limit ended the call, or by a panic in the handler.
    pub abandoned: u64,
    /// Requests whose response began, and whose body this layer cut off.
    pub ended_bodies: u64,
    /// Requests that came with a time limit in a header. If it stays zero although the callers send
    /// one, the layer reads another header than they write.
    pub deadlines: u64,
    /// Those of `deadlines` whose header left no time. They are `refused`, too. If there are many,
    /// a caller sends an absolute time by a clock that is ahead or behind.
    pub expired: u64,
    /// Headers that were invalid, and ignored.
    pub unparsable_headers: u64,
}

impl Counts {
    pub(crate) fn read(&self) -> Stats {
        let [answered, exhausted, refused, abandoned, ended_bodies] =
            self.outcomes.each_ref().map(Counter::get);
        Stats {
            answered,
            exhausted,
            refused,
            abandoned,
            ended_bodies,
            deadlines: self.deadlines.get(),
            expired: self.expired.get(),
            unparsable_headers: self.unparsable_headers.get(),
        }
    }
}
