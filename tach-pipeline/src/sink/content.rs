//! What a sink takes: events, spans, or the durations of spans.

#[cfg(feature = "tracing")]
pub(super) mod of_spans;

use std::sync::Arc;

use super::AnyFormat;
use crate::frame::Wanted;
use crate::stats::Items;

/// The content of one lane: events, spans, traces or durations.
#[derive(Default)]
pub(super) struct Content {
    pub(super) items: Items,
    /// The format of events, or `None` if the sink takes no events.
    pub(super) format: Option<Arc<AnyFormat>>,
    /// `None` if the sink takes events.
    #[cfg(feature = "tracing")]
    pub(super) of_spans: Option<of_spans::OfSpans>,
}

impl Content {
    #[allow(clippy::needless_update, reason = "the feature `tracing` adds a field")]
    pub(super) fn events(format: Arc<AnyFormat>) -> Self {
        Self { format: Some(format), ..Self::default() }
    }

    /// Adds the parts of a record that the content needs.
    pub(super) fn add_to(&self, wanted: &mut Wanted) {
        if let Some(format) = &self.format {
            wanted.add(&**format);
        }
        #[cfg(feature = "tracing")]
        if let Some(of_spans) = &self.of_spans {
            of_spans.add_to(wanted);
        }
    }
}
