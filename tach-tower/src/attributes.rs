//! The budget as fields of a span.

use tach_core::Budget;

/// Which spans get the budget when a request ends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Attributes {
    #[cfg(feature = "tracing")]
    pub(crate) tracing: bool,
    #[cfg(feature = "opentelemetry")]
    pub(crate) opentelemetry: bool,
}

impl Attributes {
    /// Records the budget in the current spans.
    #[cfg_attr(
        not(any(feature = "tracing", feature = "opentelemetry")),
        expect(unused_variables, clippy::unused_self, reason = "there are no spans")
    )]
    #[inline]
    pub(crate) fn record(self, budget: &Budget) {
        #[cfg(feature = "tracing")]
        if self.tracing {
            let span = tracing::Span::current();
            span.record("budget.total_ms", total_ms(budget));
            span.record("budget.remaining_ms", remaining_ms(budget));
        }
        #[cfg(feature = "opentelemetry")]
        if self.opentelemetry {
            use opentelemetry::KeyValue;
            use opentelemetry::trace::get_active_span;

            get_active_span(|span| {
                span.set_attribute(KeyValue::new("budget.total_ms", total_ms(budget)));
                span.set_attribute(KeyValue::new("budget.remaining_ms", remaining_ms(budget)));
            });
        }
    }
}

#[cfg(any(feature = "tracing", feature = "opentelemetry"))]
fn total_ms(budget: &Budget) -> f64 {
    budget.total().as_secs_f64() * 1e3
}

#[cfg(any(feature = "tracing", feature = "opentelemetry"))]
fn remaining_ms(budget: &Budget) -> f64 {
    budget.remaining().as_secs_f64() * 1e3
}
