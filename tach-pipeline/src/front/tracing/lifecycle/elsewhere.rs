//! Parents in another process, set after the start, and headers for the next process.

use tracing_core::Metadata;

use super::start::Begun;
use crate::channel::current_thread;
use crate::frame::{Callsite, Origin, RecordKind};
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::trace::key::Key;
use crate::trace::w3c::TraceContext;
use crate::trace::{Slot, current};

impl Pipeline {
    /// Sets the parent of an open span, which may be of another trace. Returns whether it is set.
    pub(in crate::front::tracing) fn set_elsewhere(
        &self,
        key: Key,
        metadata: &'static Metadata<'static>,
        parent: &TraceContext,
        origin: Origin,
    ) -> bool {
        let shared = self.shared();
        let Some(contexts) = shared.spans.contexts.as_ref().filter(|_| shared.wanted.spans) else {
            return false;
        };
        let Some(slot) = contexts.find(key) else { return false };
        let before = slot.context();
        if origin == Origin::Remote && !shared.spans.callers.are_trusted() {
            // The span stays in its trace. This marks it as moved, so that no second parent is set.
            let is_first = slot.move_into(before);
            if is_first {
                self.link_to_stranger(before, parent);
            }
            return is_first;
        }
        let (trace, target, name) = (parent.trace_id(), metadata.target(), metadata.name());
        let is_sampled =
            shared.spans.sampling.has(Some(&parent.context()), trace, || (target, name));
        let after = SpanContext { trace, is_sampled, ..before };
        if !slot.move_into(after) {
            return false;
        }
        contexts.states.set(after.span, parent.state().cloned());
        current::update(shared.spans.id, key, after);
        self.renew_context(key, after, None);
        if before.is_sampled && !is_sampled {
            self.log_part_of(before, RecordKind::Discard, |_| {});
        } else if is_sampled && (before.is_sampled || self.start_sampled(slot, metadata, after)) {
            self.log_part_of(after, RecordKind::Parent, |to| parent.write(to, origin));
        }
        true
    }

    /// Logs the start of a span that is sampled after all, without the fields with which it
    /// started. Returns whether the back end knows the span then.
    fn start_sampled(
        &self,
        slot: &Slot,
        metadata: &'static Metadata<'static>,
        context: SpanContext,
    ) -> bool {
        let shared = self.shared();
        if slot.has_lost_start() {
            return false;
        }
        let is_again = shared.wanted.durations;
        let code = current_thread::code(Callsite(metadata));
        let is_logged =
            shared.log_start(Begun { metadata, code, context: &context, parent: 0 }, |to| {
                if is_again {
                    to.again();
                }
            });
        if !is_logged && !is_again {
            slot.lose_start();
        }
        is_logged
    }

    /// Returns the ids and the tracestate of an open span, for a header.
    pub(in crate::front::tracing) fn trace_context(&self, key: Key) -> Option<TraceContext> {
        let shared = self.shared();
        // Without a sink of spans, the next service would look for a parent that was never sent.
        let contexts = shared.spans.contexts.as_ref().filter(|_| shared.wanted.spans)?;
        // In a forked process, the ids may be those of another span of the parent process.
        let context = contexts.get(key).filter(|_| shared.channel.is_in_its_process())?;
        Some(TraceContext::of(context, contexts.states.get(context.span)))
    }
}
