//! The road of spans, whichever subscriber they come from: how they start, are entered, left and
//! closed.

use std::thread;

use tach_core::{Instant, UnixTime};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Metadata};

use super::fields::{MOST, NAMELESS, Visitor, level, with_fields, write_around};
use crate::callsites::{self, Callsite, is_at_boundary, place_of};
use crate::channel::current_thread;
use crate::frame::{self, Code, MaybeStatic, Scratch, Time, Writer};
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::shared::span_state::Spans;
use crate::trace::current::{self, Innermost};
use crate::trace::layers::Layers;
use crate::trace::otel::Active;
use crate::trace::slots::{self, Closing, Number, Open};
use crate::trace::w3c::TraceContext;
use crate::trace::{self, Slot, Started};

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
    /// Returns the subscriber's span with that id, which may be closed. The own subscriber's ids
    /// are numbers of slots.
    #[inline]
    pub(super) fn find(&self, id: &Id) -> Option<Open> {
        let number = if self.keys.are_numbers {
            Number::of(id.into_non_zero_u64())
        } else {
            self.layers().get(self.keys.key(id.into_u64()))?
        };
        number.may_be_open(self.keys.owner)
    }

    /// Returns the slots of the spans of the pipeline's layers.
    #[inline]
    pub(super) fn layers(&self) -> &Layers {
        &self.handle.own.spans.contexts.layers
    }

    /// Returns the span that a new span or an event is in.
    #[inline]
    fn around(
        &self,
        named: Option<&Id>,
        is_contextual: bool,
        innermost: Innermost,
    ) -> Option<Open> {
        match (innermost, named) {
            (Innermost::Recorded(span) | Innermost::Unrecorded(span), _) => Some(span),
            (Innermost::Other, Some(id)) => self.find(id).filter(|span| span.is_open()),
            (Innermost::Other, None) if is_contextual => current::of_owner(self.keys.owner),
            _ => None,
        }
    }

    /// Returns the span of this pipeline around a new span or event, with its ids.
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
            (true, _) => current::innermost(&shared.spans.contexts, self.keys.owner),
            (_, true) => Innermost::None,
            _ => Innermost::Other,
        }
    }

    /// Opens a span, and starts it if the pipeline records it. Returns `None` if there is no slot
    /// for the span.
    #[expect(clippy::inline_always, reason = "each road calls it once")]
    #[inline(always)]
    pub(super) fn open_span(&self, attributes: &Attributes<'_>) -> Option<Open> {
        let (shared, metadata) = (self.handle.shared(), attributes.metadata());
        if metadata.name().is_empty() {
            return self.open_nameless(attributes);
        }
        let code = callsites::code(Callsite(metadata));
        let innermost = self.innermost(shared, attributes.is_contextual(), attributes.is_root());
        let unsampled = match (innermost, code) {
            (Innermost::Recorded(parent), Some(code)) if !parent.ids().may_be_sampled() => {
                shared.trace_of_unsampled(attributes, code, parent)
            }
            _ => None,
        };
        let parent = self.around(attributes.parent(), attributes.is_contextual(), innermost);
        let parent = parent.filter(|parent| parent.add_reference());
        let Some(span) = slots::open(self.keys.owner, Some(metadata), code, parent) else {
            self.lack_slot(parent);
            return None;
        };
        if let Some(trace) = unsampled {
            let begun = shared.begin_unsampled(code, false);
            shared.spans.contexts.insert_unsampled(span, trace, begun);
        } else if shared.filters.kept.is_none()
            || shared.filters.is_span_recorded(level(metadata), metadata.target())
        {
            // What the filter refuses is kept for a backtrace, if anything.
            self.start_span(shared, attributes, span, code, innermost);
        }
        if shared.wanted.events {
            keep_fields(attributes, span);
        }
        Some(span)
    }

    /// Opens a span without a name, which has the ids of the span that it is in.
    #[cold]
    fn open_nameless(&self, attributes: &Attributes<'_>) -> Option<Open> {
        NAMELESS.on();
        let (shared, metadata) = (self.handle.shared(), attributes.metadata());
        let (named, is_contextual) = (attributes.parent(), attributes.is_contextual());
        let code = callsites::code(Callsite(metadata));
        let parent = self.around(named, is_contextual, Innermost::Other);
        let parent = parent.filter(|parent| parent.add_reference());
        let Some(span) = slots::open(self.keys.owner, Some(metadata), code, parent) else {
            self.lack_slot(parent);
            return None;
        };
        if let Some((lender, context)) = self.within(shared, named, is_contextual) {
            shared.spans.contexts.lend(span, lender, &context);
        }
        if shared.wanted.events {
            keep_fields(attributes, span);
        }
        Some(span)
    }

    /// Counts a span for which there is no slot.
    #[cold]
    pub(super) fn lack_slot(&self, parent: Option<Open>) {
        if let Some(parent) = parent {
            self.close_span(parent.number());
        }
        self.handle.shared().progress.signals.dropped_spans.add(1);
    }

    /// Starts a span, which has a slot. `code` is the code of the callsite. `innermost` is the
    /// innermost span that the thread is in.
    #[expect(clippy::inline_always, reason = "it is called once")]
    #[inline(always)]
    fn start_span(
        &self,
        shared: &Shared,
        attributes: &Attributes<'_>,
        span: Open,
        code: Option<Code>,
        innermost: Innermost,
    ) {
        let (contexts, metadata) = (&shared.spans.contexts, attributes.metadata());
        let found = shared.found(attributes, code);
        let has_other = found.is_around() || current::has_remote_parent();
        if !has_other && contexts.are_unused() {
            return;
        }
        let within = match innermost {
            Innermost::None => None,
            Innermost::Recorded(parent) => Some((parent, parent.ids().context())),
            Innermost::Unrecorded(_) | Innermost::Other => {
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
        let follows =
            within.is_some() && !is_at_boundary(metadata, code) || current::is_caller_known();
        let begun = if context.is_sampled {
            // The record of a start names a parent of the same trace alone.
            let parent = within.map_or(0, |within| within.span);
            shared.begin_one_record(attributes, span, code, parent)
        } else {
            shared.begin_unsampled(code, !follows && !metadata.fields().is_empty())
        };
        contexts.insert(span, &context, Started { is_active, follows, begun });
        if is_active {
            span.ids().take_parents(attributes.is_contextual());
            self.keep_active_alone(span, attributes, context, within);
        }
        if context.is_sampled {
            if begun.is_one_record() {
                return;
            }
            let parent = within.map_or(0, |within| within.span);
            let start = Begun { metadata, code, context: &context, parent };
            if !shared.log_new(attributes, start, None) {
                span.ids().lose_start();
            }
        } else if shared.has_unsampled_start(metadata, span) {
            shared.start_unsampled(attributes, &context, code, span);
        }
    }

    /// Adds values to a span.
    pub(super) fn record_in(&self, id: &Id, values: &Record<'_>) {
        let Some(span) = self.find(id) else { return };
        if let Some(target) = self.target(span) {
            self.record_values(target, values);
        }
        if self.handle.shared().wanted.events {
            with_fields(|visitor| values.record(visitor), |more| span.replace_fields(more));
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
        let (shared, Some(span)) = (self.handle.shared(), self.find(id)) else { return };
        let active = if shared.spans.contexts.record(span) {
            // A span that has ids is open.
            if span.ids().is_active() { self.attach(span) } else { Active::leave() }
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
        current::exit(span);
        self.leave(self.handle.shared(), span);
    }

    /// Notes that a thread leaves a span now.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    pub(super) fn leave(&self, shared: &Shared, span: Open) {
        let Some(flags) = span.flags() else { return };
        let ids = span.ids();
        // The end of an unsampled span is needed only for durations.
        if ids.decide(flags) || shared.wanted.durations {
            self.mark_panic(span);
            ids.leave_at(shared.clock_time().number());
        }
    }

    /// If a thread leaves a span because it panics, sets the span's status to an error.
    #[inline]
    fn mark_panic(&self, span: Open) {
        if thread::panicking() {
            // Skip a span that has the ids of another span, whose status this would set.
            if let Some(span) = self.target(span) {
                self.set_status(span, Err("panicked"));
            }
        }
    }

    /// Removes a reference to a span. Returns whether it was the last one. Then the span is closed,
    /// and its reference to its parent is removed too.
    #[inline(never)]
    pub(super) fn close_span(&self, mut span: Number) -> bool {
        let Some(mut closing) = span.remove_reference(self.keys.owner) else { return false };
        // Call each function in one place only, so that the compiler inlines both.
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
        let (shared, Some((ids, flags))) = (self.handle.shared(), closing.ids(span)) else {
            return;
        };
        let contexts = &shared.spans.contexts;
        let is_unsampled = contexts.are_unsampled(flags);
        if is_unsampled && !shared.wanted.durations {
            ids.remove();
        } else if is_unsampled && flags.are_one_record() {
            shared.add_duration(ids, closing);
            ids.remove();
        } else if contexts.is_own(flags) {
            Self::end_span(shared, ids, closing, None);
        }
    }

    /// Ends a span that closes, at `given` or at the time when a thread last left it. A span that
    /// no thread has entered ends now.
    #[inline]
    pub(super) fn end_span(shared: &Shared, ids: &Slot, closing: &Closing, given: Option<Time>) {
        let (context, flags) = ids.context_and_flags();
        let mut is_lost = false;
        if flags.have_lost_start() {
            // The parts of a span that was moved may have come before its start.
            is_lost = flags.are_moved();
        } else if context.is_sampled || shared.wanted.durations {
            let end = || given.or_else(|| ids.left().map(|left| shared.time_of(left)));
            let end = || end().unwrap_or_else(|| shared.clock_time());
            // The end is logged before the ids are removed, since the back end takes a span without
            // ids for one that has logged its end.
            if !flags.are_one_record() {
                let end = frame::end(end(), &context);
                is_lost = !current_thread::push_words(&shared.channel, &end);
            } else if !context.is_sampled {
                shared.add_duration(ids, closing);
            } else if !shared.log_one_record(ids, closing, context, end()) {
                // The back end reads the full queue soon.
                ids.remove();
                return shared.spans.contexts.lose_end();
            }
        }
        ids.remove();
        if is_lost {
            Spans::lose_end(&shared.spans.contexts, &shared.channel);
        }
    }

    /// Writes the names and the fields of the spans that an event is in.
    #[inline]
    pub(super) fn write_spans(&self, event: &Event<'_>, innermost: Innermost, to: &mut Writer<'_>) {
        if let Some(span) = self.around(event.parent(), event.is_contextual(), innermost) {
            write_around::<true>(span, MOST, to);
        }
    }
}

/// Keeps the fields of a new span in its slot.
#[inline]
pub(super) fn keep_fields(attributes: &Attributes<'_>, span: Open) {
    if !attributes.is_empty() {
        with_fields(
            |visitor| attributes.record(visitor),
            |fields| span.change_fields(|kept| kept.extend_from_slice(fields)),
        );
    }
}

impl Shared {
    /// Returns the time that [`clock_time`](Self::clock_time) returned, by its number.
    #[inline]
    pub(super) fn time_of(&self, number: u64) -> Time {
        match &self.clock {
            None => Time::Ticks(Instant::from_ticks(number)),
            Some(_) => Time::Unix(UnixTime::from_nanos(number)),
        }
    }

    /// Returns whether a span that starts is sampled.
    #[inline]
    pub(super) fn is_sampled(
        &self,
        parent: Option<&SpanContext>,
        trace: u128,
        metadata: &'static Metadata<'static>,
    ) -> bool {
        self.spans.sampling.has(parent, trace, || (metadata.target(), metadata.name()))
    }

    /// Begins a sampled span that is logged as one record when it ends. Returns the default if its
    /// start is logged. That is so if something shows open spans, if the slot does not keep the
    /// fields anyway, and for a thread without a queue.
    #[inline]
    pub(super) fn begin_one_record(
        &self,
        attributes: &Attributes<'_>,
        span: Open,
        code: Option<Code>,
        parent: u64,
    ) -> trace::Begun {
        let keeps_fields = self.wanted.events || attributes.metadata().fields().is_empty();
        if self.spans.shows_open || !keeps_fields || code.is_none() {
            return trace::Begun::default();
        }
        let Some(thread) = current_thread::number(&self.channel) else {
            return trace::Begun::default();
        };
        let since = self.clock_time().number();
        span.begin(since, thread.get());
        trace::Begun { since, parent }
    }

    /// Logs a span that has ended, whose start was not logged. Returns whether the record is in the
    /// thread's queue.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    fn log_one_record(
        &self,
        ids: &Slot,
        closing: &Closing,
        context: SpanContext,
        end: Time,
    ) -> bool {
        if closing.may_have_fields() {
            return self.log_one_record_with_fields(ids, closing, end);
        }
        // A span without a code has logged its start.
        span_record(ids, closing, context)
            .is_none_or(|record| current_thread::push_words(&self.channel, &record.words(end)))
    }

    #[inline(never)]
    fn log_one_record_with_fields(&self, ids: &Slot, closing: &Closing, end: Time) -> bool {
        let Some(record) = span_record(ids, closing, ids.context()) else { return true };
        let mut scratch = current_thread::take_scratch();
        closing.with_start(|fields| record.write(&mut scratch, end, fields));
        current_thread::push(&self.channel, scratch)
    }

    /// Logs the start of a sampled span. Returns whether the record is in the thread's queue.
    #[inline]
    pub(super) fn log_new(
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
    pub(super) fn write_start(
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
}

/// Returns a span that has ended, for its record.
#[inline]
fn span_record(ids: &Slot, closing: &Closing, context: SpanContext) -> Option<frame::SpanRecord> {
    let trace::Begun { since, parent } = ids.begun();
    let slots::Start { code, age, thread } = closing.start();
    Some(frame::SpanRecord { code: code?, context, parent, since, age, thread })
}

impl Begun<'_> {
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    pub(super) fn begin(self, to: &mut Scratch, time: Time) -> Writer<'_> {
        let Self { metadata, code, context, parent } = self;
        let level = level(metadata);
        let Some(code) = code else {
            let (target, name) = (metadata.target(), metadata.name());
            return Writer::begin_span(to, time, level, target, name, *context, parent);
        };
        Writer::begin_span_at(to, time, level, code, context, parent)
    }
}
