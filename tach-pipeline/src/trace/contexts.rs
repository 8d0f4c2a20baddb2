//! The ids of open spans, by keys that are made of the registry's numbers.
//!
//! A look-up costs a few loads. As extensions of the registry, the ids would cost each span a map
//! and an allocation.

mod slot;

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use self::slot::{Ids, Slot};
use super::by_span::BySpan;
use super::key::Key;
use super::otel::Kept;
use crate::host::process::Process;
use crate::ids::SpanContext;
use crate::sync::Mirrored;

/// How many slots are allocated at once: 16 KiB.
const PAGE: usize = 256;
const PAGES: usize = 256;
/// Open spans beyond this number share one map with a lock.
const SLOTS: usize = PAGES * PAGE;

/// The bits of the registry's numbers that hold the thread which created the span. The bits below
/// hold a place, which the thread reuses, the lowest first. If a new version of the registry
/// numbers differently, more spans collide, and nothing else changes.
const THREAD_SHIFT: u32 = 38;
const THREAD_BITS: u32 = 13;

pub(crate) struct Contexts {
    pages: Box<[OnceLock<Box<[Slot]>>]>,
    /// Spans whose slot is taken by another span.
    others: Mirrored<HashMap<Key, Other>>,
    /// Whether a span was removed whose end was dropped.
    has_lost_end: AtomicBool,
    /// The `tracestate` of spans. Most traces have none.
    pub(crate) states: BySpan<Arc<str>>,
    pub(crate) otel: Kept,
    /// The process whose threads hold the lock.
    process: Process,
}

impl Contexts {
    pub(crate) fn new() -> Self {
        Self {
            pages: (0..PAGES).map(|_| OnceLock::new()).collect(),
            others: Mirrored::default(),
            has_lost_end: AtomicBool::new(false),
            states: BySpan::new(),
            otel: Kept::new(),
            process: Process::current(),
        }
    }

    /// Adds an open span. `is_active` is for [`is_active`](Self::is_active).
    #[inline]
    pub(crate) fn insert(&self, key: Key, context: SpanContext, is_active: bool) {
        if !self.slot(key).take(key.0, context.for_slot(), is_active) {
            self.insert_other(key, context, is_active);
        }
    }

    /// Returns whether the span becomes the current one of `opentelemetry` when it is entered.
    #[inline]
    pub(crate) fn is_active(&self, key: Key) -> bool {
        let own = self.slot(key).is_active(key.0);
        own.or_else(|| self.with_others(|others| Some(others.get(&key)?.is_active)))
            .unwrap_or(false)
    }

    /// Returns the ids of an open span, unless it is unknown.
    #[inline]
    pub(crate) fn get(&self, key: Key) -> Option<SpanContext> {
        let known = self.slot(key).get(key.0).map(SpanContext::of_slot);
        known.or_else(|| self.with_others(|others| Some(others.get(&key)?.context)))
    }

    /// Like [`get`](Self::get), for a caller that does not hold the span, which may be closed.
    pub(crate) fn get_unheld(&self, key: Key) -> Option<SpanContext> {
        let known = self.slot(key).get_unheld(key.0).map(SpanContext::of_slot);
        known.or_else(|| self.with_others(|others| Some(others.get(&key)?.context)))
    }

    /// Removes a span that is closed. `span` is its id.
    #[inline]
    pub(crate) fn remove(&self, key: Key, span: u64) {
        let is_active = Kept::TAKES_ACTIVE && self.is_active(key);
        if !self.slot(key).remove(key.0) {
            self.with_others(|others| others.remove(&key));
        }
        self.states.remove(span);
        self.otel.remove(span, is_active);
    }

    /// Moves an open span to the trace of a remote parent. Returns whether it is moved: not if the
    /// span is unknown or was moved before.
    pub(crate) fn move_to(&self, key: Key, context: SpanContext) -> bool {
        let slot = self.slot(key);
        if slot.get(key.0).is_some() {
            return slot.move_to(context.trace, context.is_sampled);
        }
        let moved = self.with_others(|others| {
            let other = others.get_mut(&key).filter(|other| !other.is_moved)?;
            *other = Other { context, is_moved: true, ..*other };
            Some(())
        });
        moved.is_some()
    }

