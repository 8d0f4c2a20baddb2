//! A span whose last reference was removed: its ids and its record are read, and then its slot is
//! freed.

use core::num::NonZeroU64;
use core::sync::atomic::Ordering;

use super::{Number, PARENT, Slot, memory};
use crate::trace::slot::{self, Flags};

/// A span whose last reference was removed.
pub struct Closing {
    pub(super) slot: &'static Slot,
}

impl Closing {
    /// Returns the slot for the span's ids, and their flags, if the span has ids.
    #[inline]
    pub fn ids(&self, number: Number) -> Option<(&'static slot::Slot, Flags)> {
        let ids = &self.slot.ids;
        Some((ids, ids.flags_of(number.id().get())?))
    }

    /// Frees the slot, and removes the reference to the span's parent. Returns the parent if it was
    /// the last one.
    #[inline]
    pub fn free(self) -> Option<(Number, Self)> {
        let Self { slot } = self;
        let parent = NonZeroU64::new(slot.references.last_facts().parent).map(Number);
        if !slot.ids.is_free() {
            // The span belongs to a pipeline of the parent process, which can't remove ids in this
            // process.
            slot.ids.remove();
        }
        // ORDERING: Relaxed: the removal of the last reference has published the flag.
        if slot.is_to_be_cleaned.load(Ordering::Relaxed) {
            slot.clean();
        }
        memory::give(slot);
        let parent = parent?;
        let (place, turn) = parent.parts();
        // Don't check the owner: a parent belongs to the same subscriber.
        let slot = match PARENT.get() {
            Some(slot) if slot.place.get() == place => slot,
            _ => memory::get(place.wrapping_sub(1))?,
        };
        PARENT.set(Some(slot));
        slot.references.remove(turn).then_some((parent, Self { slot }))
    }
}
