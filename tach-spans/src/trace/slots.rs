//! The slots of the open spans of the pipelines' own subscribers: one table for all of them.
//!
//! A thread reuses the slots of the spans that it has closed, so it seldom touches new memory.

#[cfg(feature = "opentelemetry")]
mod context;
mod free;
mod memory;
mod references;

use core::cell::Cell;
use core::num::{NonZeroU32, NonZeroU64};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tracing_core::Metadata;

use self::free::Below;
use self::references::{Facts, References, TURN};
use super::key::Key;
use super::otel;
use super::slot;
use tach_record::frame::Code;
use tach_record::ids::SpanContext;
use tach_record::sync::SharedLock;

/// The memory for fields that a free slot keeps.
const KEPT_BYTES: usize = 1024;

thread_local! {
    /// The slot of the span that the thread opened last, which it probably uses next. One word,
    /// since a signal handler may open a span between two.
    static LAST: Cell<Option<&'static Slot>> = const { Cell::new(None) };
    /// The slot of the last span that became the parent of a span of the thread, or a parent that
    /// the thread closed a child of.
    static PARENT: Cell<Option<&'static Slot>> = const { Cell::new(None) };
}

/// A span is open, or the slot is free.
#[repr(align(64))]
struct Slot {
    /// With the number of the parent, and the callsite.
    references: References,
    /// The subscriber of the span.
    owner: AtomicU32,
    below: Below,
    /// The index plus one.
    place: NonZeroU32,
    /// Whether `span` contains anything of the span, or of the span before if the slot is free.
    is_filled: AtomicBool,
    /// Whether a free slot has more memory than it may keep.
    is_long: AtomicBool,
    /// Whether there is a `context`.
    has_context: AtomicBool,
    /// The context of `opentelemetry` in which the span is current.
    context: otel::Stored,
    span: SharedLock<Option<Box<Span>>>,
    /// The ids of the span, if its pipeline records it.
    ids: slot::Slot,
}

#[cfg(target_os = "linux")]
const _: () = assert!(
    size_of::<Slot>() == if otel::HAS_CONTEXTS { 192 } else { 128 },
    "a slot is two lines of the cache, and a third one if spans have contexts"
);

/// What few spans have. In a box, since a slot would take another line of the cache.
#[derive(Default)]
struct Span {
    /// The metadata of a callsite without a number.
    metadata: Option<&'static Metadata<'static>>,
    /// The fields as bytes of a record, if a sink takes events.
    fields: Vec<u8>,
    /// The records of a span that waits for the decision whether it is sampled.
    kept: Vec<u8>,
}

/// The number of an open span.
///
/// The lower half is the slot's place. The upper half is the turn. A number that is used after its
/// span was closed finds no other span, unless the slot had four billion spans since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number(NonZeroU64);

/// An open span of a subscriber, as the caller has it: if the caller holds no reference, the span
/// may close at any time.
#[derive(Clone, Copy)]
pub struct Open {
    slot: &'static Slot,
    turn: u64,
}

/// A span whose last reference was removed.
pub struct Closing {
    slot: &'static Slot,
}

impl Number {
    pub const fn of(id: NonZeroU64) -> Self {
        Self(id)
    }

    pub const fn id(self) -> NonZeroU64 {
        self.0
    }

    /// Returns the place of the slot, and the turn.
    #[expect(clippy::cast_possible_truncation, reason = "takes the lower half")]
    #[inline]
    const fn parts(self) -> (u32, u64) {
        let Self(number) = self;
        (number.get() as u32, number.get() & TURN)
    }

    /// Returns the slot, if its span belongs to the subscriber `owner`. A span of another
    /// subscriber is as unknown here as a number of another registry would be.
    #[inline]
    fn slot(self, owner: u32) -> Option<&'static Slot> {
        let (place, _) = self.parts();
        let slot = match LAST.get() {
            Some(last) if last.place.get() == place => Some(last),
            _ => match PARENT.get() {
                Some(parent) if parent.place.get() == place => Some(parent),
                _ => memory::get(place.wrapping_sub(1)),
            },
        };
        // ORDERING: Relaxed: the caller has the number from the thread that wrote the owner.
        slot.filter(|slot| slot.owner.load(Ordering::Relaxed) == owner)
    }

    /// Returns the span, unless it is closed or belongs to another subscriber.
    #[inline]
    pub fn open(self, owner: u32) -> Option<Open> {
        self.may_be_open(owner).filter(|span| span.is_open())
    }

    /// Returns the span, which may be closed, unless it belongs to another subscriber.
    #[inline]
    pub fn may_be_open(self, owner: u32) -> Option<Open> {
        let (slot, (_, turn)) = (self.slot(owner)?, self.parts());
        Some(Open { slot, turn })
    }

    /// Adds a reference to the span. Returns `false` if it is closed or belongs to another
    /// subscriber.
    #[inline]
    pub fn add_reference(self, owner: u32) -> bool {
        let (_, turn) = self.parts();
        self.slot(owner).is_some_and(|slot| slot.references.add(turn))
    }

    /// Removes a reference to the span. Returns the span if it was the last one.
    #[inline]
    pub fn remove_reference(self, owner: u32) -> Option<Closing> {
        let (slot, (_, turn)) = (self.slot(owner)?, self.parts());
        slot.references.remove(turn).then_some(Closing { slot })
    }
}

