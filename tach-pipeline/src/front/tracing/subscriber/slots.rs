//! The slots of open spans: one table for all subscribers of the process.
//!
//! A thread reuses the slots of the spans that it has closed, so it seldom touches new memory.

use core::cell::RefCell;
use core::mem;
use core::num::NonZeroU64;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::OnceLock;

use tracing_core::Metadata;

use super::free::{Below, Stack};
use super::references::References;
use crate::sync::Lock;

/// How many slots are allocated at once: 16 KiB.
const PAGE: usize = 256;
/// How many pages a group has.
const GROUP: usize = 256;
/// With so many groups, four million spans may be open.
const GROUPS: usize = 64;
const MOST: u32 = 1 << 22;
const _: () = assert!(MOST as usize == PAGE * GROUP * GROUPS, "each slot has an index");

/// How many slots a thread takes at once from those that no thread has used.
const FRESH: u32 = 8;
/// How many free slots a thread keeps. It gives half of them to other threads then.
const KEPT: usize = 64;
/// The memory for fields that a free slot keeps.
const KEPT_BYTES: usize = 1024;

static SLOTS: Slots = Slots {
    groups: [const { OnceLock::new() }; GROUPS],
    fresh: AtomicU32::new(0),
    free: Stack::new(),
};

thread_local! {
    static FREE: RefCell<Free> = const { RefCell::new(Free { slots: [0; KEPT], count: 0 }) };
}

struct Slots {
    groups: [OnceLock<Box<[OnceLock<Page>]>>; GROUPS],
    /// The first slot that no thread has used.
    fresh: AtomicU32,
    /// The slots that are free for all threads.
    free: Stack,
}

type Page = Box<[Slot]>;

/// The slots that are free for a thread.
struct Free {
    slots: [u32; KEPT],
    count: usize,
}

/// A span is open, or the slot is free.
#[derive(Default)]
#[repr(align(64))]
pub(super) struct Slot {
    references: References,
    /// The number of the parent, or zero. Written before the span has a number.
    parent: AtomicU64,
    below: Below,
    has_fields: AtomicBool,
    span: Lock<Span>,
}

/// What is known of an open span.
#[derive(Default)]
struct Span {
    metadata: Option<&'static Metadata<'static>>,
    /// The fields as bytes of a record.
    fields: Vec<u8>,
}

/// A span whose last reference was removed.
pub(super) struct Closing {
    slot: &'static Slot,
    index: u32,
}

/// The number of an open span.
///
/// The lowest 24 bits are the slot's index plus one. The next 14 bits are the turn. A number that is
/// used after its span was closed finds no other span, unless the slot had 16,384 spans since.
/// The bits above are zero, so the ids of spans with one slot have [one](crate::trace) slot too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number(NonZeroU64);

const TURN_SHIFT: u32 = 24;

impl Number {
    pub(super) const fn of(id: NonZeroU64) -> Self {
        Self(id)
    }

    pub(super) const fn id(self) -> NonZeroU64 {
        self.0
    }

    /// Returns the index of the slot, and the turn.
    #[inline]
    fn parts(self) -> (u32, u64) {
        let Self(number) = self;
        let [a, b, c, ..] = (number.get() & !(u64::MAX << TURN_SHIFT)).to_le_bytes();
        (u32::from_le_bytes([a, b, c, 0]).wrapping_sub(1), number.get() >> TURN_SHIFT)
    }

    /// Returns the slot, if it may be that of a span.
    #[inline]
    fn slot(self) -> Option<(&'static Slot, u64)> {
        let (index, turn) = self.parts();
        Some((SLOTS.get(index)?, turn))
    }

    /// Returns the slot of the span, unless the span is closed.
    #[inline]
    pub(super) fn open_slot(self) -> Option<&'static Slot> {
        let (slot, turn) = self.slot()?;
        slot.references.are_any(turn).then_some(slot)
    }

    /// Adds a reference to the span. Returns `false` if the span is closed.
    #[inline]
    pub(super) fn add_reference(self) -> bool {
        self.slot().is_some_and(|(slot, turn)| slot.references.add(turn))
    }

    /// Removes a reference to the span. Returns the span if it was the last one.
    #[inline]
    pub(super) fn remove_reference(self) -> Option<Closing> {
        let (index, turn) = self.parts();
        let slot = SLOTS.get(index)?;
        slot.references.remove(turn).then_some(Closing { slot, index })
    }
}

impl Closing {
    /// Frees the slot, and returns the span's parent.
    #[inline]
    pub(super) fn free(self) -> Option<Number> {
        let Self { slot, index } = self;
        let parent = slot.parent();
        slot.clear();
        give(index);
        parent
    }
}

/// Opens a span. Returns `None` if there is no slot for it.
#[inline]
pub(super) fn open(
    metadata: &'static Metadata<'static>,
    parent: Option<Number>,
) -> Option<(Number, &'static Slot)> {
    let index = take()?;
    let slot = SLOTS.get(index)?;
    // ORDERING: Relaxed: whoever has the span's number has it from this thread.
    slot.parent.store(parent.map_or(0, |Number(parent)| parent.get()), Ordering::Relaxed);
    slot.span.lock().metadata = Some(metadata);
    let turn = slot.references.begin();
    let number = NonZeroU64::new(turn << TURN_SHIFT | u64::from(index + 1))?;
    Some((Number(number), slot))
}

