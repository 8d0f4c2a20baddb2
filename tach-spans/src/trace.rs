//! Spans at the call: their ids, and the spans that a thread is in.
//!
//! All that a call needs of an open span is in its [slot](slots), whichever subscriber the span is
//! of. The numbers of a registry's spans lead to slots by a [table](layers).

#[cfg(feature = "opentelemetry")]
mod boundary;
pub mod current;
pub mod layers;
#[cfg(feature = "opentelemetry")]
pub mod otel;
#[cfg(not(feature = "opentelemetry"))]
#[path = "trace/no_otel.rs"]
pub mod otel;
mod random;
pub mod sampling;
mod slot;
pub mod slots;
pub mod w3c;

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::HashSet;

use self::layers::Layers;
use self::random::Ids;
pub use self::slot::Slot;
use self::slot::{
    ABANDONED, ACTIVE, ANY_LEFT, FOLLOWS, Flags, LOST, MOVING, PASSES_ON, PIPELINE, TAKES,
    of_pipeline,
};
use self::slots::Open;
use tach_record::host::process::Process;
use tach_record::ids::SpanContext;
use tach_record::sync::Switch;

/// The ids of a pipeline's open spans.
pub struct Contexts {
    /// The number of the pipeline, where the flags of a slot have it.
    pipeline: u64,
    /// Makes ids of the numbers of slots, and numbers of ids.
    secret: u64,
    /// Whether all spans have ids. Otherwise only spans have ids that pass a caller's context on.
    gives_ids: bool,
    /// Whether a span got ids although not all spans have any.
    passes_on: Switch,
    /// Whether a span was removed whose end was dropped.
    has_lost_end: AtomicBool,
    /// Whether a tracer has started a span.
    pub has_tracers: Switch,
    /// The process in which spans become current in `opentelemetry`.
    process: Process,
    pub layers: Layers,
}

/// How a span starts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Started {
    /// Whether the span becomes the current one of `opentelemetry` when it is entered.
    pub is_active: bool,
    /// Whether the span follows the decision of its parent. Otherwise the span [waits](Slot::waits) if
    /// it is not sampled.
    pub follows: bool,
}

impl Contexts {
    /// Creates the state of the pipeline with that number. `gives_ids` says whether all spans have
    /// ids.
    pub fn new(pipeline: u64, gives_ids: bool) -> Self {
        Self {
            secret: random::with(of_pipeline(pipeline), Ids::span),
            pipeline: of_pipeline(pipeline),
            gives_ids,
            passes_on: Switch::new(),
            has_lost_end: AtomicBool::new(false),
            has_tracers: Switch::new(),
            process: Process::current(),
            layers: Layers::new(),
        }
    }

    /// Returns whether no span has ids.
    #[inline]
    pub fn are_unused(&self) -> bool {
        !self.gives_ids && !self.passes_on.is_on()
    }

    /// Returns whether all spans have ids.
    #[inline]
    pub const fn give_ids(&self) -> bool {
        self.gives_ids
    }

    /// Creates the ids of an open span: with the trace of its parent, or else with a new one.
    #[inline]
    pub fn new_ids(
        &self,
        span: Open,
        parent: Option<&SpanContext>,
        is_sampled: impl FnOnce(u128) -> bool,
    ) -> SpanContext {
        let trace = self.trace(parent);
        let span = random::id(self.secret, span.number().id().get());
        SpanContext { trace, span, is_sampled: is_sampled(trace) }
    }

    /// Like [`new_ids`](Self::new_ids), for a span that has no slot.
    pub fn ids_without_slot(
        &self,
        parent: Option<&SpanContext>,
        is_sampled: impl FnOnce(u128) -> bool,
    ) -> SpanContext {
        let trace = self.trace(parent);
        let span = random::with(self.pipeline, Ids::span);
        SpanContext { trace, span, is_sampled: is_sampled(trace) }
    }

    /// Returns the ids of the [span](Self::ids_without_slot) after it got a slot.
    pub fn with_slot(&self, ids: SpanContext, span: Open) -> SpanContext {
        SpanContext { span: random::id(self.secret, span.number().id().get()), ..ids }
    }