    /// Remembers that a span was removed whose end was dropped.
    pub(crate) fn lose_end(&self) {
        // ORDERING: Release, with the Acquire of `take_lost_end`: the span is removed.
        self.has_lost_end.store(true, Ordering::Release);
    }

    /// Returns whether `lose_end` was called since the last call.
    pub(crate) fn take_lost_end(&self) -> bool {
        // ORDERING: Acquire, with the Release of `lose_end`: `spans` no longer contains the span.
        // The load is Relaxed: it publishes nothing, and the next call sees a flag that it missed.
        self.has_lost_end.load(Ordering::Relaxed)
            && self.has_lost_end.swap(false, Ordering::Acquire)
    }

    /// Returns the ids of all open spans. A span that is missing here has logged its end.
    pub(crate) fn spans(&self) -> HashSet<u64> {
        let pages = self.pages.iter().filter_map(OnceLock::get).flatten();
        let mut spans: HashSet<_> = pages.filter_map(Slot::span).collect();
        self.with_others(|others| {
            spans.extend(others.values().map(|other| other.context.span));
            Some(())
        });
        spans
    }

    fn slot(&self, key: Key) -> &Slot {
        let at = place(key);
        let page = &self.pages[at / PAGE];
        if let Some(slots) = page.get() { &slots[at % PAGE] } else { &allocate(page)[at % PAGE] }
    }

    #[cold]
    fn insert_other(&self, key: Key, context: SpanContext, is_active: bool) {
        let other = Other { context, is_moved: false, is_active };
        self.change_others(|others| others.insert(key, other));
    }

    fn with_others<R>(&self, f: impl FnOnce(&mut HashMap<Key, Other>) -> Option<R>) -> Option<R> {
        // A caller that has a span's number saw its insertion.
        if self.others.length() == 0 { None } else { self.change_others(f) }
    }

    /// Returns `None` in a forked process, where nobody may be left to release the lock.
    #[cold]
    fn change_others<R>(&self, f: impl FnOnce(&mut HashMap<Key, Other>) -> Option<R>) -> Option<R> {
        if self.process.is_current() { self.others.change(f) } else { None }
    }
}

/// Allocates before the lock is taken: the allocator may open a span, and a process that is forked
/// meanwhile would wait for ever.
#[cold]
fn allocate(page: &OnceLock<Box<[Slot]>>) -> &[Slot] {
    let slots = (0..PAGE).map(|_| Slot::default()).collect();
    page.get_or_init(|| slots)
}

/// Returns the slot of a key. Spans that use one place of the registry in turn have the same slot.
#[inline]
fn place(Key(key): Key) -> usize {
    let thread = key >> THREAD_SHIFT & !(u64::MAX << THREAD_BITS);
    // Spreads the threads over the slots, since each has few open spans.
    let start = thread.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    usize::try_from(key.wrapping_add(start) % SLOTS as u64).unwrap_or(0)
}

#[derive(Clone, Copy)]
struct Other {
    context: SpanContext,
    is_moved: bool,
    is_active: bool,
}

impl SpanContext {
    const fn of_slot((trace, span, is_sampled): Ids) -> Self {
        Self { trace, span, is_sampled }
    }

