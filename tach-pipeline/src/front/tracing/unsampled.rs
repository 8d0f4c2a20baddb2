//! Spans that are not sampled: what is kept of their starts, and their durations.

use tach_core::Instant;
use tracing_core::Metadata;
use tracing_core::span::Attributes;

use super::fields::{Visitor, is_chosen, is_enabled, key};
use super::spans::{Begun, keep_fields};
use crate::callsites::declares_kind;
use crate::channel::current_thread;
use crate::frame::Code;
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::trace::current::{self, Innermost};
use crate::trace::slots::{Closing, Open};
use crate::trace::{self, Slot};

impl Pipeline {
    /// Returns whether a span is disabled if it starts within one that is not sampled.
    #[inline]
    pub(super) fn may_skip(&self, metadata: &Metadata<'_>) -> bool {
        let skips = self.known().spans.sampling.skips_children();
        skips && metadata.is_span() && !declares_kind(metadata)
    }

    /// Returns whether a span or an event that would start now is enabled. A span is not if it would
    /// be skipped.
    #[inline]
    pub(super) fn is_enabled_now(&self, metadata: &Metadata<'_>) -> bool {
        let is_skipped = self.may_skip(metadata)
            && match current::innermost(&self.known().spans.contexts, self.keys.owner) {
                Innermost::Recorded(span) => !span.ids().may_be_sampled(),
                _ => false,
            };
        !is_skipped && is_enabled(self, metadata)
    }
}

impl Shared {
    /// Returns the trace of a span that starts within `parent`, if `parent` is not sampled and the
    /// span gets nothing else that the usual way would find.
    #[inline(never)]
    pub(super) fn trace_of_unsampled(
        &self,
        attributes: &Attributes<'_>,
        code: Code,
        parent: Open,
    ) -> Option<u128> {
        let has_duration = self.spans.durations.is_none() || self.counts_at_end();
        let is_plain = !code.is_at_boundary()
            && self.filters.kept.is_none()
            && has_duration
            && self.spans.sampling.follows_parents();
        if !is_plain || self.found(attributes, Some(code)).is_around() {
            return None;
        }
        self.spans.contexts.unsampled_parent(parent)
    }

    /// Returns whether the duration of a span that is not sampled is counted when the span ends.
    /// With chosen attributes, the back end counts it, which knows their values.
    #[inline]
    fn counts_at_end(&self) -> bool {
        self.spans.durations.as_ref().is_some_and(|it| it.attributes().is_empty())
    }

    /// Begins a span that is not sampled. Returns the default if its start is logged for its
    /// duration, or needed for nothing. `waits` is whether the span has fields and waits for the
    /// decision whether it is sampled.
    #[inline]
    pub(super) fn begin_unsampled(&self, code: Option<Code>, waits: bool) -> trace::Begun {
        if waits || self.wanted.durations {
            self.begun_unsampled(code)
        } else {
            trace::Begun::default()
        }
    }

    #[inline(never)]
    fn begun_unsampled(&self, code: Option<Code>) -> trace::Begun {
        let is_needed = if self.wanted.durations {
            code.is_some() && self.counts_at_end()
        } else {
            self.wanted.spans
        };
        let since = if is_needed { self.clock_time().number() } else { 0 };
        trace::Begun { since, parent: 0 }
    }

    /// Counts the duration of a span that ends and that [began](Self::begin_unsampled) so.
    #[inline]
    pub(super) fn add_duration(&self, ids: &Slot, closing: &Closing) {
        let (Some(durations), Some(code)) = (&self.spans.durations, closing.start().code) else {
            return;
        };
        let since = ids.begun().since;
        let end = ids.left().unwrap_or_else(|| self.clock_time().number());
        let took = match &self.clock {
            None => Instant::from_ticks(end).saturating_duration_since(Instant::from_ticks(since)),
            Some(_) => core::time::Duration::from_nanos(end.saturating_sub(since)),
        };
        if !durations.add(code, took) {
            self.channel.signals.dropped_spans.add(1);
        }
    }

    /// Returns whether anything is logged or kept of the start of a span that is not sampled, except
    /// for what lines need.
    #[inline]
    pub(super) fn has_unsampled_start(&self, metadata: &Metadata<'_>, span: Open) -> bool {
        self.wanted.durations && !span.ids().is_one_record()
            || !self.wanted.events && !metadata.fields().is_empty() && span.ids().waits()
    }

    /// Logs the start of a span that is not sampled for its duration, if the back end counts it,
    /// and keeps the fields of a span that waits, unless lines need them anyway.
    #[inline(never)]
    pub(super) fn start_unsampled(
        &self,
        attributes: &Attributes<'_>,
        context: &SpanContext,
        code: Option<Code>,
        span: Open,
    ) {
        if self.wanted.spans && !self.wanted.events && span.ids().waits() {
            keep_fields(attributes, span);
        }
        let Some(durations) = self.spans.durations.as_ref().filter(|_| !span.ids().is_one_record())
        else {
            return;
        };
        let (metadata, chosen) = (attributes.metadata(), durations.attributes());
        let start = Begun { metadata, code, context, parent: 0 };
        let has_chosen = !chosen.is_empty()
            && metadata.fields().iter().any(|field| is_chosen(Some(chosen), key(&field)));
        let mut scratch = current_thread::take_scratch();
        let mut to = start.begin(&mut scratch, self.clock_time());
        to.unsampled();
        if has_chosen {
            attributes.record(&mut Visitor::of_keys(&mut to, chosen));
        }
        to.end();
        if !current_thread::push(&self.channel, scratch) {
            span.ids().lose_start();
        }
    }
}
