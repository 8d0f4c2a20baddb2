//! The slots of the spans of tracing-subscriber's registries, by the registries' numbers.
//!
//! A look-up costs a few loads. As extensions of the registry, the slots would cost each span a map
//! and an allocation.

mod entry;

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use tracing_core::{Dispatch, dispatcher};
use tracing_subscriber::Registry;

use self::entry::Entry;
use super::slot::of_pipeline;
use super::slots::{Number, Open};
use super::{Random, with_random};

/// The numbers of entries of the tables, as powers of two. A further table is for spans whose
/// entries in the tables before are taken by other spans, and is created when the first span needs
/// it: few programs have any. `Stats::dropped_spans` counts a span whose entry in each table is
/// taken.
const BITS: [u32; 5] = [16, 18, 20, 22, 24];

/// How many entries are allocated at once: 16 KiB.
const PAGE: usize = 1024;

/// The bits of a registry's numbers that hold the thread which created the span. The bits below
/// hold a place, which the thread reuses, the lowest first. If a new version of the registry
/// numbers differently, more spans collide, and nothing else changes.
const THREAD_SHIFT: u32 = 38;
const THREAD_BITS: u32 = 13;

/// The spans of all layers of a pipeline.
pub struct Layers([OnceLock<Table>; BITS.len()]);

/// A table whose number of entries is a power of two.
struct Table {
    bits: u32,
    pages: Box<[OnceLock<Page>]>,
}

type Page = Box<[Entry]>;

impl Layers {
    pub(super) fn new() -> Self {
        Self([const { OnceLock::new() }; BITS.len()])
    }

    /// Adds a span. Returns `false` if there is no room.
    #[inline]
    pub fn insert(&self, key: u64, span: Open) -> bool {
        let number = span.number().id().get();
        let first = self.first().and_then(|first| first.entry(key));
        first.is_some_and(|entry| entry.take(key, number)) || self.insert_further(key, number)
    }

    #[cold]
    fn insert_further(&self, key: u64, number: u64) -> bool {
        self.0.iter().zip(BITS).any(|(table, bits)| {
            let table = if let Some(table) = table.get() {
                table
            } else {
                // Allocate before the lock is taken: the allocator may open a span, and a child
                // that is forked while the lock is held would wait for it for ever.
                let new = Table::new(bits);
                table.get_or_init(|| new)
            };
            table.allocated(key).is_some_and(|entry| entry.take(key, number))
        })
    }

    /// Returns the number of an open span.
    #[inline]
    pub fn get(&self, key: u64) -> Option<Number> {
        let first = self.first()?.entry(key).and_then(|entry| entry.get(key));
        Number::new(first.or_else(|| self.find(key, |entry| entry.get(key)))?)
    }

    /// Removes a span.
    #[inline]
    pub fn remove(&self, key: u64) {
        let first = self.first().and_then(|first| first.entry(key));
        if !first.is_some_and(|entry| entry.remove(key)) {
            self.find(key, |entry| entry.remove(key).then_some(()));
        }
    }

    #[inline]
    fn first(&self) -> Option<&Table> {
        let Self([first, ..]) = self;
        first.get()
    }

    #[inline(never)]
    fn find<R>(&self, key: u64, f: impl Fn(&Entry) -> Option<R>) -> Option<R> {
        self.0.iter().map_while(OnceLock::get).find_map(|table| f(table.entry(key)?))
    }
}

impl Table {
    #[cold]
    fn new(bits: u32) -> Self {
        Self { bits, pages: (0..(1 << bits) / PAGE).map(|_| OnceLock::new()).collect() }
    }

    /// Returns the entry of a key, if its page is allocated.
    #[inline]
    fn entry(&self, key: u64) -> Option<&Entry> {
        let place = place(key, self.bits);
        self.pages.get(place / PAGE)?.get()?.get(place % PAGE)
    }

    /// Returns the entry of a key. Allocates its page if need be.
    #[inline]
    fn allocated(&self, key: u64) -> Option<&Entry> {
        self.entry(key).or_else(|| self.allocate(key))
    }

    /// Allocates before the lock of the page is taken: the allocator may open a span, and a child
    /// that is forked while the lock is held would wait for ever.
    #[cold]
    fn allocate(&self, key: u64) -> Option<&Entry> {
        let entries: Page = (0..PAGE).map(|_| Entry::default()).collect();
        self.pages.get(place(key, self.bits) / PAGE)?.get_or_init(|| entries);
        self.entry(key)
    }
}

/// Returns the place of a key. Spans that use one place of the subscriber in turn have the same
/// place.
#[inline]
fn place(key: u64, bits: u32) -> usize {
    let thread = key >> THREAD_SHIFT & !(u64::MAX << THREAD_BITS);
    // Spread the threads over the entries: most threads have few open spans.
    let start = thread.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - bits);
    usize::try_from(key.wrapping_add(start) & !(u64::MAX << bits)).unwrap_or(0)
}

