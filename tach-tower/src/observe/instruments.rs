//! The counts as instruments of `metrics` and OpenTelemetry.

#[cfg(feature = "opentelemetry")]
use opentelemetry::KeyValue;
#[cfg(feature = "opentelemetry")]
use opentelemetry::metrics::Meter;

#[cfg(feature = "opentelemetry")]
use super::Stats;

/// Counts an outcome by the recorder of `metrics`, if the feature is on and a recorder is
/// installed.
///
/// A macro, since a label that is no literal is allocated for each count.
macro_rules! count {
    ($outcome:literal) => {
        #[cfg(feature = "metrics")]
        metrics::counter!("tach_budget_outcomes_total", "outcome" => $outcome).increment(1);
    };
}

pub(super) use count;

#[cfg(feature = "opentelemetry")]
impl Stats {
    /// Creates a counter `tach.budget.outcomes` that reports these counts, with the attribute
    /// `outcome`. The counts are read when metrics are collected; requests pay nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use opentelemetry::global;
    /// use tach_tower::BudgetLayer;
    ///
    /// let layer = BudgetLayer::new(Duration::from_secs(30));
    /// layer.stats().observe(&global::meter("service"));
    /// ```
    pub fn observe(&self, meter: &Meter) {
        let stats = self.clone();
        // The meter keeps the callback. The instrument itself has nothing to do.
        let _ = meter
            .u64_observable_counter("tach.budget.outcomes")
            .with_description("What became of requests with a budget")
            .with_callback(move |observer| {
                for (outcome, count) in [
                    ("answered", stats.answered()),
                    ("exhausted", stats.exhausted()),
                    ("refused", stats.refused()),
                    ("abandoned", stats.abandoned()),
                    ("ended_body", stats.ended_bodies()),
                    ("unparsable_header", stats.unparsable_headers()),
                ] {
                    observer.observe(count, &[KeyValue::new("outcome", outcome)]);
                }
            })
            .build();
    }
}
