//! The start of a span.

use tracing_core::Metadata;
use tracing_core::span::Attributes;

use crate::callsites::{is_at_boundary, place_of};
use crate::channel::current_thread;
use crate::frame::MaybeStatic;
use crate::frame::{self, Code, Linked, Origin, RecordKind, Scratch, Time, Writer};
use crate::front::tracing::metadata::{key as field_key, level};
use crate::front::tracing::otel::{Found, Surroundings};
use crate::front::tracing::parents::Parents;
use crate::front::tracing::target::Target;
use crate::front::tracing::visit::{Visitor, is_chosen};
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::trace::current::Innermost;
use crate::trace::slots::Open;
use crate::trace::w3c::TraceContext;
use crate::trace::{Started, remote};

/// What the record of a span's start has besides the fields.
#[derive(Clone, Copy)]
pub(super) struct Begun<'a> {
    pub(super) metadata: &'static Metadata<'static>,
    pub(super) code: Option<Code>,
    pub(super) context: &'a SpanContext,
    /// The id of the parent of the same trace, or zero.
    pub(super) parent: u64,
}

impl Pipeline {
    /// Starts a span, which has a slot. `code` is the code of the callsite. `innermost` is the
    /// innermost span that the thread is in.
    #[expect(clippy::inline_always, reason = "it is called once")]
    #[inline(always)]
    pub(in crate::front::tracing) fn start_span(
        &self,
        shared: &Shared,
        attributes: &Attributes<'_>,
        span: Open,
        code: Option<Code>,
        innermost: &Innermost,
    ) {
        let (contexts, metadata) = (&shared.spans.contexts, attributes.metadata());
        let found = shared.found(attributes, code);
        let has_other = found.is_around() || remote::is_any();
        if !has_other && contexts.are_unused() {
            return;
        }
        let within = match *innermost {
            Innermost::None => None,
            Innermost::Recorded(parent) => Some((parent, parent.ids().context())),
            Innermost::Other => {
                self.within(shared, attributes.parent(), attributes.is_contextual())
            }
        };
        let inherits = within.is_some_and(|(parent, _)| parent.ids().passes_on());
        let within = within.map(|(_, context)| context);
        if has_other || inherits || !contexts.give_ids() {
            return self.start_among(attributes, span, code, within, found);
        }
        let context = contexts.new_ids(span, within.as_ref(), |trace| {
            shared.is_sampled(within.as_ref(), trace, metadata)
        });
        let is_active = found.is_active();
        let follows = within.is_some() && !is_at_boundary(metadata, code);
        contexts.insert(span, &context, Started { is_active, follows });
        if is_active {
            span.ids().take_parents(attributes.is_contextual());
            self.keep_active_alone(span, attributes, context, within);
        }
        if context.is_sampled {
            // The record of a start names a parent of the same trace alone.
            let parent = within.map_or(0, |within| within.span);
            let start = Begun { metadata, code, context: &context, parent };
            if !shared.log_new(attributes, start, None) {
                span.ids().lose_start();
            }
        } else if shared.has_unsampled_start(metadata, span) {
            shared.start_unsampled(attributes, &context, code, span);
        }
    }

    /// Like [`start_span`](Self::start_span), for a span that may have a parent elsewhere, or more
    /// than ids.
    #[inline(never)]
    fn start_among(
        &self,
        attributes: &Attributes<'_>,
        span: Open,
        code: Option<Code>,
        within: Option<SpanContext>,
        found: Found,
    ) {
        let shared = self.shared();
        let contexts = &shared.spans.contexts;
        let Some(surroundings) = shared.surroundings(attributes, code, found) else { return };
        let metadata = attributes.metadata();
        let mut parents = Parents {
            own: within,
            elsewhere: surroundings.foreign,
            is_trusted: shared.spans.callers.are_trusted(),
        };
        parents.decide(surroundings.attached, remote::get);
        let origin = parents.origin();
        if origin.is_none() && !contexts.give_ids() {
            return;
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
        // The context of a span of another process, which is passed on, is current at the boundary.
        let is_active = is_active || !shared.wanted.spans && is_at_boundary(metadata, code);
        // A parent may be set in place of the parent of a span at the boundary.
        let follows = origin.is_some() && !is_at_boundary(metadata, code);
        contexts.insert(span, &context, Started { is_active, follows });
        span.ids().take_parents(is_active && attributes.is_contextual() && elsewhere.is_none());
        let parent_span = parent.and_then(|own| contexts.find(own.span)).map(|(span, _)| span);
        let inherited = parent_span.and_then(Open::origin);
        let passed_on = match trusted {
            Some((trusted, _)) => shared.as_origin(trusted),
            None => inherited.clone(),
        };
        if passed_on.is_some() {
            span.set_origin(passed_on);
        }
        self.keep_context(span, metadata, context, origin, is_active, parent_span, values);
        if context.is_sampled {
            // The record of a start names a parent of the same trace alone.
            let parent = parent.filter(|parent| parent.trace == context.trace);
            let parent = parent.map_or(0, |parent| parent.span);
            let start = Begun { metadata, code, context: &context, parent };
            if !shared.log_new(attributes, start, inherited.as_ref()) {
                return span.ids().lose_start();
            }
        } else if shared.has_unsampled_start(metadata, span) {
            shared.start_unsampled(attributes, &context, code, span);
        }
        self.log_elsewhere(Target::new(span), &parents);
    }

    /// Logs a parent that the pipeline does not record, or a link to it if it is not trusted.
    pub(in crate::front::tracing) fn log_elsewhere(&self, span: Target, parents: &Parents) {
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
        // Without the tracestate, which the caller chose too.
        let linked = Linked { context: stranger.context(), origin: Origin::Remote };
        self.log_part_of(span, RecordKind::Link, |to| to.link(linked));
    }
}

impl Shared {
    /// Returns whether a span that starts is sampled.
    #[inline]
    fn is_sampled(
        &self,
        parent: Option<&SpanContext>,
        trace: u128,
        metadata: &'static Metadata<'static>,
    ) -> bool {
        self.spans.sampling.has(parent, trace, || (metadata.target(), metadata.name()))
    }

