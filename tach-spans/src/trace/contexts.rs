//! The ids of open spans, by keys that are made of the subscriber's numbers.
//!
//! A span of the pipeline's own subscriber has its ids in its [slot there](super::slots). For the
//! spans of other subscribers there are tables. A look-up costs a few loads. As extensions of the
//! registry, the ids would cost each span a map and an allocation.

#[cfg(feature = "opentelemetry")]
mod active;
mod kept;
mod table;

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::HashSet;
use std::sync::OnceLock;

use self::table::{FIRST_BITS, Table};
use super::by_span::BySpan;
use super::key::Key;
use super::otel::Kept;
use super::random::child as id_of_child;
use super::slot::{
    ABANDONED, ACTIVE, CHILD, FOLLOWS, Flags, Ids, KEPT, LOST, PIPELINE, Slot, TAKES, of_pipeline,
};
use super::slots;
use super::w3c::TraceContext;
use tach_record::ids::SpanContext;

/// The numbers of slots of the further tables, as powers of two. With the first table, 22 million
/// spans may be open. `Stats::dropped_spans` counts a span whose place in each table is taken.
const FURTHER_BITS: [u32; 4] = [18, 20, 22, 24];

pub struct Contexts {
    /// The number of the pipeline, where the flags of a slot have it.
    pipeline: u64,
    first: Table,
    /// For spans whose slots in the tables before are taken by other spans. A table is created when
    /// the first span needs it: few programs have any.
    further: [OnceLock<Table>; FURTHER_BITS.len()],
    /// Whether a span was removed whose end was dropped.
    has_lost_end: AtomicBool,
    /// The spans of other processes from which spans have more than their trace: a `tracestate`, or
    /// all that they pass on if nobody takes spans. Most traces have none.
    pub origins: BySpan<TraceContext>,
    /// The records of a layer's spans that [wait](Slot::waits). Others have them in their slots.
    kept: BySpan<Vec<u8>>,
    /// Whether all spans have ids. Otherwise only spans with an origin have.
    gives_ids: bool,
    pub otel: Kept,
}

/// How a span starts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Started {
    /// Whether the span becomes the current one of `opentelemetry` when it is entered.
    pub is_active: bool,
    /// Whether the span may have a parent in the registry.
    pub is_child: bool,
    /// Whether the span follows the decision of its parent. Otherwise the span [waits](Slot::waits) if
    /// it is not sampled.
    pub follows: bool,
}

/// A span that closes. Its slot has its ids until it is [removed](Contexts::remove).
pub struct Closing<'a> {
    slot: &'a Slot,
    pub context: SpanContext,
    /// The [number](tach_record::frame::Time::number) of the time when a thread last left the span.
    pub left: Option<u64>,
    flags: Flags,
    pub is_child: bool,
    /// Whether the record of the start was dropped.
    pub is_lost: bool,
}

impl Contexts {
    /// Creates the tables of the pipeline with that number. `gives_ids` says whether all spans have
    /// ids.
    pub fn new(pipeline: u64, gives_ids: bool) -> Self {
        Self {
            pipeline: of_pipeline(pipeline),
            first: Table::new(FIRST_BITS),
            further: Default::default(),
            has_lost_end: AtomicBool::new(false),
            origins: BySpan::new(),
            kept: BySpan::new(),
            gives_ids,
            otel: Kept::new(),
        }
    }

    /// Returns whether no span has ids.
    #[inline]
    pub fn are_unused(&self) -> bool {
        !self.gives_ids && self.origins.is_empty()
    }

    /// Returns whether all spans have ids.
    #[inline]
    pub const fn give_ids(&self) -> bool {
        self.gives_ids
    }

