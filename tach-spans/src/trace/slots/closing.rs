//! Spans that close, and what their slots know of the start for the record of a span.

use core::num::NonZeroU64;
use core::sync::atomic::Ordering;

use super::{AT_START, Number, PARENT, Slot, memory};
use crate::trace::slot::{self, Flags};
use tach_record::frame::{AGE_SHIFT, Code};

/// A span whose last reference was removed.
pub struct Closing {
    pub(super) slot: &'static Slot,
}

/// What the slot of a span has for the record of the span.
pub struct Start {
    pub code: Option<Code>,
    /// The age of the trace when the span started.
    pub age: u32,
    /// The number of the thread on which the span started.
    pub thread: u32,
}

impl Closing {
    /// Returns the slot for the span's ids, and their flags, if the span has ids.
    #[inline]
    pub fn ids(&self, number: Number) -> Option<(&'static slot::Slot, Flags)> {
        let ids = &self.slot.ids;
        Some((ids, ids.flags_of(number.id().get())?))
    }

    /// Calls `f` with the fields with which the span started.
    pub fn with_start<R>(&self, f: impl FnMut(&[u8]) -> R) -> R {
        self.slot.with_start(f)
    }

    /// Returns whether [`with_start`](Self::with_start) may find fields.
    #[inline]
    pub fn may_have_fields(&self) -> bool {
        // ORDERING: Relaxed: ordered by the removal of the last reference.
        self.slot.is_filled.load(Ordering::Relaxed)
    }

    /// Returns the start of the span.
    #[inline]
    pub fn start(&self) -> Start {
        self.slot.start()
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
        // The owner need not be checked: the parent belongs to the same subscriber.
        let slot = match PARENT.get() {
            Some(slot) if slot.place.get() == place => slot,
            _ => memory::get(place.wrapping_sub(1))?,
        };
        PARENT.set(Some(slot));
        slot.references.remove(turn).then_some((parent, Self { slot }))
    }
}

impl Slot {
    /// Returns the age of the span's trace at a later time.
    #[inline]
    pub(super) fn age_at(&self, later: u64) -> u32 {
        let since = self.ids.begun().since;
        let after = later.wrapping_sub(since);
        // The span may have started on a core whose counter is ahead.
        let is_known = since != 0 && self.ids.may_be_sampled() && after <= u64::MAX / 2;
        let units = u32::try_from(after >> AGE_SHIFT).unwrap_or(u32::MAX);
        if is_known { units.saturating_add(self.references.age()) } else { 0 }
    }

    #[inline]
    pub(super) fn with_start<R>(&self, mut f: impl FnMut(&[u8]) -> R) -> R {
        // ORDERING: Relaxed: the caller has the span from the thread that wrote this.
        if !self.is_filled.load(Ordering::Relaxed) {
            return f(&[]);
        }
        let read = self.span.read(|span| {
            let span = span.as_deref()?;
            Some(f(span.at_start.strip_prefix(&AT_START).unwrap_or(&span.fields)))
        });
        // `None` if the thread was interrupted while it changed this very span.
        read.flatten().unwrap_or_else(|| f(&[]))
    }

    #[inline]
    pub(super) fn start(&self) -> Start {
        let code = Code::of_slot(self.references.last_facts().callsite);
        Start { code, age: self.references.age(), thread: self.below.kept() }
    }
}
