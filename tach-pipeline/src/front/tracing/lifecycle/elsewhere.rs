//! Parents in another process, set after the start, and headers for the next process.

use tracing_core::Metadata;

use super::log_kept;
use super::start::Begun;
use crate::callsites::{self, Callsite, is_at_boundary};
use crate::frame::{self, Origin, RecordKind};
use crate::front::tracing::enabled::is_enabled;
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::trace::slots::Open;
use crate::trace::w3c::TraceContext;
use crate::trace::{Slot, Started};

impl Pipeline {
    /// Sets the parent of an open span, which may be of another trace. Returns whether it is set.
    pub(in crate::front::tracing) fn set_elsewhere(
        &self,
        span: Open,
        metadata: &'static Metadata<'static>,
        parent: &TraceContext,
        origin: Origin,
    ) -> bool {
        let shared = self.shared();
        let is_stranger = origin == Origin::Remote && !shared.spans.callers.are_trusted();
        let Some(target) = self.target(span) else {
            return !is_stranger && self.pass_on(span, metadata, parent);
        };
        let (before, slot) = (target.context, span.ids());
        if is_stranger {
            // The span stays in its trace. This marks it as moved, so that no second parent is set.
            let is_first = slot.move_to(before.trace, before.is_sampled);
            if is_first {
                span.take_kept();
                self.link_to_stranger(target, parent);
            }
            return is_first;
        }
        let parent = &shared.adopted(parent);
        let (trace, target, name) = (parent.trace_id(), metadata.target(), metadata.name());
        let is_sampled =
            shared.spans.sampling.has(Some(&parent.context()), trace, || (target, name));
        let after = SpanContext { trace, is_sampled, ..before };
        if !slot.begin_move(trace, is_sampled) {
            return false;
        }
        // Before the span is sampled for other threads: the back end gives up what it reads of a span
        // whose start does not follow soon. So they keep what they add, until nothing is left to log.
        let starts = is_sampled && !before.is_sampled;
        let take_kept = || span.take_kept_or(|| slot.end_move(is_sampled));
        let mut is_started = false;
        if starts {
            let kept = span.take_kept();
            is_started = self.start_sampled(slot, metadata, after, kept.as_deref());
        }
        while let Some(kept) = take_kept() {
            if is_started {
                frame::split_all(&kept).for_each(|record| _ = log_kept(shared, record));
            }
        }
        // Also in a forked process, which takes no lock.
        slot.end_move(is_sampled);
        span.set_origin(shared.as_origin(parent));
        if !shared.wanted.spans && is_at_boundary(metadata, None) {
            slot.activate();
        }
        self.renew_context(span, after, None);
        if before.is_sampled && !is_sampled {
            self.log_record(before, RecordKind::Discard, |_| {});
        } else if is_sampled && (before.is_sampled || is_started) {
            self.log_record(after, RecordKind::Parent, |to| parent.write(to, origin));
        }
        true
    }

    /// Logs the start and the kept records of a span that is sampled after all. If its start was
    /// not kept (the span has no fields, or did not wait), the span starts now. Returns whether the
    /// back end knows the span then.
    fn start_sampled(
        &self,
        slot: &Slot,
        metadata: &'static Metadata<'static>,
        context: SpanContext,
        kept: Option<&[u8]>,
    ) -> bool {
        let shared = self.shared();
        if slot.context_and_flags().1.have_lost_start() {
            return false;
        }
        let is_again = shared.wanted.durations;
        let kept = kept.unwrap_or_default();
        let mut records = frame::split_all(kept);
        let log = |record: &[u8]| log_kept(shared, record);
        let is_logged = if frame::is_part(kept, RecordKind::Start) {
            records.next().is_some_and(log)
        } else {
            let code = callsites::code(Callsite(metadata));
            shared.log_start(Begun { metadata, code, context: &context, parent: 0 }, |to| {
                if is_again {
                    to.again();
                }
            })
        };
        if !is_logged && !is_again {
            slot.lose_start();
        }
        if is_logged {
            // Counts each record for which the queue has no room.
            records.for_each(|record| _ = log(record));
        }
        is_logged
    }

    /// Gives an open span ids of the caller's trace, so that it passes the caller's context on.
    /// Call it if no sink takes spans.
    fn pass_on(
        &self,
        span: Open,
        metadata: &'static Metadata<'static>,
        parent: &TraceContext,
    ) -> bool {
        let contexts = &self.shared().spans.contexts;
        if contexts.give_ids() || !is_enabled(self, metadata) {
            return false;
        }
        let context = contexts.new_ids(span, Some(&parent.context()), |_| false);
        let started = Started { is_active: is_at_boundary(metadata, None), ..Started::default() };
        // The second step marks it as moved, so that no second parent is set.
        let is_set = contexts.insert_late(span, &context, started)
            && span.ids().move_to(context.trace, false);
        if is_set {
            span.set_origin(Some(parent.clone()));
            self.renew_context(span, context, None);
        }
        is_set
    }

    /// Returns the ids and the tracestate of an open span, for a header. If nobody takes spans, those
    /// of the span of another process are passed on: the next service would look for a parent that
    /// was never sent.
    pub(in crate::front::tracing) fn trace_context(&self, span: Open) -> Option<TraceContext> {
        let shared = self.shared();
        // In a forked process, the ids may be those of another span of the parent process.
        let target = self.target(span).filter(|_| !shared.channel.is_forked())?;
        let origin = span.origin();
        if shared.wanted.spans {
            Some(TraceContext::within(target.context, origin))
        } else {
            origin
        }
    }
}
