//! The memory of slots: pages for all threads, and the free slots that each thread keeps.

use core::cell::RefCell;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

use super::Slot;
use super::free::Stack;

/// How many slots are allocated at once: 32 KiB.
const PAGE: usize = 256;
/// How many pages a group has.
const GROUP: usize = 256;
/// With so many groups, four million spans may be open. `Stats::dropped_spans` counts the others.
const GROUPS: usize = 64;
const MOST: u32 = 1 << 22;
const _: () = assert!(MOST as usize == PAGE * GROUP * GROUPS, "each slot has an index");

/// How many slots a thread takes at once from those that no thread has used.
const FRESH: u32 = 8;
/// How many free slots a thread keeps. With one more, it gives half of them to other threads.
const KEPT: usize = 64;

static SLOTS: Slots = Slots {
    groups: [const { OnceLock::new() }; GROUPS],
    fresh: AtomicU32::new(0),
    free: Stack::new(),
};

thread_local! {
    /// Has no destructor, so that an access needs no check: [`GUARD`] frees the slots.
    static FREE: RefCell<Free> = const {
        RefCell::new(Free { slots: [None; KEPT], count: 0, most: 0 })
    };
    static GUARD: Guard = const { Guard };
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
    slots: [Option<&'static Slot>; KEPT],
    count: usize,
    /// How many slots the thread may keep: none before its [`GUARD`] exists, and none while it
    /// ends.
    most: usize,
}

/// Frees the thread's slots when the thread ends.
struct Guard;

/// Returns the slot with that index.
#[inline]
pub(super) fn get(index: u32) -> Option<&'static Slot> {
    SLOTS.get(index)
}

/// Returns all slots that were ever used.
pub(super) fn all() -> impl Iterator<Item = &'static Slot> {
    let groups = SLOTS.groups.iter().filter_map(OnceLock::get);
    let pages = groups.flat_map(|group| group.iter().filter_map(OnceLock::get));
    pages.flat_map(|page| page.iter())
}

impl Slots {
    #[inline]
    fn get(&'static self, index: u32) -> Option<&'static Slot> {
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
            let first = index / PAGE * PAGE;
            let slots = (first..first + PAGE).map(Slot::new).collect();
            page.get_or_init(|| slots);
        }
        Some(())
    }

    /// Takes [`FRESH`] slots at once, so that threads seldom contend for the counter.
    #[cold]
    fn take_fresh(&self) -> Option<Range<u32>> {
        let take = |first| (first <= MOST - FRESH).then_some(first + FRESH);
        // ORDERING: Relaxed: each number is taken once, and publishes nothing.
        let first = self.fresh.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        self.allocate(first)?;
        Some(first..first + FRESH)
    }

    /// Frees a slot for all threads, and its memory for fields: only slots in a thread's own list
    /// keep memory, so that it is bounded by the number of threads.
    fn give(&self, slot: &'static Slot) {
        slot.free_memory();
        self.free.push(slot.place.get() - 1, &slot.below);
    }

    /// Takes a slot that is free for all threads.
    fn take(&'static self) -> Option<&'static Slot> {
        let index = self.free.pop(|index| self.get(index).map(|slot| &slot.below))?;
        self.get(index)
    }
}

impl Free {
    #[inline]
    fn take(&mut self) -> Option<&'static Slot> {
        self.count = self.count.checked_sub(1)?;
        *self.slots.get(self.count)?
    }

    /// Keeps a slot, if there is room.
    #[inline]
    fn keep(&mut self, slot: &'static Slot) -> bool {
        if self.count >= self.most {
            return false;
        }
        let Some(place) = self.slots.get_mut(self.count) else { return false };
        *place = Some(slot);
        self.count += 1;
        true
    }

    /// Gives slots to other threads until `count` are left.
    fn give_to_others(&mut self, count: usize) {
        while self.count > count {
            self.take().into_iter().for_each(|slot| SLOTS.give(slot));
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _gone = FREE.try_with(|free| {
            if let Ok(mut free) = free.try_borrow_mut() {
                free.most = 0;
                free.give_to_others(0);
            }
        });
    }
}

/// Takes a free slot.
#[inline]
pub(super) fn take() -> Option<&'static Slot> {
    take_own().or_else(take_more)
}

/// Takes a slot of the thread's list.
#[inline]
fn take_own() -> Option<&'static Slot> {
    FREE.try_with(|free| free.try_borrow_mut().ok()?.take()).ok().flatten()
}

/// Takes a slot that other threads have freed, or one that no thread has used.
#[cold]
fn take_more() -> Option<&'static Slot> {
    if let Some(slot) = SLOTS.take() {
        return Some(slot);
    }
    let mut fresh = SLOTS.take_fresh()?.filter_map(|index| SLOTS.get(index));
    let first = fresh.next();
    // The list is a stack: given in reverse, the slots are taken in the order of their memory.
    fresh.rev().for_each(give);
    first
}

/// Frees a slot for all threads.
#[cold]
pub(super) fn give_to_all(slot: &'static Slot) {
    SLOTS.give(slot);
}

/// Frees a slot. The thread keeps it, if its list has room.
#[inline]
pub(super) fn give(slot: &'static Slot) {
    if !keep(slot) {
        give_beyond(slot);
    }
}

/// Adds a free slot to the thread's list, if there is room.
#[inline]
fn keep(slot: &'static Slot) -> bool {
    let kept = FREE.try_with(|free| free.try_borrow_mut().is_ok_and(|mut free| free.keep(slot)));
    kept.unwrap_or(false)
}

/// Frees a slot for which the thread's list has no room.
#[cold]
fn give_beyond(slot: &'static Slot) {
    // While the thread ends, no later guard returns the slots to other threads, so keep none.
    let most = if GUARD.try_with(|_| {}).is_ok() { KEPT } else { 0 };
    let kept = FREE.try_with(|free| {
        let Ok(mut free) = free.try_borrow_mut() else { return false };
        free.most = most;
        free.give_to_others(KEPT / 2);
        free.keep(slot)
    });
    if !kept.unwrap_or(false) {
        SLOTS.give(slot);
    }
}
