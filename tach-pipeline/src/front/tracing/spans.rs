//! The road of spans, whichever subscriber they come from: how they start, are entered, left and
//! closed.

use tracing_core::span::{Attributes, Id, Record};

use super::metadata::level;
use super::span_fields::{MOST, NAMELESS, with_fields, write_around};
use crate::callsites::{self, Callsite};
use crate::frame::{self, Code, Writer};
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::trace::current::{self, Innermost};
use crate::trace::otel::active::Active;
use crate::trace::slots::{self, Closing, Number, Open};

impl Pipeline {
    /// Returns the span that a new span or an event is in.
    #[inline]
    fn around(&self, named: Option<&Id>, is_contextual: bool) -> Option<Open> {
        match named {
            None if is_contextual => current::of_owner(self.owner()),
            None => None,
            Some(id) => self.find(id).filter(|span| span.is_open()),
        }
    }

    /// Returns the pipeline's span that a new span or an event is in, and its ids.
    #[inline(never)]
    pub(super) fn within(
        &self,
        shared: &Shared,
        named: Option<&Id>,
        is_contextual: bool,
    ) -> Option<(Open, SpanContext)> {
        let contexts = &shared.spans.contexts;
        match named {
            Some(id) => {
                let span = self.find(id)?;
                contexts.get(span).map(|context| (span, context))
            }
            None if is_contextual && !contexts.are_unused() => current::get(contexts),
            None => None,
        }
    }

    /// Returns the innermost span that the thread is in.
    #[inline]
    pub(super) fn innermost(
        &self,
        shared: &Shared,
        is_contextual: bool,
        is_root: bool,
    ) -> Innermost {
        match (is_contextual, is_root) {
            (true, _) => current::innermost(&shared.spans.contexts, self.owner()),
            (_, true) => Innermost::None,
            _ => Innermost::Other,
        }
    }

    /// Opens a span, and starts it if the pipeline records it. Returns `None` if there is no slot for
    /// the span.
    #[expect(clippy::inline_always, reason = "each road calls it once")]
    #[inline(always)]
    pub(super) fn open_span(&self, attributes: &Attributes<'_>) -> Option<Open> {
        let (shared, metadata) = (self.shared(), attributes.metadata());
        if metadata.name().is_empty() {
            return self.open_nameless(attributes);
        }
        let code = callsites::code(Callsite(metadata));
        let innermost = self.innermost(shared, attributes.is_contextual(), attributes.is_root());
        if let (&Innermost::Recorded(parent), Some(code)) = (&innermost, code) {
            if !parent.ids().may_be_sampled() {
                let child = self.open_unsampled(shared, attributes, code, parent);
                if child.is_some() {
                    return child;
                }
            }
        }
        let parent = match innermost {
            Innermost::None => None,
            Innermost::Recorded(span) => Some(span),
            Innermost::Other => self.around(attributes.parent(), attributes.is_contextual()),
        };
        let parent = parent.filter(|parent| parent.add_reference());
        let Some(span) = slots::open(self.owner(), Some(metadata), code, parent) else {
            self.lack_slot(parent);
            return None;
        };
        // What the filter refuses is kept for a backtrace, if anything.
        if shared.filters.kept.is_none()
            || shared.filters.is_span_recorded(level(metadata), metadata.target())
        {
            self.start_span(shared, attributes, span, code, &innermost);
        }
        keep_fields(shared, attributes, span);
        Some(span)
    }

    /// Opens a span within one that has its ids and is not sampled, if there is nothing to log or
    /// to keep of the span but its ids, and the thread has a slot at hand.
    #[inline(never)]
    fn open_unsampled(
        &self,
        shared: &Shared,
        attributes: &Attributes<'_>,
        code: Code,
        parent: Open,
    ) -> Option<Open> {
        let contexts = &shared.spans.contexts;
        let is_plain = !code.is_at_boundary()
            && shared.filters.kept.is_none()
            && !shared.wanted.events
            && !shared.wanted.durations
            && shared.spans.sampling.follows_parents();
        if !is_plain {
            return None;
        }
        let trace = contexts.unsampled_parent(parent)?;
        if shared.found(attributes, Some(code)).is_around() {
            return None;
        }
        let span = slots::open_child(self.owner(), code, parent)?;
        contexts.insert_unsampled(span, trace);
        Some(span)
    }