    #[inline]
    fn trace(&self, parent: Option<&SpanContext>) -> u128 {
        parent.map_or_else(|| random::with(self.pipeline, Ids::trace), |parent| parent.trace)
    }

    /// Gives an open span its ids. Call before other threads know the span.
    #[inline]
    pub fn insert(&self, span: Open, context: &SpanContext, started: Started) {
        let number = span.number().id().get();
        span.ids().take_own(number, for_slot(context), self.flags(started));
    }

    /// Gives a span ids that other threads may know. Returns `false` if it has ids.
    pub fn insert_late(&self, span: Open, context: &SpanContext, started: Started) -> bool {
        self.passes_on.on();
        let number = span.number().id().get();
        span.ids().take(number, for_slot(context), self.flags(started))
    }

    #[inline]
    const fn flags(&self, started: Started) -> u64 {
        slot::flags(self.pipeline, started.is_active, started.follows)
    }

    /// Returns the trace and the id of a span that never was sampled, for a child of which nothing
    /// is kept but its ids. (Another thread may move the parent to a trace that is sampled, so the
    /// flags are read once.)
    #[expect(clippy::inline_always, reason = "it is called once")]
    #[inline(always)]
    pub fn unsampled_parent(&self, parent: Open) -> Option<u128> {
        let ((trace, ..), flags) = parent.ids().get_all();
        flags.are_unsampled(self.pipeline, ACTIVE).then_some(trace)
    }

    /// Gives the child of a span that is not sampled its ids.
    #[expect(clippy::inline_always, reason = "it is called once")]
    #[inline(always)]
    pub fn insert_unsampled(&self, span: Open, trace: u128) {
        let number = span.number().id().get();
        let ids = (trace, random::id(self.secret, number), false);
        span.ids().take_own(number, ids, self.pipeline | FOLLOWS);
    }

    /// Gives a span the ids of the span that it is in, which stay that span's: nothing is recorded
    /// for the span.
    #[cold]
    pub fn lend(&self, span: Open, lender: Open, context: &SpanContext) {
        let number = span.number().id().get();
        span.ids().take_own(number, for_slot(context), !self.pipeline & PIPELINE | FOLLOWS);
        if lender.ids().passes_on() {
            span.borrow_from(lender);
        }
    }

    /// Returns whether the pipeline records the span, which is open. In a forked child, a slot may
    /// have ids of the parent's pipeline.
    #[inline]
    pub fn record(&self, span: Open) -> bool {
        span.flags().is_some_and(|flags| self.is_own(flags))
    }

    /// Returns whether a slot with these flags has the ids of a span of the pipeline.
    #[inline]
    pub const fn is_own(&self, flags: Flags) -> bool {
        flags.are_of(self.pipeline)
    }

    /// Returns whether a slot with these flags has the ids of a span of the pipeline that never was
    /// sampled, and the span is not current in `opentelemetry` when it is entered.
    #[inline]
    pub const fn are_unsampled(&self, flags: Flags) -> bool {
        flags.are_unsampled(self.pipeline, 0)
    }

    /// Returns the ids that a span of the pipeline has, or was [lent](Self::lend).
    #[inline]
    pub fn get(&self, span: Open) -> Option<SpanContext> {
        let flags = span.flags()?;
        (self.is_own(flags) || flags.are_of(!self.pipeline)).then(|| span.ids().context())
    }

    /// Returns the ids of a span that the pipeline records, for a caller that does not hold the
    /// span, which may be closed.
    pub fn get_unheld(&self, span: Open) -> Option<SpanContext> {
        if !self.record(span) {
            return None;
        }
        span.ids().get_unheld(span.number().id().get()).map(of_slot)
    }

    /// Returns the open span with that id, and its ids, if the pipeline records it.
    pub fn find(&self, id: u64) -> Option<(Open, SpanContext)> {
        let number = slots::Number::new(random::number(self.secret, id))?;
        let span = number.may_be_open_in_any()?;
        self.get_unheld(span).filter(|context| context.span == id).map(|context| (span, context))
    }

    /// Returns whether the thread is in the process in which spans become current.
    #[inline]
    pub fn is_process_current(&self) -> bool {
        self.process.is_current()
    }

