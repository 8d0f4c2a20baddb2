//! Events, whichever subscriber they come from, and the span around a record.

use tracing_core::Event;
use tracing_log::NormalizeEvent as _;

use super::copies::note;
use super::fields::{Forwarded, Visitor, callsite, is_enabled, level};
use crate::callsites::{self, Callsite, given_name, place_of};
use crate::channel::current_thread;
use crate::frame::MaybeStatic;
use crate::frame::Writer;
use crate::ids::{Around, SpanContext};
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::shared::span_state::Spans;
use crate::trace::current::{self, Innermost};
use crate::trace::w3c::TraceContext;

/// The target of events that `tracing-log` makes of the records of `log`.
const FORWARDED: &str = "log";

impl Spans {
    /// Returns the ids of the span that the thread is in, if it has any.
    #[inline]
    pub(crate) fn current_span(&self) -> Option<SpanContext> {
        if self.contexts.are_unused() {
            return None;
        }
        current::get(&self.contexts).map(|(_, context)| context)
    }

    /// Returns the span of another process whose context the span with that id passes on.
    #[inline(never)]
    pub(crate) fn origin_of(&self, span: u64) -> Option<TraceContext> {
        self.contexts.find(span).and_then(|(span, _)| span.origin())
    }

    /// Returns the pipeline's span as the one around a record. If no sink takes spans, returns the
    /// span of another process whose context is passed on, if there is one.
    #[inline]
    pub(crate) fn as_around(&self, own: SpanContext) -> Around {
        let origin = if self.has_own_ids { None } else { self.origin_of(own.span) };
        origin.map_or(Around { context: own, is_own: true }, |origin| Around {
            context: origin.context(),
            is_own: false,
        })
    }

    /// Returns the span around a record in the pipeline's span `own`: the current one of
    /// `opentelemetry` if it is within `own`, unless it is the span of a caller that is not
    /// trusted.
    #[expect(clippy::inline_always, reason = "a call would return the span in memory")]
    #[inline(always)]
    pub(crate) fn nearest(&self, own: Option<SpanContext>) -> Option<Around> {
        let span = own.map(|own| own.span);
        // Don't use `or_else`: the compiler would not inline it.
        match self.contexts.around(span, self.callers.are_trusted()) {
            None => own.map(|own| self.as_around(own)),
            attached => attached,
        }
    }

    /// Returns the span around a record that the thread logs.
    #[inline]
    pub(crate) fn around(&self) -> Option<Around> {
        self.nearest(self.current_span())
    }
}

impl Pipeline {
    /// Returns the span around an event: the pipeline's, or the current one of `opentelemetry` if
    /// that is nearer.
    #[inline]
    fn around_event(
        &self,
        shared: &Shared,
        event: &Event<'_>,
        innermost: Innermost,
    ) -> Option<Around> {
        let is_contextual = event.is_contextual();
        let own = match innermost {
            Innermost::None => None,
            Innermost::Recorded(span) => Some(span.ids().context()),
            Innermost::Unrecorded(_) if shared.spans.contexts.are_unused() => None,
            Innermost::Unrecorded(_) | Innermost::Other => {
                self.within(shared, event.parent(), is_contextual).map(|(_, context)| context)
            }
        };
        if is_contextual {
            shared.spans.nearest(own)
        } else {
            own.map(|own| shared.spans.as_around(own))
        }
    }

    /// Logs an event, if the pipeline takes it.
    #[inline]
    pub(super) fn log_event(&self, event: &Event<'_>) {
        let (shared, metadata) = (self.handle.shared(), event.metadata());
        if metadata.target() == FORWARDED && event.is_log() {
            return self.log_forwarded(event);
        }
        // Borrow `wanted`: a copy would be taken apart and put together again.
        let (level, wanted) = (level(metadata), &shared.wanted);
        if !shared.filters.enabled(level, metadata.target()) {
            return;
        }
        if !shared.is_within_limit(|| callsite(metadata)) {
            return note(metadata);
        }
        let innermost = self.innermost(shared, event.is_contextual(), event.is_root());
        let around = self.around_event(shared, event, innermost);
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
            self.write_spans(event, innermost, &mut to);
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
    fn log_forwarded(&self, event: &Event<'_>) {
        let Some(metadata) = event.normalized_metadata() else { return };
        if !is_enabled(self, &metadata) {
            return;
        }
        let (shared, level) = (self.handle.shared(), level(&metadata));
        let time = shared.time();
        let mut scratch = current_thread::take_scratch();
        let target = MaybeStatic::Borrowed(metadata.target());
        let mut to = Writer::begin(&mut scratch, time, level, target);
        event.record(&mut Forwarded(Visitor::of_event(&mut to)));
        let innermost = self.innermost(shared, event.is_contextual(), event.is_root());
        if shared.wanted.events {
            self.write_spans(event, innermost, &mut to);
        }
        let around = self.around_event(shared, event, innermost);
        if shared.has_site(around.as_ref()) {
            to.site(shared.wanted, place_of(&metadata, MaybeStatic::Borrowed), around);
        }
        to.end();
        shared.log(level, scratch);
    }
}