    /// Opens a span without a name, which has the ids of the span that it is in.
    #[cold]
    fn open_nameless(&self, attributes: &Attributes<'_>) -> Option<Open> {
        NAMELESS.on();
        let (shared, metadata) = (self.shared(), attributes.metadata());
        let (named, is_contextual) = (attributes.parent(), attributes.is_contextual());
        let code = callsites::code(Callsite(metadata));
        let parent = self.around(named, is_contextual).filter(|parent| parent.add_reference());
        let Some(span) = slots::open(self.owner(), Some(metadata), code, parent) else {
            self.lack_slot(parent);
            return None;
        };
        if let Some((lender, context)) = self.within(shared, named, is_contextual) {
            shared.spans.contexts.lend(span, lender, &context);
        }
        keep_fields(shared, attributes, span);
        Some(span)
    }

    /// Counts a span for which there is no slot.
    #[cold]
    pub(super) fn lack_slot(&self, parent: Option<Open>) {
        if let Some(parent) = parent {
            self.close_span(parent.number());
        }
        self.shared().progress.signals.dropped_spans.add(1);
    }

    /// Adds values to a span.
    pub(super) fn record_in(&self, id: &Id, values: &Record<'_>) {
        let Some(span) = self.find(id) else { return };
        if let Some(target) = self.target(span) {
            self.record_values(target, values);
        }
        if self.shared().wanted.events {
            with_fields(
                |visitor| values.record(visitor),
                |more| span.change_fields(|kept| frame::replace(kept, more)),
            );
        }
    }

    /// Links a span to the one that it follows from.
    pub(super) fn link_spans(&self, id: &Id, follows: &Id) {
        let target = self.find(id).and_then(|span| self.target(span));
        if let (Some(target), Some(follows)) = (target, self.find(follows)) {
            self.link_to_span(target, follows);
        }
    }

    /// Enters a span.
    #[expect(clippy::inline_always, reason = "each road calls it once")]
    #[inline(always)]
    pub(super) fn enter_span(&self, id: &Id) {
        let (shared, Some(span)) = (self.shared(), self.find(id)) else { return };
        // A span that has ids is open.
        let active = if shared.spans.contexts.record(span) {
            self.activate(span)
        } else if span.is_open() {
            Active::unrecorded()
        } else {
            return;
        };
        current::enter(span, shared.wanted.events, active);
    }

    /// Leaves a span. A thread may leave a span that another thread has entered.
    #[expect(clippy::inline_always, reason = "each road calls it once")]
    #[inline(always)]
    pub(super) fn exit_span(&self, id: &Id) {
        let Some(span) = self.find(id) else { return };
        if !current::exit_last(span) {
            current::exit(span);
        }
        self.leave(self.shared(), span);
    }

    /// Removes a reference to a span. Returns whether it was the last one. Then the span is closed,
    /// and its reference to its parent is removed too.
    #[inline(never)]
    pub(super) fn close_span(&self, mut span: Number) -> bool {
        let Some(mut closing) = span.remove_reference(self.owner()) else { return false };
        // One call of each, so that both are inlined.
        loop {
            self.end(span, &closing);
            let Some(parent) = closing.free() else { return true };
            (span, closing) = parent;
        }
    }

    /// Ends a span that is closed.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    fn end(&self, span: Number, closing: &Closing) {
        let (shared, Some((ids, flags))) = (self.shared(), closing.ids(span)) else { return };
        let contexts = &shared.spans.contexts;
        if contexts.are_unsampled(flags) && !shared.wanted.durations {
            ids.remove();
        } else if contexts.is_own(flags) {
            Self::end_span(shared, ids, None);
        }
    }

    /// Writes the names and the fields of the spans that an event is in.
    pub(super) fn write_spans(&self, named: Option<&Id>, is_contextual: bool, to: &mut Writer<'_>) {
        if let Some(span) = self.around(named, is_contextual) {
            write_around::<true>(span, MOST, to);
        }
    }
}

/// Keeps the fields of a new span for the events within.
#[inline]
fn keep_fields(shared: &Shared, attributes: &Attributes<'_>, span: Open) {
    if shared.wanted.events && !attributes.is_empty() {
        with_fields(
            |visitor| attributes.record(visitor),
            |fields| span.change_fields(|kept| kept.extend_from_slice(fields)),
        );
    }
}