    /// Remembers that a span was removed whose end was dropped.
    pub fn lose_end(&self) {
        // ORDERING: Release, with the Acquire of `take_lost_end`: the span is removed.
        self.has_lost_end.store(true, Ordering::Release);
    }

    /// Returns whether `lose_end` was called since the last call.
    pub fn take_lost_end(&self) -> bool {
        // ORDERING: Acquire, with the Release of `lose_end`: `spans` no longer contains the span.
        // The load is Relaxed: it publishes nothing, and the next call sees a flag that it missed.
        self.has_lost_end.load(Ordering::Relaxed)
            && self.has_lost_end.swap(false, Ordering::Acquire)
    }

    /// Returns the ids of all open spans. A span that is missing here has logged its end.
    pub fn spans(&self) -> HashSet<u64> {
        slots::all_ids().filter_map(|slot| slot.span_of(self.pipeline)).collect()
    }
}

impl Slot {
    /// Returns the ids of the span.
    #[inline]
    pub fn context(&self) -> SpanContext {
        of_slot(self.get())
    }

    /// Returns the ids of the span, and its flags.
    #[inline]
    pub fn context_and_flags(&self) -> (SpanContext, Flags) {
        let (ids, flags) = self.get_all();
        (of_slot(ids), flags)
    }

    /// Makes the span one that becomes the current one of `opentelemetry` when it is entered.
    pub fn activate(&self) {
        self.set_flag(ACTIVE);
    }

    /// Returns whether the span becomes the current one of `opentelemetry` when it is entered.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.has_flag(ACTIVE)
    }

    /// If `may_take` is set, a parent in another process is taken from the context in which the active
    /// span is entered. The parent was not named, and no such parent was there when the span started.
    #[inline]
    pub fn take_parents(&self, may_take: bool) {
        if may_take {
            self.set_flag(TAKES);
        }
    }

    /// Returns whether the span [takes](Self::take_parents) a parent now: it was neither moved nor left.
    #[inline]
    pub fn takes_parent(&self) -> bool {
        self.has_flag(TAKES) && !self.has_flag(MOVING | ANY_LEFT) && self.left().is_none()
    }

    /// Notes that the span has something that its children inherit.
    fn set_passes_on(&self) {
        self.set_flag(PASSES_ON);
    }

    /// Returns whether the span has something that its children inherit.
    #[inline]
    pub fn passes_on(&self) -> bool {
        self.has_flag(PASSES_ON)
    }

    /// Notes that the registry will never close the span. Returns `false` if that was noted before.
    #[cold]
    pub fn abandon(&self) -> bool {
        self.set_flag(ABANDONED)
    }

    /// Notes that the record of the span's start was dropped.
    #[cold]
    pub fn lose_start(&self) {
        self.set_flag(LOST);
    }
}

const fn of_slot((trace, span, is_sampled): slot::Ids) -> SpanContext {
    SpanContext { trace, span, is_sampled }
}