    /// Returns whether anything is logged or kept of the start of a span that is not sampled.
    #[inline]
    fn has_unsampled_start(&self, metadata: &Metadata<'_>, span: Open) -> bool {
        self.wanted.durations || !metadata.fields().is_empty() && span.ids().waits()
    }

    /// Returns the span of another process as the parent of a span about which this process decides.
    pub(in crate::front::tracing) fn adopted(&self, parent: &TraceContext) -> TraceContext {
        let is_anew = self.wanted.spans && !self.spans.sampling.follows_parents();
        if is_anew { parent.decided_anew() } else { parent.clone() }
    }

    /// Returns what a span with that parent passes on, besides its ids: all of the parent, if nobody
    /// takes spans.
    pub(in crate::front::tracing) fn as_origin(
        &self,
        parent: &TraceContext,
    ) -> Option<TraceContext> {
        if self.wanted.spans { parent.as_origin() } else { Some(parent.clone()) }
    }

    /// Logs the start of a sampled span. Returns whether the record is in the thread's queue.
    #[inline]
    fn log_new(
        &self,
        attributes: &Attributes<'_>,
        start: Begun<'_>,
        inherited: Option<&TraceContext>,
    ) -> bool {
        let Begun { metadata, code, context, parent } = start;
        let (None, Some(code), true) = (inherited, code, metadata.fields().is_empty()) else {
            return self.log_fields(attributes, start, inherited);
        };
        let record = frame::start(self.clock_time(), level(metadata), code, context, parent);
        current_thread::push_words(&self.channel, &record)
    }

    /// Logs the start of a sampled span with its fields.
    #[inline(never)]
    fn log_fields(
        &self,
        attributes: &Attributes<'_>,
        start: Begun<'_>,
        inherited: Option<&TraceContext>,
    ) -> bool {
        self.log_start(start, |to| {
            attributes.record(&mut Visitor::of_span(to));
            if let Some(inherited) = inherited {
                inherited.write_origin(to);
            }
        })
    }

    /// Logs the start of a span. `write` adds the fields. Returns whether the record is in the
    /// thread's queue.
    #[inline]
    pub(super) fn log_start(&self, start: Begun<'_>, write: impl FnOnce(&mut Writer<'_>)) -> bool {
        let time = self.clock_time();
        let mut scratch = current_thread::take_scratch();
        self.write_start(&mut scratch, start, time, write);
        current_thread::push(&self.channel, scratch)
    }

    #[inline]
    fn write_start(
        &self,
        to: &mut Scratch,
        start: Begun<'_>,
        time: Time,
        write: impl FnOnce(&mut Writer<'_>),
    ) {
        let mut to = start.begin(to, time);
        write(&mut to);
        if to.is_whole() {
            to.site(self.wanted, place_of(start.metadata, MaybeStatic::Static), None);
        }
        to.end();
    }

    /// Logs the start of a span that is not sampled for its duration, if durations are collected,
    /// and keeps the start of a span that waits.
    #[inline(never)]
    fn start_unsampled(
        &self,
        attributes: &Attributes<'_>,
        context: &SpanContext,
        code: Option<Code>,
        span: Open,
    ) {
        let metadata = attributes.metadata();
        let start = Begun { metadata, code, context, parent: 0 };
        let time = self.clock_time();
        if self.wanted.spans && span.ids().waits() && !metadata.fields().is_empty() {
            let mut scratch = current_thread::take_scratch();
            self.write_start(&mut scratch, start, time, |to| {
                attributes.record(&mut Visitor::of_span(to));
                if self.wanted.durations {
                    to.again();
                }
            });
            let record = scratch.written();
            span.keep(|kept| kept.extend_from_slice(record));
            current_thread::give_back(scratch);
        }
        let Some(durations) = &self.spans.durations else { return };
        let chosen = durations.attributes();
        let has_chosen = !chosen.is_empty()
            && metadata.fields().iter().any(|field| is_chosen(Some(chosen), field_key(&field)));
        let mut scratch = current_thread::take_scratch();
        let mut to = start.begin(&mut scratch, time);
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

impl Begun<'_> {
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    fn begin(self, to: &mut Scratch, time: Time) -> Writer<'_> {
        let Self { metadata, code, context, parent } = self;
        let level = level(metadata);
        let Some(code) = code else {
            let (target, name) = (metadata.target(), metadata.name());
            return Writer::begin_span(to, time, level, target, name, *context, parent);
        };
        Writer::begin_span_at(to, time, level, code, context, parent)
    }
}
