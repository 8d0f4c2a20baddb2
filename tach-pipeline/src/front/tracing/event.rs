//! Events, and the start of a span, whichever subscriber they come from.

use tracing_core::Event;
use tracing_core::span::Attributes;
use tracing_log::NormalizeEvent as _;

use super::copies::note;
use super::enabled::is_enabled;
use super::metadata::{callsite, level};
use super::visit::{Forwarded, Visitor};
use crate::callsites::{self, Callsite, given_name, place_of};
use crate::channel::current_thread;
use crate::frame::MaybeStatic;
use crate::frame::Writer;
use crate::ids::{Around, SpanContext};
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::trace::key::Key;

/// The target of events that `tracing-log` makes of the records of `log`.
const FORWARDED: &str = "log";

impl Pipeline {
    /// Starts a span of a layer, within the pipeline's span `within`, if the pipeline records it.
    /// Returns whether the fields are needed for the events within the span.
    #[inline]
    pub(super) fn begin_span(
        &self,
        attributes: &Attributes<'_>,
        key: Key,
        within: impl Fn(&Shared) -> Option<SpanContext>,
    ) -> bool {
        // A span that another layer wants comes here too.
        let (shared, metadata) = (self.shared(), attributes.metadata());
        if !is_enabled(self, metadata) {
            return false;
        }
        let has_name = !metadata.name().is_empty();
        if has_name && shared.filters.is_span_recorded(level(metadata), metadata.target()) {
            let code = callsites::code(Callsite(metadata));
            self.start_span(shared, attributes, key, None, code, || within(shared));
        }
        shared.wanted.events
    }

    /// Logs an event, if the pipeline takes it. `around` returns the span around it. `write_spans`
    /// writes the names and the fields of the spans around it.
    #[inline]
    pub(super) fn log_event(
        &self,
        event: &Event<'_>,
        around: impl FnOnce(&Shared) -> Option<Around>,
        write_spans: impl FnOnce(&mut Writer<'_>),
    ) {
        let (shared, metadata) = (self.shared(), event.metadata());
        if metadata.target() == FORWARDED && event.is_log() {
            return self.log_forwarded(event, around, write_spans);
        }
        // A copy would take each of its parts out and together again.
        let (level, wanted) = (level(metadata), &shared.wanted);
        if !shared.filters.enabled(level, metadata.target()) {
            return;
        }
        if !shared.is_within_limit(|| callsite(metadata)) {
            return note(metadata);
        }
        let around = around(shared);
        if !wanted.events
            && !around.is_some_and(|span| span.is_own && span.context.is_sampled)
            && !wanted.recorder
        {
            // No sink, span or recorder takes the event.
            return;
        }
        let time = shared.time();
        let mut scratch = current_thread::take_scratch();
        let mut to = if let Some(code) = callsites::code(Callsite(metadata)) {
            Writer::begin_event_at(&mut scratch, time, level, code)
        } else {
            note(metadata);
            Writer::begin(&mut scratch, time, level, MaybeStatic::Static(metadata.target()))
        };
        event.record(&mut Visitor::of_event(&mut to));
        if wanted.events {
            write_spans(&mut to);
        }
        let has_site = shared.has_site(around.as_ref());
        if has_site && !to.is_whole() {
            to.span_around(wanted, around.as_ref());
        } else if has_site {
            to.site(*wanted, place_of(metadata, MaybeStatic::Static), around);
            if let Some(name) = given_name(metadata) {
                to.event_name(name);
            }
        }
        to.end();
        shared.log(level, scratch);
    }

    /// Logs a record of `log` that `tracing-log` made an event.
    #[cold]
    fn log_forwarded(
        &self,
        event: &Event<'_>,
        around: impl FnOnce(&Shared) -> Option<Around>,
        write_spans: impl FnOnce(&mut Writer<'_>),
    ) {
        let Some(metadata) = event.normalized_metadata() else { return };
        if !is_enabled(self, &metadata) {
            return;
        }
        let (shared, level) = (self.shared(), level(&metadata));
        let time = shared.time();
        let mut scratch = current_thread::take_scratch();
        let target = MaybeStatic::Borrowed(metadata.target());
        let mut to = Writer::begin(&mut scratch, time, level, target);
        event.record(&mut Forwarded(Visitor::of_event(&mut to)));
        if shared.wanted.events {
            write_spans(&mut to);
        }
        shared.site(&mut to, place_of(&metadata, MaybeStatic::Borrowed), around(shared));
        to.end();
        shared.log(level, scratch);
    }
}