    /// Adds an open span, and returns its slot: `own` if the span is one of the pipeline's own
    /// subscriber, or else one of the tables. Returns `None` if there is no room.
    #[inline]
    pub fn insert<'a>(
        &'a self,
        key: Key,
        own: Option<&'a Slot>,
        context: &SpanContext,
        started: Started,
    ) -> Option<&'a Slot> {
        if let Some(own) = own {
            let flags = self.flags(started);
            return own.take_own(key.number, for_slot(context), flags).then_some(own);
        }
        self.insert_in_table(key, context, started)
    }

    fn insert_in_table(&self, key: Key, context: &SpanContext, started: Started) -> Option<&Slot> {
        let take = |slot: &Slot| self.insert_at(slot, key, context, started);
        let first = self.first.allocated(key).filter(|slot| take(slot));
        first.or_else(|| self.insert_further(key, take))
    }

    /// Fills the slot of a span that other threads may know. Returns `false` if it has ids.
    pub fn insert_at(
        &self,
        slot: &Slot,
        key: Key,
        context: &SpanContext,
        started: Started,
    ) -> bool {
        slot.take(key.number, for_slot(context), self.flags(started))
    }

    #[inline]
    fn flags(&self, started: Started) -> u64 {
        let Started { is_active, is_child, follows } = started;
        let all = [(is_active, ACTIVE), (is_child, CHILD), (follows, FOLLOWS)];
        let [active, child, follows] = all.map(|(is_set, flag)| u64::from(is_set) * flag);
        self.pipeline | active | child | follows
    }

    #[inline(never)]
    fn insert_further(&self, key: Key, take: impl Fn(&Slot) -> bool) -> Option<&Slot> {
        self.further.iter().zip(FURTHER_BITS).find_map(|(table, bits)| {
            let table = if let Some(table) = table.get() {
                table
            } else {
                // Allocates before the lock is taken, as a table does for its pages.
                let new = Table::new(bits);
                table.get_or_init(|| new)
            };
            table.allocated(key).filter(|slot| take(slot))
        })
    }

    /// Returns the slot of an open span, unless the span is unknown.
    #[inline]
    pub fn find(&self, key: Key) -> Option<&Slot> {
        if self.are_unused() {
            return None;
        }
        if !key.is_of_layer() {
            return slots::ids(key).and_then(|slot| self.own(slot, key.number));
        }
        let known = self.first.slot(key).filter(|slot| slot.has(key.number));
        known.or_else(|| self.find_further(key))
    }

    #[inline(never)]
    fn find_further(&self, key: Key) -> Option<&Slot> {
        let tables = self.further.iter().map_while(OnceLock::get);
        tables.filter_map(|table| table.slot(key)).find(|slot| slot.has(key.number))
    }

    /// Returns the slot of a span of the pipeline's own subscriber, if it has the ids of the span
    /// with that number. In a forked child, a slot may have ids of the parent's pipeline.
    #[inline]
    pub fn own<'a>(&self, slot: &'a Slot, number: u64) -> Option<&'a Slot> {
        slot.flags_of(number).is_some_and(|flags| self.is_own(flags)).then_some(slot)
    }

    /// Returns whether a slot with these flags has the ids of a span of the pipeline.
    #[inline]
    pub const fn is_own(&self, flags: Flags) -> bool {
        flags.are_of(self.pipeline)
    }

    /// Returns whether a slot with these flags has the ids of a span of the pipeline that never was
    /// sampled, and nothing is kept of the span but its ids.
    #[inline]
    pub fn has_ids_alone(&self, flags: Flags) -> bool {
        flags.are_unsampled(self.pipeline, 0) && self.keep_ids_alone()
    }

    /// Returns the trace and the id of the span that has the slot, for a child of which nothing is
    /// kept but its ids, if the span never was sampled. (Another thread may move it to a trace that
    /// is, so the flags are read once.)
    #[expect(clippy::inline_always, reason = "it is called once")]
    #[inline(always)]
    pub fn unsampled_parent(&self, slot: &Slot) -> Option<(u128, u64)> {
        let ((trace, span, _), flags) = slot.get_all();
        let is_right = flags.are_unsampled(self.pipeline, ACTIVE) && self.keep_ids_alone();
        is_right.then_some((trace, span))
    }

    /// Takes a slot of the pipeline's own subscriber for a child of a span that is not sampled.
    /// Returns `false` if the slot is not free.
    #[expect(clippy::inline_always, reason = "it is called once")]
    #[inline(always)]
    pub fn insert_unsampled(&self, slot: &Slot, number: u64, (trace, parent): (u128, u64)) -> bool {
        let ids = (trace, id_of_child(parent, number), false);
        slot.take_own(number, ids, self.pipeline | CHILD | FOLLOWS)
    }

    /// Returns the ids of an open span, unless it is unknown.
    #[inline]
    pub fn get(&self, key: Key) -> Option<SpanContext> {
        self.find(key).map(Slot::context)
    }

    /// Gives a slot of the own subscriber the ids of another span, which stay that span's: nothing
    /// is recorded for the slot.
    #[cold]
    pub fn lend(&self, slot: &Slot, number: u64, context: &SpanContext) {
        slot.take_own(number, for_slot(context), !self.pipeline & PIPELINE | FOLLOWS);
    }

    /// Returns the ids that the span with that number was [lent](Self::lend).
    #[cold]
    pub fn lent(&self, slot: &Slot, number: u64) -> Option<SpanContext> {
        let is_lent = slot.flags_of(number)?.are_of(!self.pipeline);
        is_lent.then(|| slot.context())
    }

    /// Like [`get`](Self::get), for a caller that does not hold the span, which may be closed.
    pub fn get_unheld(&self, key: Key) -> Option<(&Slot, SpanContext)> {
        let slot = self.find(key)?;
        slot.get_unheld(key.number).map(|ids| (slot, of_slot(ids)))
    }

    /// Removes a span that closes.
    #[inline]
    pub fn remove(&self, Closing { slot, context, flags, .. }: Closing<'_>) {
        let is_active = flags.have(ACTIVE);
        slot.remove();
        if flags.have(KEPT) || !self.keep_ids_alone() || is_active && self.otel.keeps_active() {
            self.remove_kept(context.span, is_active);
        }
    }

    /// Removes what is kept of a span by its id.
    #[inline(never)]
    fn remove_kept(&self, span: u64, is_active: bool) {
        self.origins.remove(span);
        self.kept.remove(span);
        self.otel.remove(span, is_active);
    }

    /// Returns whether nothing is kept of any span but its ids, the contexts of active spans, and
    /// the records of those that wait.
    #[inline]
    pub fn keep_ids_alone(&self) -> bool {
        self.origins.is_empty() && self.otel.is_empty()
    }

    /// Notes that a thread leaves the span with that number, which has the slot with these flags.
    /// Returns whether it is sampled.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    pub fn leave(&self, slot: &Slot, mut flags: Flags) -> bool {
        if flags.are_undecided() {
            flags = slot.decide();
            if flags.have_kept() {
                self.drop_kept(slot);
            }
        }
        flags.may_be_sampled()
    }

    #[cold]
    fn drop_kept(&self, slot: &Slot) {
        self.kept.remove(slot.context().span);
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
        let further = self.further.iter().filter_map(OnceLock::get);
        let tables = [&self.first].into_iter().chain(further).flat_map(Table::slots);
        let own = slots::all_ids().filter_map(|slot| slot.span_of(self.pipeline));
        tables.filter_map(Slot::span).chain(own).collect()
    }
}

