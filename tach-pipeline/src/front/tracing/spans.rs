//! How spans start, are entered, left and closed, whichever subscriber they come from.

use core::num::NonZeroU32;
use std::thread;

use tach_core::{Instant, UnixTime};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Metadata};

use super::fields::{MOST, NAMELESS, Visitor, level, with_fields, write_around};
use crate::callsites::{self, Callsite, is_at_boundary, place_of};
use crate::channel::current_thread;
use crate::frame::{Code, MaybeStatic, RecordKind, SpanRecord, Time, Writer};
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::trace::current::{self, Innermost};
use crate::trace::layers::Layers;
use crate::trace::otel::Active;
use crate::trace::slots::{self, Closing, Number, Open};
use crate::trace::w3c::TraceContext;
use crate::trace::{self, Slot, Started};

/// What a span begins with, besides its fields.
#[derive(Clone, Copy)]
pub(super) struct Beginning<'a> {
    pub(super) code: Option<Code>,
    pub(super) context: &'a SpanContext,
    /// The id of the parent of the same trace, or zero.
    pub(super) parent: u64,
    /// Whether the span follows the decision of its parent.
    pub(super) follows: bool,
    /// What the span inherits from a span of another process.
    pub(super) inherited: Option<&'a TraceContext>,
}

impl Pipeline {
    /// Returns the subscriber's span with that id, which may be closed. The own subscriber's ids
    /// are numbers of slots.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    pub(super) fn find(&self, id: &Id) -> Option<Open> {
        let number = if self.keys.are_numbers {
            Number::of(id.into_non_zero_u64())
        } else {
            self.layers().get(self.keys.key(id.into_u64()))?
        };
        number.may_be_open(self.keys.owner)
    }

    /// Returns the subscriber's span with that id, unless it is closed.
    #[inline(never)]
    fn find_open(&self, id: &Id) -> Option<Open> {
        self.find(id).filter(|span| span.is_open())
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
            (Innermost::Other, Some(id)) => self.find_open(id),
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
        let is_kept = if let Some(trace) = unsampled {
            shared.spans.contexts.insert_unsampled(span, trace, shared.begun_unsampled(false));
            false
        } else {
            // With a backtrace, spans that the filter refuses come here too. Don't start these.
            (shared.filters.kept.is_none()
                || shared.filters.is_span_recorded(level(metadata), metadata.target()))
                && self.start_span(shared, attributes, span, code, innermost)
        };
        if !is_kept && shared.wanted.events && !metadata.fields().is_empty() {
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
    /// innermost span that the thread is in. Returns whether the fields are kept, if they are needed.
    #[expect(clippy::inline_always, reason = "it is called once")]
    #[inline(always)]
    fn start_span(
        &self,
        shared: &Shared,
        attributes: &Attributes<'_>,
        span: Open,
        code: Option<Code>,
        innermost: Innermost,
    ) -> bool {
        let (contexts, metadata) = (&shared.spans.contexts, attributes.metadata());
        let found = shared.found(attributes, code);
        let has_other = found.is_around() || current::has_remote_parent();
        if !has_other && contexts.are_unused() {
            return false;
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
        // `within` is in the trace of the span, as the parent in a record must be.
        let parent = within.map_or(0, |within| within.span);
        let beginning = Beginning { code, context: &context, parent, follows, inherited: None };
        let begun = shared.begin_span(attributes, span, beginning);
        contexts.insert(span, &context, Started { is_active, follows, begun });
        shared.log_beginning(attributes, beginning, begun);
        if is_active {
            span.ids().take_parents(attributes.is_contextual());
            self.keep_active_alone(span, attributes, context, within);
        }
        true
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
        } else if is_unsampled && shared.counts_at_end(closing) {
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
        let context = ids.context();
        if context.is_sampled || shared.wanted.durations {
            let end = || given.or_else(|| ids.left().map(|left| shared.time_of(left)));
            let end = || end().unwrap_or_else(|| shared.clock_time());
            if !context.is_sampled && shared.counts_at_end(closing) {
                shared.add_duration(ids, closing);
            } else if !shared.log_span(ids, closing, context, end()) {
                // The record is lost: with ids, the back end would go on waiting for it. Don't
                // wake the back end: it reads the full queue soon.
                ids.remove();
                return shared.spans.contexts.lose_end();
            }
        }
        // Remove the ids after the record is logged: if a span has no ids, the back end assumes
        // that it has taken the record.
        ids.remove();
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
#[inline(never)]
pub(super) fn keep_fields(attributes: &Attributes<'_>, span: Open) {
    if !attributes.is_empty() {
        let mut scratch = current_thread::take_scratch();
        let mut to = Writer::of_fields(&mut scratch);
        attributes.record(&mut Visitor::of_span(&mut to));
        let end = to.end_so_far();
        span.keep_record(&mut scratch, 0..end);
        current_thread::give_back(scratch);
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

    /// Begins a span. If the slot's words can't describe the span, keeps its record. Returns the
    /// default if the span logs nothing when it ends.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    pub(super) fn begin_span(
        &self,
        attributes: &Attributes<'_>,
        span: Open,
        beginning: Beginning<'_>,
    ) -> trace::Begun {
        let Beginning { code, context, parent, inherited, .. } = beginning;
        if !context.is_sampled && !self.may_log_unsampled(code) {
            return self.begin_unsampled(attributes, span, beginning.follows);
        }
        let has_fields = !attributes.metadata().fields().is_empty();
        let has_more = has_fields || code.is_none() || inherited.is_some();
        let since = self.clock_time();
        let thread = current_thread::number(&self.channel);
        span.begin(since.number(), thread.map_or(0, NonZeroU32::get));
        if has_more && !self.logs_fields(beginning) {
            self.keep_beginning(attributes, span, since, beginning);
        }
        trace::Begun::at(since.number(), parent)
    }

    /// Returns whether the fields of a span are logged when it begins. Keeping them would take two
    /// locks, and no line needs them.
    #[inline]
    fn logs_fields(&self, beginning: Beginning<'_>) -> bool {
        let Beginning { code, context, inherited, .. } = beginning;
        context.is_sampled && !self.wanted.events && code.is_some() && inherited.is_none()
    }

    /// Logs the fields of a span, if they are not kept. Call when the span has its ids: the back end
    /// forgets parts of spans that are not open.
    #[inline]
    pub(super) fn log_beginning(
        &self,
        attributes: &Attributes<'_>,
        beginning: Beginning<'_>,
        begun: trace::Begun,
    ) {
        let has_fields = !attributes.metadata().fields().is_empty();
        if let (true, Some(since)) = (has_fields && self.logs_fields(beginning), begun.since()) {
            self.log_fields(attributes, beginning.context, self.time_of(since));
        }
    }

    #[inline(never)]
    fn log_fields(&self, attributes: &Attributes<'_>, context: &SpanContext, since: Time) {
        let mut scratch = current_thread::take_scratch();
        let mut to = Writer::begin_part(&mut scratch, since, RecordKind::Values, *context);
        let start = to.end_so_far();
        attributes.record(&mut Visitor::of_span(&mut to));
        if to.end_so_far() == start {
            return current_thread::give_back(scratch);
        }
        to.end();
        // If the queue is full, it counts the fields as dropped.
        current_thread::push(&self.channel, scratch);
    }

    /// Keeps the record of a span that begins.
    #[inline(never)]
    fn keep_beginning(
        &self,
        attributes: &Attributes<'_>,
        span: Open,
        since: Time,
        beginning: Beginning<'_>,
    ) {
        let Beginning { code, context, parent, follows, inherited } = beginning;
        let (metadata, slots::Start { age, thread, .. }) = (attributes.metadata(), span.start());
        let record = SpanRecord { context: *context, parent, since, age, thread };
        let mut scratch = current_thread::take_scratch();
        let mut to = if let Some(code) = code {
            Writer::begin_span_at(&mut scratch, code, &record)
        } else {
            let texts = [metadata.target(), metadata.name()].map(MaybeStatic::Static);
            Writer::begin_span(&mut scratch, level(metadata), texts, &record)
        };
        let start = to.end_so_far();
        // If a span is not sampled and follows another one, only the fields that its duration needs
        // are read.
        if context.is_sampled || !follows || self.wanted.events {
            attributes.record(&mut Visitor::of_span(&mut to));
        } else if let Some(durations) = &self.spans.durations {
            attributes.record(&mut Visitor::of_keys(&mut to, durations.attributes()));
        }
        let fields = start..to.end_so_far();
        if let Some(inherited) = inherited {
            inherited.write_origin(&mut to);
        }
        if to.is_whole() {
            to.site(self.wanted, place_of(metadata, MaybeStatic::Static), None);
        }
        to.end();
        span.keep_record(&mut scratch, fields);
        current_thread::give_back(scratch);
    }

    /// Logs a span that has ended. Returns whether the record is in the thread's queue.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    fn log_span(&self, ids: &Slot, closing: &Closing, context: SpanContext, end: Time) -> bool {
        if closing.has_record() {
            return self.log_record_of(closing, context.is_sampled, end);
        }
        let slots::Start { code, age, thread } = closing.start();
        let begun = ids.begun();
        // The slot keeps the record of a span that has no code or was moved. Without that record,
        // nothing can be logged.
        let (Some(code), Some(since)) = (code, begun.since()) else { return true };
        let (since, parent) = (self.time_of(since), begun.parent);
        let record = SpanRecord { context, parent, since, age, thread };
        current_thread::push_words(&self.channel, &record.words(code, end))
    }

    /// Logs the record that the slot keeps.
    #[inline(never)]
    fn log_record_of(&self, closing: &Closing, is_sampled: bool, end: Time) -> bool {
        let mut scratch = current_thread::take_scratch();
        let is_taken = closing.take_record(&mut scratch);
        scratch.end_span(end, is_sampled);
        is_taken && current_thread::push(&self.channel, scratch)
    }
}
