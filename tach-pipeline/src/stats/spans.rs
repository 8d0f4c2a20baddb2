//! Counts of spans.

use super::Stats;

impl Stats {
    /// Returns how many events, values, links and ends of spans came when their span was not known:
    /// its record was dropped, or it had ended. No span has these. Sinks of events have the events.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().spanless_records(), 0);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn spanless_records(&self) -> u64 {
        self.spanless
    }

    /// Returns how many spans were lost. Such a span is not sent, and has no duration. That happens if
    /// a full queue drops the record of the span, which also counts as a [dropped](Self::dropped)
    /// record. It also happens if more spans are open than the pipeline has
    /// room for. Then the span is missing in the lines of its events too. A time that tach-http
    /// records and the histograms could not take counts as well.
    ///
    /// Spans that a sink dropped are in the counts of the [sink](Self::sinks).
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().dropped_spans(), 0);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn dropped_spans(&self) -> u64 {
        self.dropped_spans
    }

    /// Returns how many spans can't end any more, since their last children were closed where the
    /// spans' subscriber was not the current one: the registry of tracing-subscriber then never
    /// closes the parents. The first such span is reported as
    /// [`Incident::NeverCloses`](crate::Incident::NeverCloses).
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().unclosed_spans(), 0);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn unclosed_spans(&self) -> u64 {
        self.unclosed
    }

    /// Returns about how many traces [`Tail`](crate::Tail) decided before their root had ended.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// assert_eq!(guard.pipeline().stats().early_traces(), 0);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn early_traces(&self) -> u64 {
        self.early
    }
}