impl Slot {
    /// Returns the ids of the span.
    #[inline]
    pub fn context(&self) -> SpanContext {
        of_slot(self.get())
    }

    /// Notes that a thread left the span at the time with this
    /// [number](tach_record::frame::Time::number).
    #[inline]
    pub fn leave_at(&self, time: u64) {
        // Zero means that no thread has left the span.
        self.leave(time.saturating_add(1));
    }

    /// Makes the span one that becomes the current one of `opentelemetry` when it is entered.
    pub fn activate(&self) {
        self.set_flag(ACTIVE);
    }

    /// If `may_take` is set, a parent in another process is taken from the context in which the active
    /// span is entered. The parent was not named, and no such parent was there when the span started.
    #[inline]
    pub fn take_parents(&self, may_take: bool) {
        if may_take {
            self.set_flag(TAKES);
        }
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

    /// Returns whether the record of the span's start was dropped.
    pub fn has_lost_start(&self) -> bool {
        self.has_flag(LOST)
    }

    /// Returns the span, which closes.
    #[inline]
    pub fn closing(&self) -> Closing<'_> {
        let ((ids, flags), left) = (self.get_all(), self.left().map(|left| left - 1));
        let (is_child, is_lost) = (flags.have(CHILD), flags.have(LOST));
        Closing { slot: self, context: of_slot(ids), left, flags, is_child, is_lost }
    }

