//! A table of slots, whose memory is allocated in pages when a span first needs a slot there.

use std::sync::OnceLock;

use crate::trace::key::Key;
use crate::trace::slot::Slot;

/// The number of slots of the first table, as a power of two.
pub(super) const FIRST_BITS: u32 = 16;

/// How many slots are allocated at once: 16 KiB.
const PAGE: usize = 256;

/// The bits of a registry's numbers that hold the thread which created the span. The bits below
/// hold a place, which the thread reuses, the lowest first. If a new version of the registry
/// numbers differently, more spans collide, and nothing else changes.
const THREAD_SHIFT: u32 = 38;
const THREAD_BITS: u32 = 13;

/// A table whose number of slots is a power of two.
pub(super) struct Table {
    bits: u32,
    pages: Box<[OnceLock<Page>]>,
}

type Page = Box<[Slot; PAGE]>;

impl Table {
    /// Creates a table of 2^`bits` slots.
    #[cold]
    pub(super) fn new(bits: u32) -> Self {
        Self { bits, pages: (0..(1 << bits) / PAGE).map(|_| OnceLock::new()).collect() }
    }

    /// Returns the slot of a key, if its page is allocated.
    #[inline]
    pub(super) fn slot(&self, key: Key) -> Option<&Slot> {
        let place = place(key, self.bits);
        let page = self.pages.get(place / PAGE)?.get()?;
        Some(&page[place % PAGE])
    }

    /// Returns the slot of a key. Allocates its page if need be.
    #[inline]
    pub(super) fn allocated(&self, key: Key) -> Option<&Slot> {
        self.slot(key).or_else(|| self.allocate(key))
    }

    /// Allocates before the lock of the page is taken: the allocator may open a span, and a process
    /// that is forked meanwhile would wait for ever.
    #[cold]
    fn allocate(&self, key: Key) -> Option<&Slot> {
        let place = place(key, self.bits);
        let page = self.pages.get(place / PAGE)?;
        let slots: Box<[Slot]> = (0..PAGE).map(|_| Slot::default()).collect();
        let slots = slots.try_into().ok()?;
        Some(&page.get_or_init(|| slots)[place % PAGE])
    }

    /// Returns the slots of all pages.
    pub(super) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.pages.iter().filter_map(OnceLock::get).flat_map(|page| page.iter())
    }
}

/// Returns the place of a key. Spans that use one place of the subscriber in turn have the same
/// place.
#[inline]
fn place(key: Key, bits: u32) -> usize {
    let key = key.number;
    let thread = key >> THREAD_SHIFT & !(u64::MAX << THREAD_BITS);
    // Spreads the threads over the slots, since most have few open spans.
    let start = thread.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - bits);
    usize::try_from(key.wrapping_add(start) & !(u64::MAX << bits)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use tracing_core::{Dispatch, dispatcher};
    use tracing_subscriber::layer::{Identity, SubscriberExt as _};
    use tracing_subscriber::registry;

    use super::*;

    /// Otherwise each span would touch new memory.
    #[test]
    fn spans_of_the_registry_reuse_places() {
        let places = |count: usize| {
            // Without a layer, the registry frees no span.
            let dispatch = Dispatch::new(registry().with(Identity::new()));
            dispatcher::with_default(&dispatch, || {
                let spans = (0..count).map(|_| {
                    let span = tracing::info_span!("span");
                    let number = span.id().map_or(0, |id| id.into_u64());
                    place(Key::of_layer(number), FIRST_BITS)
                });
                spans.collect::<HashSet<_>>().len()
            })
        };
        assert!(places(1000) <= 4, "the layout of the registry's numbers has changed");
        let all: Vec<_> = (0..4).map(|_| thread::spawn(move || places(10))).collect();
        assert!(all.into_iter().all(|thread| thread.join().unwrap() <= 4));
    }
}
