//! Options of the durations.

use crate::faults::{Fault, unless};

/// The default for the number of series of a metric, from OpenTelemetry's specification.
const MAX_SERIES: usize = 2000;
/// The smallest number of series: one series for a name, and one for all other spans.
const LEAST_SERIES: usize = 2;

/// Which durations of spans are collected, for `Builder::durations`.
///
/// There is a histogram of the durations for each name of a span. Every span that the
/// pipeline's filter lets pass is counted, also one that `Sampling` or
/// `Tail` leaves out. Counts, sums, minima and maxima are those of the durations, not of buckets. A
/// duration beyond a minute is good to a microsecond and a hundred-millionth of it. The histograms
/// are exponential: [`SpanDurations::quantile`](crate::SpanDurations::quantile) is off by less than
/// [`SpanDurations::relative_error`](crate::SpanDurations::relative_error).
///
/// The name is the one in the program, which the field `otel.name` does not change. Spans of all
/// targets with that name share a histogram. A span lasts until a thread leaves it for the last
/// time, or until its last handle is dropped if no thread has entered it. It is counted after that
/// handle and those of its children were dropped. The duration is one of ticks, so that no step of
/// the wall clock bends it. The duration of a span that is sampled, or has a chosen attribute, is
/// not counted if a [`WhenFull`](tach_record::queue::WhenFull) policy dropped it.
///
/// # Cost
///
/// Spans that are sampled cost their callers nothing more. A call adds the duration of a span that
/// is not sampled to a histogram, and logs nothing. A span that declares a chosen attribute, or has
/// one set, logs a record when it ends instead, and another one each time that a chosen attribute is
/// set.
///
/// # Examples
///
/// ```
/// use tach_pipeline::{Durations, Pipeline};
///
/// let durations = Durations::new().attribute("http.route");
/// let builder = Pipeline::builder().durations(durations);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Durations {
    pub(super) attributes: Vec<String>,
    pub(super) max_series: usize,
}

impl Durations {
    /// Creates the options with a histogram for each name of a span.
    ///
    /// # Examples
    ///
    /// ```
    /// let durations = tach_pipeline::Durations::new();
    /// ```
    pub fn new() -> Self {
        Self { attributes: Vec::new(), max_series: MAX_SERIES }
    }

    /// Collects the durations by this field of spans too: each of its values has histograms of its
    /// own. The field need not be [declared](Self#cost).
    ///
    /// The last value that is recorded counts. Choose fields with few values, such as a route or a
    /// status, and none with ids.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Durations;
    ///
    /// let durations =
    ///     Durations::new().attribute("http.route").attribute("http.response.status_code");
    /// ```
    pub fn attribute(mut self, key: &str) -> Self {
        if !self.attributes.iter().any(|known| known == key) {
            self.attributes.push(key.to_owned());
        }
        self
    }

    /// Sets how many histograms a metric may have: two or more, by default 2,000. The durations of
    /// spans are one metric, and each of the times that tach-http records is another. One of the
    /// histograms is for all that the others have no room for; it has the attribute
    /// `otel.metric.overflow`. A histogram takes up to 2 KiB, and each series has two. Calls add to
    /// histograms of their own first: up to eight for each callsite of spans without chosen
    /// attributes, and for each series of other times.
    ///
    /// # Examples
    ///
    /// ```
    /// let durations = tach_pipeline::Durations::new().max_series(500);
    /// ```
    pub fn max_series(mut self, most: usize) -> Self {
        self.max_series = most;
        self
    }

    /// Returns a fault for each option that can't work.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for key in &self.attributes {
            let call = || format!("Durations::attribute({key:?})");
            unless(!key.is_empty(), &mut faults, call, "a field has a key");
        }
        let call = || format!("Durations::max_series({})", self.max_series);
        let wanted = "there are two or more: one of them is for all spans beyond";
        unless(self.max_series >= LEAST_SERIES, &mut faults, call, wanted);
        faults
    }
}

impl Default for Durations {
    fn default() -> Self {
        Self::new()
    }
}
