//! A copy of the durations of one series.

use core::time::Duration;

use super::histogram::Histogram;
use super::key::Key;

const NS_PER_S: u128 = 1_000_000_000;

/// How long the spans with one name and the same chosen attributes took, from
/// `Pipeline::durations`. Or one of the other times that tach-http records:
/// `tach.budget.left_on_arrival` or `tach.budget.left_at_answer`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use tach_pipeline::{Durations, Pipeline};
/// use tracing_subscriber::layer::SubscriberExt as _;
///
/// let guard = Pipeline::builder().durations(Durations::new()).build()?;
/// let subscriber = tracing_subscriber::registry().with(Pipeline::clone(guard.pipeline()));
/// tracing::subscriber::with_default(subscriber, || {
///     (0..10).for_each(|_| drop(tracing::info_span!("query")));
/// });
/// guard.pipeline().flush(Duration::from_secs(1))?;
///
/// let all = guard.pipeline().durations();
/// let queries = &all[0];
/// assert_eq!((queries.name(), queries.count()), ("query", 10));
/// assert!(queries.min() <= queries.quantile(0.5) && queries.quantile(0.99) <= queries.max());
/// println!("p99: {:?}, off by {:.1} %", queries.quantile(0.99), 100.0 * queries.relative_error());
/// # Ok::<(), tach_pipeline::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanDurations {
    name: String,
    attributes: Vec<(String, String)>,
    is_overflow: bool,
    histogram: Histogram,
}

impl SpanDurations {
    pub(super) fn new(
        metric: Option<&str>,
        key: &Key,
        attributes: &[String],
        histogram: Histogram,
    ) -> Self {
        let name = metric.unwrap_or(key.name()).to_owned();
        let attributes = attributes
            .iter()
            .zip(key.values())
            .filter_map(|(key, value)| Some((key.clone(), value?.to_string())))
            .collect();
        Self { name, attributes, is_overflow: key.is_of_others(), histogram }
    }

    /// Returns the name of the spans in the program, or of the other times. It is empty for the
    /// spans that other histograms have [no room](crate::Durations::max_series) for.
    ///
    /// # Examples
    ///
    /// See [`SpanDurations`].
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the [chosen attributes](crate::Durations::attribute) that the spans have, with their
    /// values as text.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Durations, Pipeline};
    ///
    /// let durations = Durations::new().attribute("http.route");
    /// let guard = Pipeline::builder().durations(durations).build()?;
    /// for spans in guard.pipeline().durations() {
    ///     let attributes: Vec<(&str, &str)> = spans.attributes().collect();
    ///     println!("{} {attributes:?}: {:?}", spans.name(), spans.quantile(0.5));
    /// }
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attributes.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Returns whether these are the spans that other histograms have
    /// [no room](crate::Durations::max_series) for.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert!(!guard.pipeline().durations().iter().any(|spans| spans.is_overflow()));
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn is_overflow(&self) -> bool {
        self.is_overflow
    }

    /// Returns the number of spans, at least 1.
    ///
    /// # Examples
    ///
    /// See [`SpanDurations`].
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.count
    }

    /// Returns the sum of the durations.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// for spans in guard.pipeline().durations() {
    ///     println!("{}: {:?} in all", spans.name(), spans.sum());
    /// }
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn sum(&self) -> Duration {
        let (seconds, ns) = (self.histogram.sum_ns / NS_PER_S, self.histogram.sum_ns % NS_PER_S);
        // The conversion can fail: 2^64 durations of 64 bits in nanoseconds have a sum of 98 bits
        // in seconds.
        let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
        Duration::new(seconds, u32::try_from(ns).unwrap_or(0))
    }

    /// Returns the shortest duration.
    ///
    /// # Examples
    ///
    /// See [`SpanDurations`].
    #[must_use]
    pub fn min(&self) -> Duration {
        Duration::from_nanos(self.histogram.min_ns)
    }

    /// Returns the longest duration.
    ///
    /// # Examples
    ///
    /// See [`SpanDurations`].
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.histogram.max_ns)
    }

    /// Returns an estimate of the shortest duration that the part `q` of the spans does not exceed:
    /// 0.5 asks for the median. `q` is from 0 to 1; beyond, the nearest of both counts.
    ///
    /// # Guarantees
    ///
    /// The estimate is off by at most [`relative_error`](Self::relative_error) of the duration and
    /// a nanosecond.
    ///
    /// # Examples
    ///
    /// See [`SpanDurations`].
    #[must_use]
    pub fn quantile(&self, q: f64) -> Duration {
        Duration::from_nanos(self.histogram.quantile_ns(q))
    }

    /// Returns how far a [`quantile`](Self::quantile) may be off, as a part of the duration.
    ///
    /// It grows with the range of the durations, since a histogram has at most 160 buckets: 0.3 %
    /// if the longest is at most twice the shortest, 4.5 % up to a factor of a million, and never
    /// more than 19 %.
    ///
    /// # Examples
    ///
    /// See [`SpanDurations`].
    #[must_use]
    pub fn relative_error(&self) -> f64 {
        self.histogram.relative_error()
    }
}