impl Closing {
    /// Returns the slot for the span's ids.
    #[inline]
    pub const fn ids(&self) -> &'static slot::Slot {
        &self.slot.ids
    }

    /// Frees the slot, and removes the reference to the span's parent. Returns the parent if it was
    /// the last one.
    #[inline]
    pub fn free(self) -> Option<(Number, Self)> {
        let Self { slot } = self;
        let parent = NonZeroU64::new(slot.references.last_facts().parent).map(Number);
        if !slot.ids.is_free() {
            // The span is one of the pipeline that the process was forked from.
            slot.ids.remove();
        }
        // ORDERING: Relaxed: ordered by the removal of the last reference.
        if otel::HAS_CONTEXTS && slot.has_context.load(Ordering::Relaxed) {
            slot.drop_context();
        }
        // ORDERING: Relaxed: ordered by the removal of the last reference.
        if slot.is_long.load(Ordering::Relaxed) {
            slot.free_memory();
        }
        memory::give(slot);
        let parent = parent?;
        let (place, turn) = parent.parts();
        // The parent belongs to the same subscriber.
        let slot = match PARENT.get() {
            Some(slot) if slot.place.get() == place => slot,
            _ => memory::get(place.wrapping_sub(1))?,
        };
        PARENT.set(Some(slot));
        slot.references.remove(turn).then_some((parent, Self { slot }))
    }
}

/// Opens a span of the subscriber `owner`. `code` is that of the callsite, if it has one. A span of
/// a tracer has no metadata. Returns `None` if there is no slot for the span.
#[expect(clippy::inline_always, reason = "the road of spans calls it once")]
#[inline(always)]
pub fn open(
    owner: u32,
    metadata: Option<&'static Metadata<'static>>,
    code: Option<Code>,
    parent: Option<Open>,
) -> Option<Open> {
    let slot = memory::take()?;
    // ORDERING: Relaxed: whoever had the slot before has passed it to this thread.
    if (slot.is_filled.load(Ordering::Relaxed) || code.is_none()) && !slot.renew(metadata, code) {
        // The thread was interrupted while it read this slot by an old number.
        memory::give_to_all(slot);
        return None;
    }
    Some(slot.begin(owner, code, parent))
}

/// Opens a span like [`open`], and adds the reference to its parent. Returns `None` also if the
/// thread has no free slot at hand.
#[expect(clippy::inline_always, reason = "it is called once")]
#[inline(always)]
pub fn open_child(owner: u32, code: Code, parent: Open) -> Option<Open> {
    let slot = memory::take_own()?;
    // ORDERING: Relaxed: whoever had the slot before has passed it to this thread.
    if slot.is_filled.load(Ordering::Relaxed) || !parent.add_reference() {
        memory::give_to_all(slot);
        return None;
    }
    Some(slot.begin(owner, Some(code), Some(parent)))
}

/// Returns the slot for the ids of the span with that key, if the span belongs to the subscriber.
#[inline]
pub fn ids(key: Key) -> Option<&'static slot::Slot> {
    let slot = Number(NonZeroU64::new(key.number)?).slot(key.subscriber)?;
    Some(&slot.ids)
}

/// Returns the slots for the ids of all spans.
pub(super) fn all_ids() -> impl Iterator<Item = &'static slot::Slot> {
    memory::all().map(|slot| &slot.ids)
}

impl Open {
    /// Returns the span with that key, if it is an open one of the pipeline's own subscriber.
    #[inline]
    pub fn of(key: Key) -> Option<Self> {
        if key.is_of_layer() {
            return None;
        }
        Number(NonZeroU64::new(key.number)?).open(key.subscriber)
    }

    /// Returns the number of the span.
    #[inline]
    pub fn number(self) -> Number {
        let Self { slot, turn } = self;
        Number(NonZeroU64::from(slot.place) | turn)
    }

    /// Returns whether the span is open.
    #[inline]
    pub fn is_open(self) -> bool {
        self.slot.references.are_any(self.turn)
    }

    /// Returns whether the span is open and has ids.
    #[inline]
    pub(super) fn has_ids(self) -> bool {
        self.slot.ids.has(self.number().id().get())
    }

    /// Returns the ids of the span, unless it is closed or has none.
    #[inline]
    pub fn context(self) -> Option<SpanContext> {
        self.has_ids().then(|| self.slot.ids.context())
    }

