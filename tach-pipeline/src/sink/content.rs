//! What a sink takes: events, spans, or the durations of spans.

#[cfg(feature = "tracing")]
pub(super) mod signals;

use super::AnyFormat;
use crate::frame::Wanted;
use crate::stats::Items;

/// The content of one lane: events, spans, traces or durations.
pub(super) trait Content: Send {
    fn items(&self) -> Items;

    /// Adds the parts of a record that the content needs.
    fn add_to(&self, wanted: &mut Wanted);

    /// Returns the format of events, or `None` if the sink takes no events.
    fn format(&self) -> Option<&AnyFormat> {
        None
    }

    /// Returns what writes spans that have ended, or `None` if the sink takes no spans.
    #[cfg(feature = "tracing")]
    fn spans(&self) -> Option<&dyn signals::WriteSpans> {
        None
    }

    /// Returns what writes traces, or `None` if the sink takes no traces.
    #[cfg(feature = "tracing")]
    fn traces(&self) -> Option<&dyn signals::WriteTraces> {
        None
    }

    /// Returns what writes the durations of all spans, or `None` if the sink takes no durations.
    #[cfg(feature = "tracing")]
    fn durations(&self) -> Option<&dyn signals::WriteDurations> {
        None
    }
}