    /// Begins to [move](Self::move_into) the span, which stays as it is until the
    /// [end](Self::end_move).
    pub fn begin_move_into(&self, context: SpanContext) -> bool {
        self.begin_move(context.trace, context.is_sampled)
    }

    /// Moves the span to the trace of a remote parent. Returns `false` if it was moved before, or
    /// would be sampled although a thread has left it unsampled.
    pub fn move_into(&self, context: SpanContext) -> bool {
        self.move_to(context.trace, context.is_sampled)
    }
}

const fn of_slot((trace, span, is_sampled): Ids) -> SpanContext {
    SpanContext { trace, span, is_sampled }
}

const fn for_slot(context: &SpanContext) -> Ids {
    (context.trace, context.span, context.is_sampled)
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::thread;

    use proptest::prelude::*;

    use super::*;
    use crate::trace::by_span::tests as lock;

    /// Keys that differ by this have the same slot in each table.
    const SAME_SLOT: u64 = 1 << FURTHER_BITS[FURTHER_BITS.len() - 1];
    const THREAD: u64 = 1 << 38;
    /// No pipeline of another test has this number.
    const PIPELINE: u64 = u32::MAX as u64;

    fn context(number: u64) -> SpanContext {
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

    fn insert(contexts: &Contexts, key: Key, number: u64) -> bool {
        let started =
            Started { is_active: number % 3 == 0, is_child: number % 5 == 0, ..Started::default() };
        contexts.insert(key, None, &context(number), started).is_some()
    }

    fn close(contexts: &Contexts, key: Key) -> Option<SpanContext> {
        let closing = contexts.find(key)?.closing();
        let context = closing.context;
        contexts.remove(closing);
        Some(context)
    }

    proptest! {
        /// Spans come and go at few places, so that many collide, and some find no slot.
        #[test]
        fn it_knows_what_a_map_knows(
            steps in prop::collection::vec((0..7_u64, 1..3_u64, 0..4), 0..200),
        ) {
            let contexts = Contexts::new(PIPELINE, true);
            let mut map = HashMap::new();
            let mut moved = HashSet::new();
            let mut left = HashMap::new();
            for (number, (collision, place, step)) in (1..).zip(steps) {
                let id = Key::of_layer(place + collision * SAME_SLOT);
                let is_open = map.contains_key(&id);
                if step == 0 && !is_open {
                    let same = map.keys().filter(|other: &&Key| other.number % SAME_SLOT == place);
                    let has_room = same.count() <= FURTHER_BITS.len();
                    prop_assert_eq!(insert(&contexts, id, number), has_room);
                    if has_room {
                        map.insert(id, (context(number), number));
                        moved.remove(&id);
                        left.remove(&id);
                    }
                } else if step == 1 {
                    let its_left = left.get(&id).copied();
                    let closing = contexts.find(id).map(Slot::closing);
                    prop_assert_eq!(closing.as_ref().and_then(|it| it.left), its_left);
                    let closed = close(&contexts, id);
                    prop_assert_eq!(closed, map.remove(&id).map(|(context, _)| context));
                    left.remove(&id);
                } else if step == 2 {
                    let span = map.get(&id).map_or(number, |(known, _)| known.span);
                    let moved_to = SpanContext { span, ..context(number) };
                    let is_moved = contexts.find(id).is_some_and(|it| it.move_into(moved_to));
                    prop_assert_eq!(is_moved, is_open && moved.insert(id));
                    if let Some((known, _)) = map.get_mut(&id).filter(|_| is_moved) {
                        *known = SpanContext { span: known.span, ..context(number) };
                    }
                } else if step == 3 {
                    // Threads leave the span in any order.
                    let time = number ^ 8;
                    contexts.find(id).into_iter().for_each(|it| it.leave_at(time));
                    if is_open {
                        let latest = left.entry(id).or_insert(0);
                        *latest = time.max(*latest);
                    }
                }
                for collision in 0..7 {
                    for place in 1..3 {
                        let id = Key::of_layer(place + collision * SAME_SLOT);
                        let known = map.get(&id);
                        prop_assert_eq!(contexts.get(id), known.map(|(context, _)| *context));
                        let is_active = known.is_some_and(|(_, number)| number % 3 == 0);
                        let has = |slot: &Slot| slot.get_all().1.have(ACTIVE);
                        prop_assert_eq!(contexts.find(id).is_some_and(has), is_active);
                        let is_child = contexts.find(id).is_some_and(|it| it.closing().is_child);
                        prop_assert_eq!(is_child, known.is_some_and(|(_, number)| number % 5 == 0));
                    }
                }
            }
        }
    }

    /// A process with 100,000 connections has a span for each. Other spans cost the same meanwhile.
    #[test]
    fn no_look_up_takes_a_lock_however_many_spans_are_open() {
        let contexts = Contexts::new(PIPELINE, true);
        let mut open = 0;
        for count in [10, 1 << FIRST_BITS, 100_000] {
            for place in open..count {
                assert!(insert(&contexts, Key::of_layer(THREAD | place), 3 * place + 1));
            }
            open = count;
            let before = lock::locks();
            for number in open + 1..=open + 1_000 {
                let key = Key::of_layer(THREAD | number);
                assert!(insert(&contexts, key, 3 * number + 1));
                assert_eq!(contexts.get(key), Some(context(3 * number + 1)));
                assert_eq!(contexts.get(key), contexts.get_unheld(key).map(|(_, ids)| ids));
                contexts.find(key).unwrap().leave_at(number);
                assert!(close(&contexts, key).is_some());
            }
            assert_eq!(lock::locks(), before, "{open} spans are open");
        }
        // A span with a tracestate takes a lock, which is counted.
        let before = lock::locks();
        contexts.origins.set(1, Some(origin()));
        assert_ne!(lock::locks(), before);
    }

    #[test]
    fn a_closed_span_has_no_tracestate() {
        let contexts = Contexts::new(PIPELINE, true);
        insert(&contexts, Key::of_layer(1), 5);
        contexts.origins.set(5, Some(origin()));
        assert_eq!(close(&contexts, Key::of_layer(1)), Some(context(5)));
        assert_eq!(contexts.origins.get(5), None);
    }

    /// Many more than the first table has slots.
    #[test]
    fn hundreds_of_thousands_of_open_spans_are_known() {
        const EACH: u64 = 100_000;
        let contexts = Contexts::new(PIPELINE, true);
        let spans = |number: u64| {
            (1..=EACH)
                .map(move |place| (Key::of_layer((number * THREAD) | place), number * EACH + place))
        };
        thread::scope(|scope| {
            for number in 1..=4 {
                let contexts = &contexts;
                scope.spawn(move || {
                    for (key, span) in spans(number) {
                        assert!(insert(contexts, key, span));
                    }
                    for (key, span) in spans(number) {
                        assert_eq!(contexts.get(key), Some(context(span)));
                    }
                });
            }
        });
        assert_eq!(contexts.spans().len(), 4 * 100_000);
        for (key, span) in (1..=4).flat_map(spans) {
            assert_eq!(close(&contexts, key), Some(context(span)));
        }
        assert!(contexts.spans().is_empty());
    }
}