impl Slot {
    /// Returns the span's parent.
    #[inline]
    pub(super) fn parent(&self) -> Option<Number> {
        // ORDERING: Relaxed: the caller has the span's number from the thread that wrote this.
        NonZeroU64::new(self.parent.load(Ordering::Relaxed)).map(Number)
    }

    #[inline]
    pub(super) fn metadata(&self) -> Option<&'static Metadata<'static>> {
        self.span.lock().metadata
    }

    /// Calls `change` with the fields. No code of the user's may run meanwhile.
    #[inline]
    pub(super) fn change_fields(&self, change: impl FnOnce(&mut Vec<u8>)) {
        // ORDERING: Relaxed: the caller has a reference to the span, and removes it afterwards.
        self.has_fields.store(true, Ordering::Relaxed);
        change(&mut self.span.lock().fields);
    }

    /// Calls `f` with the metadata and the fields.
    #[inline]
    pub(super) fn with(&self, f: impl FnOnce(&'static Metadata<'static>, &[u8])) {
        let span = self.span.lock();
        if let Some(metadata) = span.metadata {
            f(metadata, &span.fields);
        }
    }

    #[inline]
    fn clear(&self) {
        // ORDERING: Relaxed: the removal of the last reference comes after all changes.
        if self.has_fields.load(Ordering::Relaxed) {
            self.has_fields.store(false, Ordering::Relaxed);
            self.clear_fields();
        }
    }

    fn clear_fields(&self) {
        let mut span = self.span.lock();
        let long = if span.fields.capacity() > KEPT_BYTES {
            mem::take(&mut span.fields)
        } else {
            span.fields.clear();
            Vec::new()
        };
        drop(span);
        drop(long);
    }
}

impl Slots {
    #[inline]
    fn get(&self, index: u32) -> Option<&Slot> {
        let index = usize::try_from(index).ok()?;
        let group = self.groups.get(index / (GROUP * PAGE))?.get()?;
        group.get(index / PAGE % GROUP)?.get()?.get(index % PAGE)
    }

    /// Allocates the page of a slot before its lock is taken: the allocator may open a span, and a
    /// process that is forked meanwhile would wait for ever.
    #[cold]
    fn allocate(&self, index: u32) -> Option<()> {
        let index = usize::try_from(index).ok()?;
        let group = self.groups.get(index / (GROUP * PAGE))?;
        if group.get().is_none() {
            let pages = (0..GROUP).map(|_| OnceLock::new()).collect();
            group.get_or_init(|| pages);
        }
        let page = group.get()?.get(index / PAGE % GROUP)?;
        if page.get().is_none() {
            let slots = (0..PAGE).map(|_| Slot::default()).collect();
            page.get_or_init(|| slots);
        }
        Some(())
    }

    /// Takes some slots that no thread has used.
    #[cold]
    fn take_fresh(&self) -> Option<Range<u32>> {
        let take = |first| (first <= MOST - FRESH).then_some(first + FRESH);
        // ORDERING: Relaxed: only the numbers count.
        let first = self.fresh.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        self.allocate(first)?;
        Some(first..first + FRESH)
    }

    /// Frees a slot for all threads.
    fn give(&self, index: u32) {
        if let Some(slot) = self.get(index) {
            self.free.push(index, &slot.below);
        }
    }

    /// Takes a slot that is free for all threads.
    fn take(&self) -> Option<u32> {
        self.free.pop(|index| self.get(index).map(|slot| &slot.below))
    }
}

impl Free {
    #[inline]
    fn take(&mut self) -> Option<u32> {
        self.count = self.count.checked_sub(1)?;
        self.slots.get(self.count).copied()
    }

    #[inline]
    fn give(&mut self, index: u32) {
        if self.count == KEPT {
            self.give_half_to_others();
        }
        if let Some(slot) = self.slots.get_mut(self.count) {
            *slot = index;
            self.count += 1;
        }
    }

    #[cold]
    fn give_half_to_others(&mut self) {
        while self.count > KEPT / 2 {
            self.take().into_iter().for_each(|index| SLOTS.give(index));
        }
    }
}

impl Drop for Free {
    fn drop(&mut self) {
        while let Some(index) = self.take() {
            SLOTS.give(index);
        }
    }
}

/// Takes a free slot.
#[inline]
fn take() -> Option<u32> {
    let own = FREE.try_with(|free| free.try_borrow_mut().ok()?.take());
    own.ok().flatten().or_else(take_more)
}

/// Takes a slot that other threads have freed, or one that no thread has used.
#[cold]
fn take_more() -> Option<u32> {
    if let Some(index) = SLOTS.take() {
        return Some(index);
    }
    let mut fresh = SLOTS.take_fresh()?;
    let first = fresh.next();
    // The lowest one is taken next.
    fresh.rev().for_each(give);
    first
}

/// Frees a slot.
#[inline]
fn give(index: u32) {
    let kept = FREE.try_with(|free| free.try_borrow_mut().map(|mut free| free.give(index)));
    if !matches!(kept, Ok(Ok(()))) {
        SLOTS.give(index);
    }
}
