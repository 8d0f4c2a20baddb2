//! The slots of open spans: one table for all subscribers of the process.
//!
//! A thread reuses the slots of the spans that it has closed, so it seldom touches new memory.

use core::cell::RefCell;
use core::num::NonZeroU64;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::OnceLock;

use tracing_core::Metadata;

use super::free::{Below, Stack};
use super::references::References;
use crate::sync::SharedLock;

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
    /// The number of the parent, or zero. Written while `span` is locked.
    parent: AtomicU64,
    /// The subscriber of the span.
    owner: AtomicU32,
    below: Below,
    /// Whether a free slot has more memory than it may keep.
    is_long: AtomicBool,
    span: SharedLock<Span>,
}

#[cfg(target_os = "linux")]
const _: () = assert!(size_of::<Slot>() == 64, "a slot is one line of the cache");

/// What is known of an open span.
#[derive(Default)]
struct Span {
    metadata: Option<&'static Metadata<'static>>,
    /// The fields as bytes of a record. `None` for a slot whose spans had none.
    #[expect(
        clippy::box_collection,
        reason = "with the vector itself, a slot would take 128 bytes"
    )]
    fields: Option<Box<Vec<u8>>>,
}

/// The number of an open span.
///
/// The lowest 24 bits are the slot's index plus one. The next 14 bits are the turn. A number that is
/// used after its span was closed finds no other span, unless the slot had 16,384 spans since. The
/// bits above are zero, so spans that use one slot in turn have one place in the table of ids too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number(NonZeroU64);

const TURN_SHIFT: u32 = 24;

/// An open span of a subscriber, as the caller has it: if the caller holds no reference, the span
/// may close at any time.
#[derive(Clone, Copy)]
pub(super) struct Open {
    slot: &'static Slot,
    turn: u64,
}

/// A span whose last reference was removed.
pub(super) struct Closing {
    slot: &'static Slot,
    index: u32,
}

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
        let [a, b, c, ..] = number.get().to_le_bytes();
        (u32::from_le_bytes([a, b, c, 0]).wrapping_sub(1), number.get() >> TURN_SHIFT)
    }

    /// Returns the slot, if its span belongs to the subscriber `owner`. One of another subscriber is
    /// as unknown here as a number of another registry would be.
    #[inline]
    fn slot(self, owner: u32) -> Option<&'static Slot> {
        let (index, _) = self.parts();
        // ORDERING: Relaxed: the caller has the number from the thread that wrote the owner.
        SLOTS.get(index).filter(|slot| slot.owner.load(Ordering::Relaxed) == owner)
    }

    /// Returns the span, unless it is closed or belongs to another subscriber.
    #[inline]
    pub(super) fn open(self, owner: u32) -> Option<Open> {
        let (slot, (_, turn)) = (self.slot(owner)?, self.parts());
        slot.references.are_any(turn).then_some(Open { slot, turn })
    }

    /// Adds a reference to the span. Returns `false` if it is closed or belongs to another
    /// subscriber.
    #[inline]
    pub(super) fn add_reference(self, owner: u32) -> bool {
        let (_, turn) = self.parts();
        self.slot(owner).is_some_and(|slot| slot.references.add(turn))
    }

    /// Removes a reference to the span. Returns the span if it was the last one.
    #[inline]
    pub(super) fn remove_reference(self, owner: u32) -> Option<Closing> {
        let (slot, (index, turn)) = (self.slot(owner)?, self.parts());
        slot.references.remove(turn).then_some(Closing { slot, index })
    }
}

impl Closing {
    /// Frees the slot, and returns the span's parent.
    #[inline]
    pub(super) fn free(self) -> Option<Number> {
        let Self { slot, index } = self;
        let parent = slot.parent();
        // ORDERING: Relaxed: ordered by the removal of the last reference.
        if slot.is_long.load(Ordering::Relaxed) {
            slot.free_memory();
        }
        give(index);
        parent
    }
}

/// Opens a span of the subscriber `owner`. Returns `None` if there is no slot for it.
#[inline]
pub(super) fn open(
    owner: u32,
    metadata: &'static Metadata<'static>,
    parent: Option<Number>,
) -> Option<(Number, Open)> {
    let index = take()?;
    let slot = SLOTS.get(index)?;
    let parent = parent.map_or(0, |Number(parent)| parent.get());
    // ORDERING: Relaxed: whoever has the span's number has it from this thread. A reader with an old
    // number checks the turn while the lock is held.
    slot.owner.store(owner, Ordering::Relaxed);
    let written = slot.span.write(|span| {
        span.metadata = Some(metadata);
        slot.parent.store(parent, Ordering::Relaxed);
        if let Some(fields) = &mut span.fields {
            fields.clear();
        }
    });
    if written.is_none() {
        // The thread was interrupted while it read this slot by an old number.
        SLOTS.give(index);
        return None;
    }
    let turn = slot.references.begin();
    let number = NonZeroU64::new(turn << TURN_SHIFT | u64::from(index + 1))?;
    Some((Number(number), Open { slot, turn }))
}

impl Open {
    /// Returns the metadata, unless the span is closed.
    #[inline]
    pub(super) fn metadata(self) -> Option<&'static Metadata<'static>> {
        self.read(|span| span.metadata)?
    }

    /// Returns the parent, unless the span is closed.
    #[inline]
    pub(super) fn parent(self) -> Option<Number> {
        self.read(|_| self.slot.parent())?
    }

    /// Calls `f` with the metadata and the fields, unless the span is closed.
    #[inline]
    pub(super) fn with(self, f: impl FnOnce(&'static Metadata<'static>, &[u8])) {
        self.read(|span| {
            if let Some(metadata) = span.metadata {
                f(metadata, span.fields.as_deref().map_or(&[], Vec::as_slice));
            }
        });
    }

    /// Calls `change` with the fields, unless the span is closed.
    #[inline]
    pub(super) fn change_fields(self, change: impl FnOnce(&mut Vec<u8>)) {
        let Self { slot, turn } = self;
        slot.span.write(|span| {
            if slot.references.are_any(turn) {
                let fields = span.fields.get_or_insert_default();
                change(fields);
                // ORDERING: Relaxed: the removal of the last reference comes later.
                slot.is_long.store(fields.capacity() > KEPT_BYTES, Ordering::Relaxed);
            }
        });
    }

    /// Calls `f` with the span, unless it is closed.
    #[inline]
    fn read<R>(self, f: impl FnOnce(&Span) -> R) -> Option<R> {
        let Self { slot, turn } = self;
        // The next span can't take the slot meanwhile, since that takes the lock.
        slot.span.read(|span| slot.references.are_any(turn).then(|| f(span)))?
    }
}

impl Slot {
    #[inline]
    fn parent(&self) -> Option<Number> {
        // ORDERING: Relaxed: the caller holds the lock, or has removed the last reference.
        NonZeroU64::new(self.parent.load(Ordering::Relaxed)).map(Number)
    }

    /// Frees the memory for fields.
    #[cold]
    fn free_memory(&self) {
        // ORDERING: Relaxed: the slot is free.
        self.is_long.store(false, Ordering::Relaxed);
        // Dropped after the lock is released.
        let _fields = self.span.write(|span| span.fields.take());
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

    /// Frees a slot for all threads. Only the slots that a thread keeps have memory for fields.
    fn give(&self, index: u32) {
        if let Some(slot) = self.get(index) {
            slot.free_memory();
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