    const fn for_slot(self) -> Ids {
        (self.trace, self.span, self.is_sampled)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use proptest::prelude::*;
    use tracing_core::{Dispatch, dispatcher};
    use tracing_subscriber::layer::{Identity, SubscriberExt as _};
    use tracing_subscriber::registry;

    use super::*;

    fn context(number: u64) -> SpanContext {
        SpanContext {
            trace: u128::from(number) << 64 | 7,
            span: number,
            is_sampled: number % 2 == 0,
        }
    }

    proptest! {
        /// Spans come and go at few places, so that many collide.
        #[test]
        fn it_knows_what_a_map_knows(
            steps in prop::collection::vec((0..3_u64, 1..4_u64, 0..3), 0..200),
        ) {
            let contexts = Contexts::new();
            let mut map = HashMap::new();
            let mut active = HashMap::new();
            let mut moved = HashSet::new();
            for (number, (thread, place, step)) in (1..).zip(steps) {
                let id = Key(place + thread * SLOTS as u64);
                let is_open = map.contains_key(&id);
                if step == 0 && !is_open {
                    contexts.insert(id, context(number), number % 3 == 0);
                    map.insert(id, context(number));
                    active.insert(id, number % 3 == 0);
                    moved.remove(&id);
                } else if step == 1 {
                    let removed = map.remove(&id);
                    prop_assert_eq!(contexts.get(id), removed);
                    contexts.remove(id, removed.map_or(0, |context| context.span));
                } else if step == 2 {
                    let is_moved = {
                        let span = map.get(&id).map_or(number, |known: &SpanContext| known.span);
                        contexts.move_to(id, SpanContext { span, ..context(number) })
                    };
                    prop_assert_eq!(is_moved, is_open && moved.insert(id));
                    if let Some(known) = map.get_mut(&id).filter(|_| is_moved) {
                        *known = SpanContext { span: known.span, ..context(number) };
                    }
                }
                for thread in 0..3 {
                    for place in 1..4 {
                        let id = Key(place + thread * SLOTS as u64);
                        prop_assert_eq!(contexts.get(id), map.get(&id).copied());
                        prop_assert_eq!(
                            contexts.is_active(id),
                            map.contains_key(&id) && active[&id]
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_closed_span_has_no_tracestate() {
        let contexts = Contexts::new();
        contexts.insert(Key(1), context(5), false);
        contexts.states.set(5, Some("a=1".into()));
        contexts.remove(Key(1), 5);
        assert_eq!(contexts.states.get(5), None);
    }

    /// Many more than there are slots.
    #[test]
    fn hundreds_of_thousands_of_open_spans_are_known() {
        const EACH: u64 = 50_000;
        let contexts = Contexts::new();
        thread::scope(|scope| {
            for number in 1..=4 {
                let contexts = &contexts;
                scope.spawn(move || {
                    let spans = || {
                        (1..=EACH).map(|place| {
                            (Key(number << THREAD_SHIFT | place), number * EACH + place)
                        })
                    };
                    for (key, span) in spans() {
                        contexts.insert(key, context(span), false);
                    }
                    for (key, span) in spans() {
                        assert_eq!(contexts.get(key), Some(context(span)));
                    }
                });
            }
        });
        assert_eq!(contexts.spans().len(), 4 * 50_000);
        assert!(contexts.others.lock().len() >= 4 * 50_000 - SLOTS);
        for number in 1..=4 {
            for place in 1..=EACH {
                contexts.remove(Key(number << THREAD_SHIFT | place), number * EACH + place);
            }
        }
        assert!(contexts.spans().is_empty() && contexts.others.lock().is_empty());
    }

    /// Otherwise each span would touch new memory.
    #[test]
    fn spans_of_the_registry_reuse_places() {
        let places = |count: usize| {
            // Without a layer, the registry frees no span.
            let dispatch = Dispatch::new(registry().with(Identity::new()));
            dispatcher::with_default(&dispatch, || {
                let spans = (0..count).map(|_| {
                    let span = tracing::info_span!("span");
                    place(Key(span.id().map_or(0, |id| id.into_u64())))
                });
                spans.collect::<HashSet<_>>().len()
            })
        };
        assert!(places(1000) <= 4, "the layout of the registry's numbers has changed");
        let all: Vec<_> = (0..4).map(|_| thread::spawn(move || places(10))).collect();
        assert!(all.into_iter().all(|thread| thread.join().unwrap() <= 4));
    }
}
