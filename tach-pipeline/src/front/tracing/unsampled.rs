//! Spans that are not sampled: what is kept of their starts, and their durations.

use tach_core::Instant;
use tracing_core::Metadata;
use tracing_core::span::Attributes;

use super::fields::is_enabled;
use super::spans::keep_fields;
use crate::callsites::declares_kind;
use crate::frame::Code;
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

    /// Returns whether a span or an event that would start now is enabled. A span that would be
    /// skipped is not.
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
        let is_plain = !code.is_at_boundary()
            && self.filters.kept.is_none()
            && !self.may_log_unsampled(Some(code))
            && self.spans.sampling.decides_for_trace();
        if !is_plain || self.found(attributes, Some(code)).is_around() {
            return None;
        }
        self.spans.contexts.unsampled_parent(parent)
    }

    /// Returns whether a record is kept of a span that is not sampled when it starts. The back end
    /// counts the durations of spans that declare a chosen attribute, since it knows the last
    /// value. A callsite without a code has no place for durations, so a record is kept of its
    /// spans.
    #[inline]
    pub(super) fn may_log_unsampled(&self, code: Option<Code>) -> bool {
        match code {
            Some(code) => self.spans.durations.as_ref().is_some_and(|it| it.are_declared(code)),
            None => self.wanted.durations || self.wanted.spans,
        }
    }

    /// Begins an unsampled span of which no record is kept. Keeps its start and its fields if lines
    /// or a later decision may need them.
    #[inline]
    pub(super) fn begin_unsampled(
        &self,
        attributes: &Attributes<'_>,
        span: Open,
        follows: bool,
    ) -> trace::Begun {
        let waits = self.wanted.spans && !follows;
        if (waits || self.wanted.events) && !attributes.metadata().fields().is_empty() {
            keep_fields(attributes, span);
        }
        self.begun_unsampled(waits)
    }

    /// Returns the start of a span that is not sampled, if it is needed.
    #[inline]
    pub(super) fn begun_unsampled(&self, waits: bool) -> trace::Begun {
        if waits || self.wanted.durations {
            trace::Begun::at(self.clock_time().number(), 0)
        } else {
            trace::Begun::default()
        }
    }

    /// Returns whether the duration of an unsampled span is counted when the span ends. Otherwise a
    /// record was kept, since the span was moved or may have values of chosen attributes: the back
    /// end counts these.
    #[inline]
    pub(super) fn counts_at_end(&self, closing: &Closing) -> bool {
        self.wanted.durations && !closing.has_record()
    }

    /// Counts the duration of a span that ends.
    #[inline]
    pub(super) fn add_duration(&self, ids: &Slot, closing: &Closing) {
        let (Some(durations), Some(code)) = (&self.spans.durations, closing.start().code) else {
            return;
        };
        let Some(since) = ids.begun().since() else { return };
        let end = ids.left().unwrap_or_else(|| self.clock_time().number());
        let took = match &self.clock {
            None => Instant::from_ticks(end).saturating_duration_since(Instant::from_ticks(since)),
            Some(_) => core::time::Duration::from_nanos(end.saturating_sub(since)),
        };
        if !durations.add(code, took) {
            self.channel.signals.dropped_spans.add(1);
        }
    }
}
