//! The start of a span.

use tracing_core::Metadata;
use tracing_core::span::{Attributes, Id};

use super::parents::Parents;
use crate::channel::thread;
use crate::frame::texts::MaybeStatic;
use crate::frame::{Linked, Origin, RecordKind, Writer};
use crate::front::tracing::metadata::{key, level, place};
use crate::front::tracing::visit::{Chosen, Visitor, is_chosen};
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::trace::w3c::TraceContext;
use crate::trace::{Started, new_context, remote};

impl Pipeline {
    pub(in crate::front::tracing) fn start_span(&self, attributes: &Attributes<'_>, id: &Id) {
        let shared = self.shared();
        let Some(contexts) = shared.spans.contexts.as_ref() else { return };
        let (metadata, key) = (attributes.metadata(), self.key(id));
        let Some(surroundings) = shared.surroundings(attributes) else { return };
        let named = attributes.parent().map(|id| self.key(id));
        let mut parents = Parents {
            own: shared.within(named, attributes.is_contextual()),
            elsewhere: surroundings.foreign,
            is_trusted: shared.spans.callers.are_trusted(),
        };
        parents.decide(surroundings.attached, remote::get);
        let origin = parents.origin();
        let (target, name) = (metadata.target(), metadata.name());
        let context = new_context(origin, shared.spans.id, |trace| {
            shared.spans.sampling.has(origin, trace, target, name)
        });
        let Parents { own, elsewhere, is_trusted } = &parents;
        let (is_active, values) = (surroundings.is_active, surroundings.values);
        if !contexts.insert(key, context, Started { is_active, is_child: own.is_some() }) {
            return shared.channel.progress.counts.dropped_spans.add(1);
        }
        // Only a span in the table loses its tracestate when it closes.
        let state = own.and_then(|own| contexts.states.inherit(context.span, own.span));
        if let Some((span, _)) = elsewhere.as_ref().filter(|_| *is_trusted) {
            contexts.states.set(context.span, span.state().cloned());
        }
        self.keep_context(key, metadata, context, origin, is_active, values);
        if !context.is_sampled {
            if shared.wanted.durations && !self.start_unsampled(attributes, context) {
                contexts.lose_start(key);
            }
            return;
        }
        // The record of a start names a parent of the same trace alone.
        let own = own.filter(|own| own.trace == context.trace);
        let is_logged = self.log_start(metadata, context, own, |to| {
            attributes.record(&mut Visitor::of_span(to));
            if let Some(state) = &state {
                to.trace_state(state);
            }
        });
        if !is_logged {
            return contexts.lose_start(key);
        }
        match elsewhere {
            Some((span, origin)) if *is_trusted => {
                self.log_part_of(context, RecordKind::Parent, |to| span.write(to, *origin));
            }
            Some((stranger, _)) => self.link_to_stranger(context, stranger),
            None => {}
        }
    }

    /// Links a span that begins a trace to the span of a caller that is not trusted.
    pub(super) fn link_to_stranger(&self, context: SpanContext, stranger: &TraceContext) {
        // Without the tracestate, which the caller chose too.
        let linked = Linked { context: stranger.context(), origin: Origin::Remote };
        self.log_part_of(context, RecordKind::Link, |to| to.link(linked));
    }

    /// Logs the start of a span. Returns whether the record is in the thread's queue.
    #[inline]
    pub(super) fn log_start(
        &self,
        metadata: &'static Metadata<'static>,
        context: SpanContext,
        parent: Option<SpanContext>,
        write: impl FnOnce(&mut Writer<'_>),
    ) -> bool {
        let shared = self.shared();
        let time = shared.clock_time();
        thread::log(&shared.channel, |scratch| {
            let (target, name, level) = (metadata.target(), metadata.name(), level(metadata));
            let mut to = Writer::begin_span(scratch, time, level, target, name, context, parent);
            write(&mut to);
            to.site(shared.wanted, place(metadata, MaybeStatic::Static), None);
            to.end();
        })
    }

    /// Logs the start of a span that is not sampled, for its duration. Returns whether the record
    /// is in the thread's queue.
    #[inline(never)]
    fn start_unsampled(&self, attributes: &Attributes<'_>, context: SpanContext) -> bool {
        let shared = self.shared();
        let Some(durations) = &shared.spans.durations else { return false };
        let (metadata, chosen) = (attributes.metadata(), durations.attributes());
        let has_chosen = !chosen.is_empty()
            && metadata.fields().iter().any(|field| is_chosen(Some(chosen), key(&field)));
        let time = shared.clock_time();
        thread::log(&shared.channel, |scratch| {
            let (target, name, level) = (metadata.target(), metadata.name(), level(metadata));
            let mut to = Writer::begin_span(scratch, time, level, target, name, context, None);
            to.unsampled();
            if has_chosen {
                attributes.record(&mut Chosen::new(Visitor::of_span(&mut to), chosen));
            }
            to.end();
        })
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::registry;

    use super::*;
    use crate::frame::Wanted;
    use crate::front::tracing::span_ext;
    use crate::pipeline::tests::alone;
    use crate::queue::WhenFull;

    /// Nothing would remove it when the span closes.
    #[test]
    fn a_span_without_a_slot_has_no_tracestate() {
        let wanted = Wanted { spans: true, ..Wanted::default() };
        let pipeline = alone(wanted, WhenFull::DropNewest);
        let contexts = pipeline.shared().spans.contexts.as_ref().unwrap();
        tracing::subscriber::with_default(registry().with(pipeline.clone()), || {
            let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
            let remote = TraceContext::from_headers(header, "a=1").unwrap();
            let parent = remote.in_scope(|| tracing::info_span!("parent"));
            assert_eq!(contexts.states.count(), 1);
            let child = tracing::info_span!(parent: &parent, "child");
            assert_eq!(contexts.states.count(), 2);
            // The next span of the registry has the same slots.
            let key = span_ext::with(&child, |_, key| key).unwrap();
            drop(child);
            contexts.fill(key);
            drop(tracing::info_span!(parent: &parent, "child"));
            drop(remote.in_scope(|| tracing::info_span!("root")));
            let dropped = &pipeline.shared().channel.progress.counts.dropped_spans;
            assert_eq!((dropped.get(), contexts.states.count()), (2, 1));
        });
    }
}
