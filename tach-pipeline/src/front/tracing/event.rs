//! Events, and the start of a span, whichever subscriber they come from.

use tracing_core::Event;
use tracing_core::span::{Attributes, Id};
use tracing_log::NormalizeEvent as _;

use super::enabled::is_enabled;
use super::metadata::{callsite, given_name, level, place};
use super::visit::{Forwarded, Visitor};
use crate::frame::Writer;
use crate::frame::texts::MaybeStatic;
use crate::pipeline::Pipeline;

/// The target of events that `tracing-log` makes of the records of `log`.
const FORWARDED: &str = "log";

impl Pipeline {
    /// Starts a span, if the pipeline records it. Returns whether its fields are needed for the
    /// events within it.
    #[inline]
    pub(super) fn begin_span(&self, attributes: &Attributes<'_>, id: &Id) -> bool {
        // A span that another layer wants comes here too.
        let metadata = attributes.metadata();
        if !is_enabled(self, metadata) {
            return false;
        }
        if self.shared().filters.is_span_recorded(level(metadata), metadata.target()) {
            self.start_span(attributes, id);
        }
        self.shared().wanted.events
    }

    /// Logs an event, if the pipeline takes it. `write_spans` writes the names and the fields of the
    /// spans around it.
    #[inline]
    pub(super) fn log_event(&self, event: &Event<'_>, write_spans: impl FnOnce(&mut Writer<'_>)) {
        let metadata = event.metadata();
        if metadata.target() == FORWARDED && event.is_log() {
            return self.log_forwarded(event, write_spans);
        }
        if !is_enabled(self, metadata) || !self.shared().is_within_limit(|| callsite(metadata)) {
            return;
        }
        let level = level(metadata);
        let wanted = self.shared().wanted;
        let around = self.around_event(event);
        if !wanted.events
            && !around.is_some_and(|span| span.is_own && span.context.is_sampled)
            && !wanted.recorder
        {
            // No sink, span or recorder takes the event.
            return;
        }
        self.log_with(level, MaybeStatic::Static(metadata.target()), |to| {
            event.record(&mut Visitor::of_event(to));
            if wanted.events {
                write_spans(to);
            }
            if wanted.is_any() {
                to.site(wanted, place(metadata, MaybeStatic::Static), around);
                if let Some(name) = given_name(metadata) {
                    to.event_name(name);
                }
            }
        });
    }

    /// Logs a record of `log` that `tracing-log` made an event.
    #[cold]
    fn log_forwarded(&self, event: &Event<'_>, write_spans: impl FnOnce(&mut Writer<'_>)) {
        let Some(metadata) = event.normalized_metadata() else { return };
        if !is_enabled(self, &metadata) {
            return;
        }
        let wanted = self.shared().wanted;
        self.log_with(level(&metadata), MaybeStatic::Borrowed(metadata.target()), |to| {
            event.record(&mut Forwarded(Visitor::of_event(to)));
            if wanted.events {
                write_spans(to);
            }
            if wanted.is_any() {
                to.site(wanted, place(&metadata, MaybeStatic::Borrowed), self.around_event(event));
            }
        });
    }
}