    /// Returns the slot for the span's ids.
    #[inline]
    pub const fn ids(self) -> &'static slot::Slot {
        &self.slot.ids
    }

    /// Adds a reference. Returns `false` if the span is closed.
    #[inline]
    pub fn add_reference(self) -> bool {
        self.slot.references.add(self.turn)
    }

    /// Returns the metadata, unless the span is closed.
    #[inline]
    pub fn metadata(self) -> Option<&'static Metadata<'static>> {
        let Facts { callsite, .. } = self.slot.references.facts(self.turn)?;
        match Code::of_slot(callsite) {
            Some(code) => crate::callsites::callsite(code.number()),
            None => self.read(|span| span.metadata).flatten(),
        }
    }

    /// Returns the parent, unless the span is closed.
    #[inline]
    pub fn parent(self) -> Option<Number> {
        NonZeroU64::new(self.slot.references.facts(self.turn)?.parent).map(Number)
    }

    /// Calls `f` with the metadata and the fields, unless the span is closed.
    #[inline]
    pub fn with(self, f: impl FnOnce(&'static Metadata<'static>, &[u8])) {
        let Some(metadata) = self.metadata() else { return };
        // ORDERING: Relaxed: a caller that holds the span has it from the thread that wrote this.
        // For others, the turn is checked while the lock is held.
        if !self.slot.is_filled.load(Ordering::Relaxed) {
            return f(metadata, &[]);
        }
        self.read(|span| f(metadata, &span.fields));
    }

    /// Calls `change` with the fields, unless the span is closed.
    #[inline]
    pub fn change_fields(self, change: impl FnOnce(&mut Vec<u8>)) {
        self.change(|span| change(&mut span.fields));
    }

    /// Calls `change` with the records that are kept of the span while it waits, unless it is closed.
    #[inline]
    pub(super) fn change_kept<R>(self, change: impl FnOnce(&mut Vec<u8>) -> R) -> Option<R> {
        self.change(|span| change(&mut span.kept))
    }

    #[inline]
    fn change<R>(self, change: impl FnOnce(&mut Span) -> R) -> Option<R> {
        let Self { slot, turn } = self;
        let changed = slot.span.write(|span| {
            slot.references.are_any(turn).then(|| {
                let span = span.get_or_insert_default();
                let result = change(span);
                let is_long = span.fields.capacity().max(span.kept.capacity()) > KEPT_BYTES;
                // ORDERING: Relaxed: the removal of the last reference comes later.
                slot.is_filled.store(true, Ordering::Relaxed);
                slot.is_long.store(is_long, Ordering::Relaxed);
                result
            })
        });
        changed.flatten()
    }

    /// Calls `f` with the span, unless it is closed.
    #[inline]
    fn read<R>(self, f: impl FnOnce(&Span) -> R) -> Option<R> {
        let Self { slot, turn } = self;
        // If the span has filled the slot, the next span can't take the slot meanwhile, since that
        // takes the lock.
        slot.span
            .read(|span| slot.references.are_any(turn).then(|| Some(f(span.as_deref()?))))??
    }
}

impl Slot {
    fn new(index: usize) -> Self {
        Self {
            references: References::default(),
            owner: AtomicU32::new(0),
            below: Below::default(),
            place: NonZeroU32::MIN.saturating_add(u32::try_from(index).unwrap_or(u32::MAX)),
            is_filled: AtomicBool::new(false),
            is_long: AtomicBool::new(false),
            has_context: AtomicBool::new(false),
            context: otel::Stored::default(),
            span: SharedLock::default(),
            ids: slot::Slot::default(),
        }
    }

    /// Begins the turn of a span.
    #[inline]
    fn begin(&'static self, owner: u32, code: Option<Code>, parent: Option<Open>) -> Open {
        let parent = parent.map_or(0, |parent| {
            PARENT.set(Some(parent.slot));
            parent.number().id().get()
        });
        let callsite = Code::for_slot(code);
        // ORDERING: Relaxed: whoever has the span's number has it from this thread.
        self.owner.store(owner, Ordering::Relaxed);
        let turn = self.references.begin(Facts { parent, callsite });
        LAST.set(Some(self));
        Open { slot: self, turn }
    }

    /// Removes what the span before has left, and keeps the metadata of a callsite without a
    /// number. Returns `false` if the thread would have to wait for itself.
    #[inline(never)]
    fn renew(&self, metadata: Option<&'static Metadata<'static>>, code: Option<Code>) -> bool {
        let renewed = self.span.write(|span| {
            let span = span.get_or_insert_default();
            span.metadata = metadata;
            span.fields.clear();
            span.kept.clear();
        });
        if renewed.is_some() {
            // ORDERING: Relaxed: the slot is the caller's.
            self.is_filled.store(code.is_none(), Ordering::Relaxed);
        }
        renewed.is_some()
    }

    /// Drops the context of the span, which is closed.
    #[inline(never)]
    fn drop_context(&self) {
        // If a thread is just reading the context, the end of the next span drops it.
        let is_dropped = self.context.clear();
        // ORDERING: Relaxed: the slot is free.
        self.has_context.store(!is_dropped, Ordering::Relaxed);
    }

    /// Frees the memory for fields.
    #[cold]
    fn free_memory(&self) {
        // ORDERING: Relaxed: the slot is free.
        self.is_long.store(false, Ordering::Relaxed);
        // Dropped after the lock is released.
        let _span = self.span.write(Option::take);
    }
}
