//! Spans with a parent elsewhere: in another process, in a context of `opentelemetry`, or set after
//! the start. Headers for the next process.

use tracing_core::Metadata;
use tracing_core::span::Attributes;

use super::fields::is_enabled;
use super::otel::{Found, Surroundings};
use super::parents::Parents;
use super::parts::{Target, log_kept};
use super::spans::Beginning;
use crate::callsites::is_at_boundary;
use crate::frame::{self, Code, Linked, Origin, RecordKind};
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::trace::slots::Open;
use crate::trace::w3c::TraceContext;
use crate::trace::{Started, current};

impl Pipeline {
    /// Like [`start_span`](Self::start_span), for a span that may have a parent elsewhere, or more
    /// than ids.
    #[inline(never)]
    pub(super) fn start_among(
        &self,
        attributes: &Attributes<'_>,
        span: Open,
        code: Option<Code>,
        within: Option<SpanContext>,
        found: Found,
    ) -> bool {
        let shared = self.shared();
        let contexts = &shared.spans.contexts;
        let Some(surroundings) = shared.surroundings(attributes, code, found) else {
            return false;
        };
        let metadata = attributes.metadata();
        let mut parents = Parents {
            own: within,
            elsewhere: surroundings.foreign,
            is_trusted: shared.spans.callers.are_trusted(),
        };
        parents.decide(surroundings.attached, current::remote_parent);
        let origin = parents.origin();
        if origin.is_none() && !contexts.give_ids() {
            return false;
        }
        if let Some((span, _)) = &mut parents.elsewhere {
            *span = shared.adopted(span);
        }
        let context = contexts.new_ids(span, origin.as_ref(), |trace| {
            shared.is_sampled(origin.as_ref(), trace, metadata)
        });
        let Parents { own: parent, elsewhere, is_trusted } = &parents;
        let trusted = elsewhere.as_ref().filter(|_| *is_trusted);
        let Surroundings { is_active, values, .. } = surroundings;
        // If the service records no spans, it passes another process's span on. The context of that
        // span is then current at the boundary.
        let is_active = is_active || !shared.wanted.spans && is_at_boundary(metadata, code);
        // The parent of a span at the boundary may still be replaced.
        let follows =
            origin.is_some() && !is_at_boundary(metadata, code) || current::is_caller_known();
        let parent_span = parent.and_then(|own| contexts.find(own.span)).map(|(span, _)| span);
        let inherited = parent_span.and_then(Open::origin);
        // The record has the parent's id without a trace, so leave out a parent in another trace.
        let in_trace = parent.filter(|parent| parent.trace == context.trace);
        let beginning = Beginning {
            code,
            context: &context,
            parent: in_trace.map_or(0, |parent| parent.span),
            follows,
            inherited: inherited.as_ref(),
        };
        let begun = shared.begin_span(attributes, span, beginning);
        contexts.insert(span, &context, Started { is_active, follows, begun });
        shared.log_beginning(attributes, beginning, begun);
        span.ids().take_parents(is_active && attributes.is_contextual() && elsewhere.is_none());
        let passed_on = match trusted {
            Some((trusted, _)) => shared.as_origin(trusted),
            None => inherited.clone(),
        };
        if passed_on.is_some() {
            span.set_origin(passed_on);
        }
        self.keep_context(span, metadata, context, origin, is_active, parent_span, values);
        self.log_elsewhere(Target::new(span), &parents);
        true
    }

    /// Sets the parent of an open span, which may be of another trace. Returns whether it is set. If
    /// `parent` is the span itself, changes nothing and returns `true`.
    pub(super) fn set_elsewhere(
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
        // Without headers, a propagator returns the current context, which may be the span's own.
        // A span that was its own parent would belong to no tree.
        if parent.span_id() == target.context.span {
            return true;
        }
        let (before, slot) = (target.context, span.ids());
        // The move overwrites the words of the start.
        if !self.keep_start(target) {
            return false;
        }
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
        // Other threads keep their records in the slot until the move ends. Log these first.
        while let Some(kept) = span.take_kept_or(|| slot.end_move(is_sampled)) {
            if is_sampled {
                frame::split_all(&kept).for_each(|record| _ = log_kept(shared, record));
            }
        }
        // End the move in a forked process too, where the loop does not: it takes no lock there.
        slot.end_move(is_sampled);
        span.set_origin(shared.as_origin(parent));
        if !shared.wanted.spans && is_at_boundary(metadata, None) {
            slot.activate();
        }
        self.renew_context(span, after, None);
        if before.is_sampled && !is_sampled {
            self.log_record(before, RecordKind::Discard, |_| {});
        } else if is_sampled {
            self.log_record(after, RecordKind::Parent, |to| parent.write(to, origin));
        }
        true
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
        // `move_to` marks the span as moved, so that no second parent is set.
        let is_set = contexts.insert_late(span, &context, started)
            && span.ids().move_to(context.trace, false);
        if is_set {
            span.set_origin(Some(parent.clone()));
            self.renew_context(span, context, None);
        }
        is_set
    }

    /// Returns the ids and the tracestate of an open span, for a header. If no sink takes spans,
    /// returns those of the other process's span that is passed on: the next service would look for
    /// a parent that was never sent.
    pub(super) fn trace_context(&self, span: Open) -> Option<TraceContext> {
        let shared = self.shared();
        // Return no ids in a forked process: they may belong to another span of the parent process.
        let target = self.target(span).filter(|_| !shared.channel.is_forked())?;
        let origin = span.origin();
        if shared.wanted.spans {
            Some(TraceContext::within(target.context, origin))
        } else {
            origin
        }
    }

    /// Logs a parent that the pipeline does not record, or a link to it if it is not trusted.
    pub(super) fn log_elsewhere(&self, span: Target, parents: &Parents) {
        match &parents.elsewhere {
            Some((stranger, _)) if !parents.is_trusted => self.link_to_stranger(span, stranger),
            Some((parent, origin)) if span.context.is_sampled => {
                self.log_record(span.context, RecordKind::Parent, |to| parent.write(to, *origin));
            }
            _ => {}
        }
    }

    /// Links a span that begins a trace to the span of a caller that is not trusted.
    pub(super) fn link_to_stranger(&self, span: Target, stranger: &TraceContext) {
        // Leave out the tracestate, which the untrusted caller chose too.
        let linked = Linked { context: stranger.context(), origin: Origin::Remote };
        self.log_part_of(span, RecordKind::Link, |to| to.link(linked));
    }
}

impl Shared {
    /// Returns the span of another process as the parent of a span about which this process
    /// decides.
    pub(super) fn adopted(&self, parent: &TraceContext) -> TraceContext {
        let is_anew = self.wanted.spans && !self.spans.sampling.follows_parents();
        if is_anew { parent.decided_anew() } else { parent.clone() }
    }

    /// Returns what a span with that parent passes on, besides its ids: all of the parent, if
    /// nobody takes spans.
    pub(super) fn as_origin(&self, parent: &TraceContext) -> Option<TraceContext> {
        if self.wanted.spans { parent.as_origin() } else { Some(parent.clone()) }
    }
}