const fn for_slot(context: &SpanContext) -> slot::Ids {
    (context.trace, context.span, context.is_sampled)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::thread;

    use proptest::prelude::*;

    use super::w3c::TraceContext;
    use super::*;

    /// An open span: its ids, whether it was moved, and when it was left.
    type Known = (Open, SpanContext, bool, Option<u64>);

    /// The subscriber of the spans.
    const OWNER: u32 = 1;

    fn numbered(number: u64) -> SpanContext {
        SpanContext {
            trace: u128::from(number) << 64 | 7,
            span: number,
            is_sampled: number % 2 == 0,
        }
    }

    fn origin() -> TraceContext {
        let header = "00-0000000000000000000000000000000a-000000000000000b-01";
        TraceContext::from_headers(header, "a=1").unwrap()
    }

    /// Opens a span with ids by its number.
    fn open(contexts: &Contexts, started: Started) -> (Open, SpanContext) {
        let span = slots::open(OWNER, None, None, None).unwrap();
        let context = contexts.new_ids(span, None, |trace| trace % 2 == 0);
        contexts.insert(span, &context, started);
        (span, context)
    }

    fn close(span: Open) {
        let closing = span.number().remove_reference(OWNER).unwrap();
        let (ids, _) = closing.ids(span.number()).unwrap();
        ids.remove();
        closing.free();
    }

    proptest! {
        /// Spans come and go, and take each other's slots. Each is known by its id too.
        #[test]
        fn a_span_has_what_was_set_until_it_closes(
            steps in prop::collection::vec((0..4_usize, 0..5), 0..200),
        ) {
            let contexts = Contexts::new(301, true);
            let mut known: [Option<Known>; 4] = [None; 4];
            let mut closed = Vec::new();
            for (number, (place, step)) in (1..).zip(steps) {
                match (&mut known[place], step) {
                    (empty @ None, 0) => {
                        let started = Started { is_active: number % 3 == 0, follows: false };
                        let (span, context) = open(&contexts, started);
                        *empty = Some((span, context, false, None));
                    }
                    (Some((span, context, is_moved, _)), 1) => {
                        let to = SpanContext { span: context.span, ..numbered(number) };
                        prop_assert_eq!(span.ids().move_to(to.trace, to.is_sampled), !*is_moved);
                        if !*is_moved {
                            (*context, *is_moved) = (to, true);
                        }
                    }
                    (Some((span, .., left)), 2) => {
                        // Threads leave the span in any order.
                        let time = number ^ 8;
                        span.ids().leave_at(time);
                        *left = Some(left.map_or(time, |left| left.max(time)));
                    }
                    (Some((span, ..)), 3) => span.set_origin((number % 2 == 0).then(origin)),
                    (some, 4) => {
                        if let Some((span, context, ..)) = some.take() {
                            close(span);
                            closed.push((span, context));
                        }
                    }
                    _ => {}
                }
                for (span, context, _, left) in known.iter().flatten() {
                    prop_assert_eq!(contexts.get(*span), Some(*context));
                    prop_assert_eq!(contexts.get_unheld(*span), Some(*context));
                    let found = contexts.find(context.span);
                    prop_assert!(found.is_some_and(|found| found == (*span, *context)));
                    prop_assert_eq!(span.ids().left(), *left);
                }
                for (span, context) in &closed {
                    prop_assert!(contexts.get(*span).is_none() && span.origin().is_none());
                    prop_assert!(contexts.find(context.span).is_none());
                }
            }
            let ids: HashSet<u64> = known.iter().flatten().map(|(_, it, ..)| it.span).collect();
            prop_assert_eq!(contexts.spans(), ids);
            known.into_iter().flatten().for_each(|(span, ..)| close(span));
            prop_assert!(contexts.spans().is_empty());
        }
    }

    #[test]
    fn a_pipeline_knows_no_span_of_another_one() {
        let [own, other] = [302, 303].map(|number| Contexts::new(number, true));
        let (span, context) = open(&own, Started::default());
        assert!(own.record(span) && !other.record(span));
        assert_eq!((own.get(span), other.get(span)), (Some(context), None));
        assert!(other.find(context.span).is_none());
        close(span);
    }

    #[test]
    fn a_lent_span_shows_what_another_one_passes_on() {
        let contexts = Contexts::new(304, true);
        let (lender, context) = open(&contexts, Started::default());
        lender.set_origin(Some(origin()));
        let span = slots::open(OWNER, None, None, None).unwrap();
        contexts.lend(span, lender, &context);
        assert_eq!((contexts.get(span), contexts.record(span)), (Some(context), false));
        assert_eq!(span.origin(), Some(origin()));
        assert_eq!(contexts.spans(), [context.span].into());
        [span, lender].into_iter().for_each(close);
    }

    /// Many more than a page has slots, on several threads, each with an id of its own.
    #[test]
    fn hundreds_of_thousands_of_open_spans_are_known() {
        const EACH: usize = 100_000;
        let contexts = Contexts::new(305, true);
        let spans: HashMap<u64, Open> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let spans = (0..EACH).map(|_| open(&contexts, Started::default()));
                        spans.map(|(span, context)| (context.span, span)).collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(spans.len(), 4 * EACH);
        assert_eq!(contexts.spans(), spans.keys().copied().collect());
        assert!(spans.iter().all(|(id, span)| contexts.find(*id).is_some_and(|it| it.0 == *span)));
        spans.into_values().for_each(close);
        assert!(contexts.spans().is_empty());
    }
}