/// How one subscriber, the pipeline's own or one with the pipeline as a layer, finds its spans.
#[derive(Clone, Default)]
pub struct Keys {
    /// A number that no other subscriber has. (A program that makes a subscriber each millisecond
    /// has numbers for 50 days. Two subscribers of one number would share their spans.) Zero for a
    /// layer that was not told of its subscriber.
    pub owner: u32,
    /// Whether the ids of the subscriber's spans are the numbers of their slots.
    pub are_numbers: bool,
    /// The key of a layer's span is the registry's number XOR this mask. The mask is random, so the
    /// keys of two open spans are equal as seldom as their ids.
    mask: u64,
    /// The address of the registry of the layer's subscriber, which lives longer than the layer.
    /// `None` for a handle that is no layer.
    registry: Option<Arc<OnceLock<usize>>>,
}

impl Keys {
    /// Returns the keys of a subscriber of the pipeline's own.
    pub fn of_subscriber() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        // ORDERING: Relaxed: each number is returned once, and publishes nothing.
        let owner = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { owner, are_numbers: true, ..Self::default() }
    }

    /// Returns the keys of a new layer.
    pub fn of_layer(pipeline: u64) -> Self {
        let mask = with_random(of_pipeline(pipeline), Random::span);
        let registry = Some(Arc::default());
        Self { are_numbers: false, mask, registry, ..Self::of_subscriber() }
    }

    /// Returns whether they are a layer's that was told of its subscriber.
    pub const fn are_of_layer(&self) -> bool {
        self.registry.is_some()
    }

    /// Takes the registry of the layer's subscriber.
    pub fn set_registry(&self, subscriber: &Dispatch) {
        if let Some((registry, address)) = self.registry.as_ref().zip(address(subscriber)) {
            registry.get_or_init(|| address);
        }
    }

    /// Returns whether the thread's current subscriber is that of the layer. If the layer has no
    /// registry of tracing-subscriber, returns `true`.
    #[inline]
    pub fn are_current(&self) -> bool {
        let own = self.registry.as_ref().and_then(|registry| registry.get().copied());
        own.is_none() || dispatcher::get_default(address) == own
    }

    /// Returns the key of the span with a registry's number.
    #[inline]
    pub const fn key(&self, number: u64) -> u64 {
        number ^ self.mask
    }
}

fn address(subscriber: &Dispatch) -> Option<usize> {
    subscriber.downcast_ref::<Registry>().map(|registry| ptr::from_ref(registry).addr())
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::thread;

    use proptest::prelude::*;
    use tracing_subscriber::layer::{Identity, SubscriberExt as _};
    use tracing_subscriber::registry;

    use super::*;
    use crate::trace::slots;

    /// Keys that differ by this have the same entry in each table.
    const SAME_ENTRY: u64 = 1 << BITS[BITS.len() - 1];

    fn open() -> Open {
        slots::open(1, None, None, None).unwrap()
    }

    proptest! {
        /// Spans come and go at few places, so that many collide, and some find no entry.
        #[test]
        fn it_knows_what_a_map_knows(
            steps in prop::collection::vec((0..7_u64, 1..3_u64, 0..2), 0..200),
        ) {
            let (layers, mut map) = (Layers::new(), HashMap::<u64, Open>::new());
            for (collision, place, step) in steps {
                let key = place + collision * SAME_ENTRY;
                if step == 0 && !map.contains_key(&key) {
                    let same = map.keys().filter(|other| *other % SAME_ENTRY == place).count();
                    let span = open();
                    prop_assert_eq!(layers.insert(key, span), same < BITS.len());
                    if same < BITS.len() {
                        map.insert(key, span);
                    } else {
                        span.number().remove_reference(1).unwrap().free();
                    }
                } else if step == 1 {
                    layers.remove(key);
                    if let Some(span) = map.remove(&key) {
                        span.number().remove_reference(1).unwrap().free();
                    }
                }
                for key in (0..7).flat_map(|it| [1, 2].map(|place| place + it * SAME_ENTRY)) {
                    prop_assert_eq!(layers.get(key), map.get(&key).map(|span| span.number()));
                }
            }
            for span in map.into_values() {
                span.number().remove_reference(1).unwrap().free();
            }
        }
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
                    place(span.id().map_or(0, |id| id.into_u64()), BITS[0])
                });
                spans.collect::<HashSet<_>>().len()
            })
        };
        assert!(places(1000) <= 4, "the layout of the registry's numbers has changed");
        let all: Vec<_> = (0..4).map(|_| thread::spawn(move || places(10))).collect();
        assert!(all.into_iter().all(|thread| thread.join().unwrap() <= 4));
    }

    #[test]
    fn two_layers_have_different_keys() {
        let [one, other] = [(); 2].map(|()| Keys::of_layer(306));
        assert_ne!(one.owner, other.owner);
        assert_ne!(one.key(1), other.key(1));
        assert!(one.are_of_layer() && !Keys::of_subscriber().are_of_layer());
    }
}
