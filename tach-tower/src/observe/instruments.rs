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
    ($layer:literal, $outcome:literal) => {
        metrics::counter!("tach_budget_outcomes_total", "layer" => $layer, "outcome" => $outcome)
            .increment(1);
    };
    ($is_client:expr, $outcome:literal) => {
        #[cfg(feature = "metrics")]
        if $is_client {
            count!("client", $outcome);
        } else {
            count!("server", $outcome);
        }
    };
}

pub(super) use count;

#[cfg(feature = "opentelemetry")]
impl Stats {
    /// Creates a counter `tach.budget.outcomes` that reports these counts, with the attributes
    /// `outcome` and `layer`, which is `server` or `client`. The counts are read when metrics are
    /// collected; requests pay nothing.
    ///
    /// OpenTelemetry keeps one value of each set of attributes: observe several layers of a kind
    /// with a meter each.
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
                    let layer = KeyValue::new("layer", stats.layer());
                    observer.observe(count, &[layer, KeyValue::new("outcome", outcome)]);
                }
            })
            .build();
    }
}
